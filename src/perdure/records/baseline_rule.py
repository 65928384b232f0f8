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


class Reactions(Record):
    """How a person reacts to one message: what pulls, and from which strength on what is done.

    A message pulls towards its claim or away from it, by three things that one person can see. It
    says so itself: 1 for the claim and for who agrees with it, -1 for who disagrees. That counts
    for more the more people approve of it (`social_proof` of the rule, for each doubling) and the
    closer who says it is (`tie`, times the strength of the tie). And one believes what one would
    like to: `motivation` times how much the claim speaks for the choice that the persona leans to,
    against the best of the others. `noise` is the standard deviation of the seeded normal noise of
    each message.

    The message with the strongest pull is reacted to; of equal ones chance decides. From the
    strength `approve` on it is approved of (or disapproved of, by who disagrees), from `answer` on
    it is answered, from `pass_on` on it is passed on by who agrees, from `follow` on its author is
    followed by who agrees and has no tie to them, from `post` on something is posted. Of what is
    reached and can be done, the highest threshold counts.

    `persuasion` is how many steps of belief a pull of 1 moves, two at most at once.
    """

    approve: float = 0.5
    answer: float = 1.5
    pass_on: float = 2.0
    follow: float = 3.0
    post: float = 4.0
    tie: float = 1.0
    motivation: float = 1.0
    persuasion: float = 1.0
    noise: float = 0.0


class BaselineRule(Record):
    """The highest utility wins: distance + identification + worth + claims + noise of a choice.

    `worth` gives, per choice, what one unit of an attribute adds to it: a fare, a duration. By
    `factors` a claim multiplies attributes for whoever has met it, such as a fare that is halved.
    `scales` names, per question that is a scale, the choice that it asks about: the more probable
    the rule makes that one (logit), the higher the point that is given.
    `claims` gives, per claim, what seeing it adds to each choice; who believes it less or more
    than not at all has that by a third less or more for each step. `social_proof` is how much each
    doubling of the count of people who agreed strengthens a claim. `noise` is the standard
    deviation of the seeded normal noise per choice. Top choices closer than `undecided` are
    answered as not decided. `reactions` is how one reacts where something can be done; without it,
    as by its defaults.
    """

    distance: Distance | None = None
    identification: Identification | None = None
    claims: dict[str, dict[str, float]] = {}
    social_proof: float = 0.0
    noise: float = 0.0
    undecided: float = 0.0
    reactions: Reactions | None = None
    worth: dict[str, dict[str, float]] = {}
    factors: dict[str, dict[str, float]] = {}
    scales: dict[str, str] = {}

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices that the rule tells apart, in the order in which it names them."""
        named: list[str] = []
        if self.distance is not None:
            named += self.distance.placements
        if self.identification is not None:
            named += (self.identification.low, self.identification.high)
        named += self.worth
        for effects in self.claims.values():
            named += effects
        return tuple(dict.fromkeys(named))
