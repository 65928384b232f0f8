"""What calls each tick of a world will make, by the schedule of our own world and agent. Pure.

With a world or an agent of the user's own, it is what ours would do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from perdure.records.scenario import AgentSettings, Question, Scenario, Scoring
from perdure.study.turns import Texts, TickTurns, turns_of

Kind = tuple[str, str]

# The calls of the persona agent, by role and purpose.
TURNS: Kind = ("tier_a", "turn")
REFLECTIONS: Kind = ("tier_b", "reflection")
PROBES: Kind = ("tier_a", "probe")
RECALLS: Kind = ("embed", "recall")
MEMORIES: Kind = ("embed", "memory")
# The calls of the world.
INTEREST: Kind = ("embed", "interest")
# The calls of the scorer.
SCORES: Kind = ("embed", "score")
ANCHORS: Kind = ("embed", "anchors")
KINDS = (TURNS, REFLECTIONS, PROBES, RECALLS, MEMORIES, INTEREST, SCORES, ANCHORS)

# How many texts the world embeds by one call.
TEXTS_MAX = 64
# How often an answer that has to be in a form is asked for: once more, if it is not.
_TRIES = 2

# Beyond so many exposures the long-run mean says enough.
_EXACT_MAX = 2_000


def calls_per_turn(agent: AgentSettings) -> int:
    """Say how many calls a turn makes: as many as it may, where it can use tools."""
    return agent.turn_calls_max or 1


@dataclass(frozen=True)
class Parts:
    """The calls of a tick at full activation: made under every plan, thinned, and optional work."""

    whole: Mapping[Kind, float]
    thinned: Mapping[Kind, float]
    optional: Mapping[Kind, float]


class Schedule:
    """The calls of a world's ticks, for each kind of call: its role and its purpose."""

    def __init__(
        self,
        scenario: Scenario,
        agent: AgentSettings,
        *,
        embeds: bool = False,
        rated: Collection[str] = (),
    ) -> None:
        """Make the schedule. `embeds` says whether the study has a model that gives vectors.

        `rated` names the questions whose answers are scored by likeness.
        """
        self._rated = _Rated(scenario, rated)
        self._agent = agent
        self._embeds = embeds and agent.chooses
        self._turns = turns_of(scenario)
        self._reflecting = _chances(self._turns, agent.reflect_every)
        self._can_reflect = _can_reflect(self._turns, agent.reflect_every)
        self.ticks = tuple(self._turns)

    def is_wave(self, tick: int) -> bool:
        """Say whether everyone is asked at a tick. A survey wave is never thinned."""
        return self._at(tick).waves > 0

    def turns(self, tick: int, personas: int) -> float:
        """Count the turns to expect of a tick, at full activation."""
        at = self._at(tick)
        return personas * (at.waves + at.shown + at.acting)

    def turns_most(self, tick: int, personas: int) -> int:
        """Count the turns that a tick can have at most."""
        return personas * self._at(tick).most

    def parts(self, tick: int, personas: int) -> Parts:
        """Count the calls to expect of a tick, attempts after the first left out.

        How many reflect is the mean over all ways in which the turns before can have fallen; those
        that follow a belief that moved far are beyond it.
        """
        at = self._at(tick)
        shown = personas * (at.shown + at.acting)
        whole = self._of_turns(tick, personas * at.waves)
        if at.texts is not None:
            whole[INTEREST] = float(_calls_for(at.texts, personas))
        waves, others = self._rated.waves(at, personas), self._rated.others(at, personas)
        whole[SCORES] = float(math.ceil(waves / TEXTS_MAX))
        whole[ANCHORS] = float(waves + others > 0)
        optional = {
            REFLECTIONS: personas * self._reflecting.get(tick, 0.0),
            PROBES: (personas * at.waves + shown) * self._probing(tick),
        }
        thinned = {**self._of_turns(tick, shown), SCORES: others / TEXTS_MAX}
        return Parts(whole=_some(whole), thinned=_some(thinned), optional=_some(optional))

    def expected(
        self, tick: int, personas: int, *, share: float = 1.0, optional_work: bool = True
    ) -> Mapping[Kind, float]:
        """Count the calls to expect of a tick in all.

        Of those who would be active, `share` are; reflections and probes are optional work.
        """
        parts = self.parts(tick, personas)
        calls = dict(parts.whole)
        for part in (parts.thinned, parts.optional if optional_work else {}):
            for kind, count in part.items():
                calls[kind] = calls.get(kind, 0.0) + count * share
        return calls

    def most(self, tick: int, personas: int) -> Mapping[Kind, int]:
        """Count the calls that a tick can have at most, attempts after the first left out.

        At most everyone is active, no answer is in its form at once, and every reflection and every
        embedding failed so far and is tried again.
        """
        at = self._at(tick)
        turns = at.most
        calls = {
            TURNS: personas * (turns * calls_per_turn(self._agent) + (_TRIES - 1) * at.acting_most),
            REFLECTIONS: personas * self._can_reflect.get(tick, 0),
            PROBES: personas * turns if self._probing(tick) else 0,
            RECALLS: personas * turns if self._recalls(tick) else 0,
            MEMORIES: personas * turns if self._embeds else 0,
            INTEREST: _calls_for(at.texts_most, personas) if at.texts_most is not None else 0,
            SCORES: math.ceil(self._rated.most(at, personas) / TEXTS_MAX),
            ANCHORS: int(self._rated.most(at, personas) > 0),
        }
        return {kind: count for kind, count in calls.items() if count}

    def _at(self, tick: int) -> TickTurns:
        return self._turns.get(tick, _NO_TURNS)

    def _of_turns(self, tick: int, turns: float) -> dict[Kind, float]:
        return {
            TURNS: turns * calls_per_turn(self._agent),
            RECALLS: turns if self._recalls(tick) else 0.0,
            MEMORIES: turns if self._embeds else 0.0,
        }

    def _recalls(self, tick: int) -> bool:
        """Say whether somebody may have more memories by a tick than a prompt tells."""
        return self._embeds and tick > self.ticks[0]

    def _probing(self, tick: int) -> float:
        every = self._agent.probe_every
        return self._agent.probe_share if every > 0 and tick % every == 0 else 0.0


