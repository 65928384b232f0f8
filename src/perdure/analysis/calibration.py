"""Whether predicted shares and probabilities are what really came out: by group, and by bin. Pure.

A model can be right on the whole and wrong about everybody in it: too many of one group, too few of
another. And one that says 80 % ought to be right four times in five.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from perdure.records.record import Record

BINS = 10

# By persona and choice, the probability that the answers of a persona give.
Named = Mapping[str, Mapping[str, float]]


class GroupShare(Record):
    """The share of a choice in a group, predicted and real, over `personas` that have both.

    A persona's part in the predicted share is the share of its own scored answers that name it.
    """

    group: str
    label: str
    choice: str
    personas: int
    predicted: float
    real: float


class Bin(Record):
    """The predictions with a probability from `low` on, up to `high`.

    `pairs` of a persona and a choice have one: `predicted` is the mean of their probabilities,
    `real` the share of them that came out.
    """

    low: float
    high: float
    pairs: int
    predicted: float
    real: float


class Calibration(Record):
    """Predicted against real, over groups and over bins of predicted probability.

    `group_gap` is the mean absolute gap over the rows of `groups`, each counting its personas;
    `bin_gap` that over bins, each counting its pairs. Both are absent where there is nothing:
    `no_groups` and `no_bins` say why.
    """

    groups: tuple[GroupShare, ...] = ()
    group_gap: float | None = None
    no_groups: str = ""
    bins: tuple[Bin, ...] = ()
    bin_gap: float | None = None
    no_bins: str = ""


def calibration(
    named: Named,
    real: Mapping[str, str],
    choices: Sequence[str],
    groups: Sequence[tuple[str, str, Collection[str]]],
    *,
    graded: bool,
) -> Calibration:
    """Compare the probabilities that answers give with the personas' real values.

    `groups` are code, label and members. Unless they are `graded`, every probability is 0 or 1.
    """
    if not named:
        nothing = "no answer has a real value to be compared with"
        return Calibration(no_groups=nothing, no_bins=nothing)
    rows = [
        row
        for code, label, members in groups
        for row in _group(
            code, label, {p: c for p, c in named.items() if p in members}, real, choices
        )
    ]
    bins = _bins(named, real, choices) if graded else ()
    return Calibration(
        groups=tuple(rows),
        group_gap=_gap([(row.personas, row.predicted, row.real) for row in rows]),
        no_groups="" if rows else "the study has no attribute to group by",
        bins=bins,
        bin_gap=_gap([(one.pairs, one.predicted, one.real) for one in bins]),
        no_bins="" if graded else "with one seed every probability is 0 or 1",
    )


def _group(
    code: str, label: str, named: Named, real: Mapping[str, str], choices: Sequence[str]
) -> Sequence[GroupShare]:
    if not named:
        return ()
    return [
        GroupShare(
            group=code,
            label=label,
            choice=choice,
            personas=len(named),
            predicted=math.fsum(shares[choice] for shares in named.values()) / len(named),
            real=sum(real[persona] == choice for persona in named) / len(named),
        )
        for choice in choices
    ]


def _bins(named: Named, real: Mapping[str, str], choices: Sequence[str]) -> tuple[Bin, ...]:
    held: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for persona, shares in named.items():
        for choice in choices:
            # Rounded, so that a share of 3 in 10 is in its own bin and not in the one below.
            place = min(BINS - 1, int(round(BINS * shares[choice], 9)))
            held[place].append((shares[choice], real[persona] == choice))
    return tuple(
        Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            pairs=len(pairs),
            predicted=math.fsum(chance for chance, _ in pairs) / len(pairs),
            real=sum(came for _, came in pairs) / len(pairs),
        )
        for place, pairs in enumerate(held)
        if pairs
    )


def _gap(rows: Sequence[tuple[int, float, float]]) -> float | None:
    whole = sum(number for number, _, _ in rows)
    if not whole:
        return None
    return math.fsum(number * abs(said - came) for number, said, came in rows) / whole
