"""How many turns each tick of a scenario has, and how many texts its world embeds. Pure.

What people do on channels is not known before, and decides what there is to be seen: where it
matters, everybody is taken to say and to pass on as much as can be. Real turns are fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perdure.records.channels import Feed, Forum, InterventionKind, Ranking, WordOfMouth
from perdure.records.scenario import Scenario
from perdure.study.activity import chance


@dataclass(frozen=True)
class Texts:
    """Texts that are embedded: so many, and so many more for each persona."""

    fixed: float = 0.0
    each: float = 0.0


@dataclass(frozen=True)
class TickTurns:
    """The turns of one tick, for each persona.

    `waves` are of a survey, which nothing thins; `shown` and `acting` are to be expected of those
    that activation thins, on channels where nothing can be done and where something can. At most
    there are as many of them as such channels are open. `texts` are embedded by the world itself,
    and at most `texts_most`.
    """

    waves: int = 0
    shown: float = 0.0
    acting: float = 0.0
    shown_most: int = 0
    acting_most: int = 0
    texts: Texts | None = None
    texts_most: Texts | None = None

    @property
    def most(self) -> int:
        """How many turns there are at most."""
        return self.waves + self.shown_most + self.acting_most


def turns_of(scenario: Scenario) -> dict[int, TickTurns]:
    """Count the turns of every tick that has any, in order."""
    shown = {int(tick) for tick, claims in scenario.exposures.items() if claims}
    waves = frozenset(scenario.waves)
    channels = _Channels(scenario)
    ticks: Sequence[int] = range(scenario.horizon) if channels.any else sorted(waves | shown)
    found = {}
    for tick in ticks:
        active = active_at(scenario, tick)
        acting, acting_most = channels.open(tick, active)
        texts, texts_most = channels.texts(tick)
        turns = TickTurns(
            waves=len(scenario.wave_questions or ("",)) if tick in waves else 0,
            shown=active if tick in shown else 0.0,
            acting=acting,
            shown_most=int(tick in shown),
            acting_most=acting_most,
            texts=texts,
            texts_most=texts_most,
        )
        if turns != TickTurns():
            found[tick] = turns
    return found


def active_at(scenario: Scenario, tick: int) -> float:
    """Give the chance that a persona is active at a tick; of involvement, the most that is named.

    How many people have how much of it is not known here.
    """
    involved, most = scenario.involvement, 1.0
    if involved is not None and involved.levels:
        most = max([*involved.levels.values(), involved.otherwise])
    return chance(scenario, tick, most)


class _Channels:
    """The channels of a scenario, opened tick by tick."""

    def __init__(self, scenario: Scenario) -> None:
        channels = scenario.channels
        boards = (("feed", channels.feed), ("forum", channels.forum))
        self._boards = [_Board(name, asked, scenario) for name, asked in boards if asked]
        self._mouth = _Mouth(channels.word_of_mouth, scenario) if channels.word_of_mouth else None
        self._have_profiles = False
        # What channels where something can be done showed at the tick before.
        self._before = 0.0

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self._boards) or self._mouth is not None

    def open(self, tick: int, active: float) -> tuple[float, int]:
        """Open the next tick; give the turns to expect and the most, for each persona."""
        turns, most = 0.0, 0
        for board in self._boards:
            board.open(tick, active)
            turns += board.turns
            most += board.is_open
        if self._mouth is not None:
            self._mouth.open(tick, active, told_by=self._before)
            turns += self._mouth.turns
            most += self._mouth.is_open
        self._before = turns
        return turns, most

    def texts(self, tick: int) -> tuple[Texts | None, Texts | None]:
        """Say how many texts the tick that is open embeds: to be expected, and at most."""
        ranking = [board for board in self._boards if board.ranks_by_interest(tick)]
        if not ranking:
            return None, None
        fixed, each = (sum(part) for part in zip(*(one.take() for one in ranking), strict=True))
        profiles = 0.0 if self._have_profiles else 1.0
        self._have_profiles = True
        # If every call failed so far, all that there is is asked for again.
        most = Texts(
            fixed=sum(board.posted for board in self._boards),
            each=1.0 + sum(board.said_most for board in self._boards),
        )
        return Texts(fixed=fixed, each=each + profiles), most


class _Board:
    """A feed or a forum, tick by tick."""

    def __init__(self, name: str, asked: Feed | Forum, scenario: Scenario) -> None:
        self._ranking = asked.ranking
        self._claims = dict(_published(name, asked.posts, scenario))
        self._ranks = [
            (one.tick, one.tick + one.ticks if one.ticks else scenario.horizon)
            for one in scenario.interventions
            if one.channel == name and one.ranking is Ranking.INTEREST
        ]
        self.is_open = False
        self.turns = 0.0
        self.posted = 0
        self.said_most = 0
        self._pending_fixed = 0.0
        self._pending_each = 0.0

    def open(self, tick: int, active: float) -> None:
        """Open the next tick: what was said at the one before is there, and what is posted now."""
        self._pending_each += self.turns
        self.said_most += self.is_open
        claims = self._claims.get(tick, 0)
        self._pending_fixed += claims
        self.posted += claims
        self.is_open = self.is_open or claims > 0
        self.turns = active if self.is_open else 0.0

    def ranks_by_interest(self, tick: int) -> bool:
        """Say whether it may rank by interest at a tick, and has something to rank."""
        by_interest = self._ranking is Ranking.INTEREST
        return self.is_open and (by_interest or any(b <= tick < end for b, end in self._ranks))

    def take(self) -> tuple[float, float]:
        """Take what is not embedded yet: so many texts, and so many more for each persona."""
        pending = self._pending_fixed, self._pending_each
        self._pending_fixed = self._pending_each = 0.0
        return pending


class _Mouth:
    """Word of mouth, tick by tick. Everybody tells all that it may."""

    def __init__(self, asked: WordOfMouth, scenario: Scenario) -> None:
        self._asked = asked
        self._starts = dict(_published("word_of_mouth", asked.starts, scenario))
        self._waiting = 0.0
        self.is_open = False
        self.turns = 0.0

    def open(self, tick: int, active: float, *, told_by: float) -> None:
        """Open the next tick, after one at which so many could tell, for each persona."""
        starts = self._starts.get(tick, 0)
        self._waiting += self._asked.reach * starts + told_by * self._asked.targets_max
        self._waiting = min(self._waiting, float(self._asked.waiting_max))
        self.is_open = self.is_open or starts > 0 or told_by > 0
        self.turns = active * min(1.0, self._waiting)
        self._waiting -= active * min(self._waiting, self._asked.exposures_max)


def _published(
    channel: str, listed: Mapping[str, tuple[str, ...]], scenario: Scenario
) -> Iterator[tuple[int, int]]:
    """Count the claims that are published on a channel, by tick."""
    by_tick = {int(tick): set(claims) for tick, claims in listed.items()}
    for one in scenario.interventions:
        if one.kind is InterventionKind.PUBLISH and one.channel == channel:
            by_tick.setdefault(one.tick, set()).add(one.claim)
    for tick, claims in by_tick.items():
        yield tick, len(claims)