class _Rated:
    """Which turns of a scenario have answers that are scored by likeness."""

    def __init__(self, scenario: Scenario, rated: Collection[str]) -> None:
        channels = scenario.channels
        there = (channels.feed, channels.forum, channels.word_of_mouth)
        self._waves = sum(name in rated for name in scenario.wave_questions)
        self._shown = scenario.exposure_question in rated
        self._acting = any(one.question in rated for one in there if one is not None)

    def waves(self, at: TickTurns, personas: int) -> int:
        return personas * self._waves if at.waves else 0

    def others(self, at: TickTurns, personas: int) -> float:
        return personas * (
            (at.shown if self._shown else 0.0) + (at.acting if self._acting else 0.0)
        )

    def most(self, at: TickTurns, personas: int) -> int:
        shown = at.shown_most if self._shown else 0
        acting = at.acting_most if self._acting else 0
        return self.waves(at, personas) + personas * (shown + acting)


def rated_questions(questions: Iterable[Question]) -> frozenset[str]:
    """Name the questions whose answers are scored by likeness."""
    return frozenset(one.id for one in questions if one.scoring is Scoring.SIMILARITY)


_NO_TURNS = TickTurns()


def _some(calls: Mapping[Kind, float]) -> dict[Kind, float]:
    return {kind: count for kind, count in calls.items() if count}


def _calls_for(texts: Texts, personas: int) -> int:
    """Count the calls that embed so many texts."""
    return math.ceil(round((texts.fixed + texts.each * personas) / TEXTS_MAX, 6))


def _can_reflect(turns: Mapping[int, TickTurns], every: int) -> dict[int, int]:
    """Say how many reflections a persona can make at a tick, at most.

    One that is due is made after each turn that showed something; after one in which a belief can
    move, at any time.
    """
    found, before = dict[int, int](), 0
    for tick, at in turns.items():
        shown = at.shown_most + at.acting_most
        if every > 0:
            found[tick] = shown if before + 1 >= every else at.acting_most
        before += shown
    return found


def _chances(turns: Mapping[int, TickTurns], every: int) -> dict[int, float]:
    """Give for each tick how many reflections are to be expected of a persona."""
    if every <= 0:
        return {}
    shown = {tick: at for tick, at in turns.items() if at.shown or at.acting}
    if any(at.acting for at in shown.values()):
        return _by_the_mean(shown, every)
    chances = tuple(at.shown for at in shown.values())
    return dict(zip(shown, _reflecting(chances, every), strict=True))


def _by_the_mean(turns: Mapping[int, TickTurns], every: int) -> dict[int, float]:
    """Give the long-run mean, from the tick on at which a first reflection can be due."""
    found, before = dict[int, float](), 0
    for tick, at in turns.items():
        if before + 1 >= every:
            found[tick] = (at.shown + at.acting) / every
        before += at.shown_most + at.acting_most
    return found


@lru_cache(maxsize=256)
def _reflecting(active: tuple[float, ...], every: int) -> tuple[float, ...]:
    """Give for each exposure in turn the chance that a persona reflects after it.

    A persona that was active since its last reflection at all but one of the `every` turns that it
    takes, and is active now, reflects.
    """
    shown = len(active)
    if shown > _EXACT_MAX:
        return tuple(chance / every for chance in active)
    since = [1.0] + [0.0] * (every - 1 if every <= shown else shown)
    chances = []
    for activation in active:
        last = since[every - 1] if every <= len(since) else 0.0
        chances.append(activation * last)
        moved = [last, *since[:-1]] if every <= len(since) else [0.0, *since[:-1]]
        since = [
            (1 - activation) * stays + activation * comes
            for stays, comes in zip(since, moved, strict=True)
        ]
    return tuple(chances)
