"""The channels of a scenario: where its people meet messages and each other, and what changes."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.record import Record


class Ranking(StrEnum):
    """By what a feed or forum puts messages in order."""

    RANDOM = "random"
    HOT = "hot"
    INTEREST = "interest"
    NETWORK = "network"


class Scope(StrEnum):
    """Whose messages and votes somebody sees in a forum: everybody's, or their community's."""

    GLOBAL = "global"
    COMMUNITY = "community"


class Feed(Record):
    """A social feed. Each active persona sees the best-ranked messages that are new to it.

    `posts` are the claims that are posted at each tick, by the tick's number. At most
    `exposures_max` messages are shown to a persona at a tick; of the next best, `drops_max` are
    recorded as dropped. In `hot`, `decay` ticks make up for ten times the votes. `attention_last`
    is the attention that the last message shown gets; the first gets 1. With `counts`, it is seen
    what others did with a message.
    """

    question: str
    posts: dict[str, tuple[str, ...]] = {}
    ranking: Ranking = Ranking.HOT
    exposures_max: int = 3
    drops_max: int = 3
    decay: float = 12.5
    attention_last: float = 0.5
    counts: bool = True


class Forum(Record):
    """A forum of threads, everybody's or one for each community. The rest is as in a feed."""

    question: str
    posts: dict[str, tuple[str, ...]] = {}
    scope: Scope = Scope.GLOBAL
    ranking: Ranking = Ranking.HOT
    exposures_max: int = 3
    drops_max: int = 3
    decay: float = 12.5
    attention_last: float = 0.5
    counts: bool = True


class WordOfMouth(Record):
    """People tell those they know. A message waits for whoever is not active, and is not lost.

    `starts` are the claims that some hear first-hand at each tick, by the tick's number: each
    persona with the chance `reach`. Somebody tells what it wants to tell, and what moved its belief
    by `moved_min` steps or more, on whatever channel: to `targets_max` of those it has a tie of
    `tie_min` or more with. At most `exposures_max` messages are heard at once, and `waiting_max`
    wait for one persona; more push out the oldest, which is recorded.
    """

    question: str
    starts: dict[str, tuple[str, ...]] = {}
    reach: float = 0.05
    moved_min: int = 2
    tie_min: float = 0.0
    targets_max: int = 2
    exposures_max: int = 3
    waiting_max: int = 10


class Channels(Record):
    """The channels of a scenario, beside its survey waves and its scheduled exposures."""

    feed: Feed | None = None
    forum: Forum | None = None
    word_of_mouth: WordOfMouth | None = None


class InterventionKind(StrEnum):
    """What an intervention does on its channel, from its tick on.

    `publish` posts a claim, `promote` puts it first for everybody, `remove` takes it and what
    answers it out of sight, `hide_counts` and `show_counts` say whether others' doings are seen,
    `rank` changes the ranking.
    """

    PUBLISH = "publish"
    PROMOTE = "promote"
    REMOVE = "remove"
    HIDE_COUNTS = "hide_counts"
    SHOW_COUNTS = "show_counts"
    RANK = "rank"


class PlannedIntervention(Record):
    """A change of what is seen on a channel, for `ticks` ticks from `tick` on; 0 is for good."""

    tick: int
    kind: InterventionKind
    channel: str
    claim: str = ""
    ranking: Ranking | None = None
    ticks: int = 0


class Involvement(Record):
    """How often a persona is active, by one of its attributes.

    `levels` maps codes of the attribute to a factor, 0 to 1; an attribute without levels is a
    number that is the factor itself. Whoever has no such value has `otherwise`.
    """

    attribute: str
    levels: dict[str, float] = {}
    otherwise: float = 1.0
