"""The declared rule by which the baseline answers: stated in the study, never learned."""

from __future__ import annotations

from perdure.records.record import Record


class Distance(Record):
    """Prefer the choice whose placement is nearest to one's own.

    `own` names the persona's own attribute, `placements` the attribute that places each choice.
    """

    own: str
    placements: dict[str, str]
    weight: float = 1.0


class Identification(Record):
    """Lean by one attribute: each step above `midpoint` adds `weight` to `high`, below to `low`."""

    attribute: str
    midpoint: float
    low: str
    high: str
    weight: float = 1.0


class BaselineRule(Record):
    """Utility of each choice = distance + identification + claims + noise; the highest wins.

    `claims` gives, per claim, what seeing it adds to each choice. `social_proof` is how much each
    doubling of the count of people who agreed strengthens a claim. `noise` is the standard
    deviation of the seeded normal noise per choice. Top choices closer than `undecided` are
    answered as not decided.
    """

    distance: Distance | None = None
    identification: Identification | None = None
    claims: dict[str, dict[str, float]] = {}
    social_proof: float = 0.0
    noise: float = 0.0
    undecided: float = 0.0
