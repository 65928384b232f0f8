"""One pass over a world's events: answers by question and tick, activations, costs.

The answers of a survey wave are kept one by one, since waves are compared person by person. Those
at other ticks are counted as they pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from perdure.analysis.answers import Answer, Count, Counting, answer_of, mark, marks
from perdure.analysis.costs import CostBook, CostLine
from perdure.analysis.figures import Figures
from perdure.records.events import (
    AnswerGiven,
    Cost,
    Event,
    ExposureDropped,
    Reflected,
    ScoreGiven,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.presentation import Presentation
from perdure.records.record import Record
from perdure.records.registry import WorldEntry
from perdure.records.scenario import Scenario
from perdure.study.activity import expected

Wave = dict[str, Answer]
K = TypeVar("K")
V = TypeVar("V")


class Activation(Record):
    """How many personas were to be active at exposure ticks, and how many were.

    `ticks` counts the exposure ticks that closed. `expected` is, over those ticks, the sum of the
    personas' chances to be active: a mean, which chance misses by a little either way. `realised`
    counts those who had a turn that was none of a survey, `thinned_ticks` the ticks whose plan
    asked for less than full activation.
    """

    ticks: int
    expected: float
    realised: int
    thinned_ticks: int
    dropped: dict[str, int]


class WorldReading(Record):
    """What one pass over a world's events found.

    `waves` holds, per question that is asked at waves and per tick at which it was, each persona's
    answer. `others` counts the answers to closed questions at all other ticks, `by_claim` the same
    answers by the claims that were shown with the question; one that had two claims is in both.
    `marks` and `claim_marks` are equal for equal answers, person by person: per question by tick,
    waves included, and per question by claim.
    `failures` counts all failed turns by cause, whatever the question; `reflections_failed` the
    reflections without a reply, `own_calls` the world's own model calls. `events` counts the events
    of the record; `tick` is the last closed tick (-1 if none).
    """

    world: WorldEntry
    events: int
    tick: int
    waves: dict[str, dict[int, Wave]]
    others: dict[str, dict[int, Count]]
    by_claim: dict[str, dict[str, Count]]
    marks: dict[str, dict[int, int]]
    claim_marks: dict[str, dict[str, int]]
    turns: int
    failures: dict[str, int]
    reflections: int
    reflections_failed: dict[str, int]
    own_calls: int
    own_calls_failed: dict[str, int]
    activation: Activation
    unanswered_jobs: int
    costs: tuple[CostLine, ...]


class _Pass:
    """The state of one pass."""

    def __init__(
        self, waved: Collection[str], closed: Mapping[str, Figures], scenario: Scenario
    ) -> None:
        self.waved = waved
        self.closed = closed
        self.wave_ticks = frozenset(scenario.waves)
        self.exposure_ticks = frozenset(int(tick) for tick in scenario.exposures)
        self.claims: dict[str, str] = {}
        self.waves: defaultdict[str, defaultdict[int, Wave]] = defaultdict(
            lambda: defaultdict(dict)
        )
        self.others: dict[tuple[str, int], Counting] = {}
        self.by_claim: dict[tuple[str, str], Counting] = {}
        self.marks: Counter[tuple[str, int]] = Counter()
        self.claim_marks: Counter[tuple[str, str]] = Counter()
        # Turns that wait for their score, with what they were shown.
        self.waiting: dict[tuple[str, str], tuple[str, ...]] = {}
        self.turns = 0
        self.tick = -1
        self.failures: Counter[str] = Counter()
        self.reflections = 0
        self.reflections_failed: Counter[str] = Counter()
        self.own_calls = 0
        self.own_calls_failed: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.realised = 0
        self.active: set[str] = set()
        self.exposed_ticks: list[int] = []
        self.thinned_ticks = 0
        self.unanswered = 0

    def is_wave(self, tick: int, question: str) -> bool:
        """Say whether this is a question of the waves put at a wave.

        A user's own world may ask it at ticks of its own; then every such tick is a wave.
        """
        return question in self.waved and (not self.wave_ticks or tick in self.wave_ticks)

    def step(self, payload: StimulusPublished | ExposureDropped) -> None:
        """Note what the world did: which claim a stimulus carries, and what was not shown."""
        if isinstance(payload, StimulusPublished):
            self.claims[payload.stimulus.id] = payload.stimulus.claim
        else:
            self.dropped[payload.dropped.reason] += 1

    def turn(self, event: Event, payload: Turn) -> None:
        """Note a turn that was taken; its score follows as an event of its own."""
        self.turns += 1
        question = payload.presentation.question
        if self.is_wave(event.tick, question):
            self.waves[question][event.tick][event.persona] = Answer()
            return
        self.active.add(event.persona)
        if question in self.closed:
            self._unscored(event.tick, event.persona, question)
            self.waiting[event.persona, question] = self._shown(payload.presentation)

    def turn_failed(self, event: Event, payload: TurnNotTaken) -> None:
        """Note a turn that was not taken."""
        answer = Answer(failed=payload.cause, call=payload.call)
        name = f"{payload.cause}: {payload.call}" if payload.call else str(payload.cause)
        self.failures[name] += 1
        question = payload.presentation.question
        if self.is_wave(event.tick, question):
            self.waves[question][event.tick][event.persona] = answer
            return
        self.active.add(event.persona)
        if question in self.closed:
            shown = self._shown(payload.presentation)
            self._count(event.tick, event.persona, question, answer, shown)

    def score(self, event: Event, payload: ScoreGiven) -> None:
        """Note the score of a turn."""
        answer = answer_of(payload)
        if self.is_wave(event.tick, payload.question):
            self.waves[payload.question][event.tick][event.persona] = answer
        else:
            shown = self.waiting.pop((event.persona, payload.question), ())
            self._count(event.tick, event.persona, payload.question, answer, shown)

    def reflection(self, payload: Reflected) -> None:
        """Note a reflection, or that its call got no reply."""
        if payload.failed is None:
            self.reflections += 1
        else:
            self.reflections_failed[str(payload.failed)] += 1

    def own_call(self, payload: AnswerGiven) -> None:
        """Note a model call that the world itself made."""
        self.own_calls += 1
        if payload.failed is not None:
            self.own_calls_failed[str(payload.failed)] += 1

    def tick_closed(self, event: Event, payload: TickClosed) -> None:
        """Note the end of a tick."""
        for persona, question in tuple(self.waiting):
            self._unscored(event.tick, persona, question)
        self.tick = event.tick
        self.unanswered += payload.unanswered
        if event.tick in self.exposure_ticks:
            self.exposed_ticks.append(event.tick)
            self.realised += len(self.active)
            self.thinned_ticks += payload.plan.activation < 1.0
        self.active.clear()

    def all_marks(self) -> dict[tuple[str, int], int]:
        """Mark the answers at every tick, those of waves included."""
        waves = {
            (question, tick): marks(answers)
            for question, by_tick in self.waves.items()
            for tick, answers in by_tick.items()
        }
        return {**self.marks, **waves}

    def _unscored(self, tick: int, persona: str, question: str) -> None:
        shown = self.waiting.pop((persona, question), None)
        if shown is not None:
            self._count(tick, persona, question, Answer(), shown)

    def _count(
        self, tick: int, persona: str, question: str, answer: Answer, shown: Iterable[str]
    ) -> None:
        values = self.closed[question].values
        self.others.setdefault((question, tick), Counting(values)).add(answer)
        self.marks[question, tick] += mark(persona, answer)
        for claim in shown:
            self.by_claim.setdefault((question, claim), Counting(values)).add(answer)
            self.claim_marks[question, claim] += mark(f"{tick}:{persona}", answer)

    def _shown(self, presentation: Presentation) -> tuple[str, ...]:
        named = (self.claims.get(one.stimulus, "") for one in presentation.impression.exposures)
        return tuple(dict.fromkeys(claim for claim in named if claim))


def read_world(
    world: WorldEntry,
    scenario: Scenario,
    events: Iterable[Event],
    *,
    waved: Collection[str],
    closed: Mapping[str, Figures],
    involved: Mapping[float, int],
) -> WorldReading:
    """Fold a world's events into what a report needs.

    `waved` names the questions that are asked at waves, `closed` all that are scored, with what is
    counted of them; `involved` counts the people by how involved they are.
    """
    seen = _Pass(waved, closed, scenario)
    book = CostBook(world.world_id)
    count = 0
    for event in events:
        count += 1
        match event.payload:
            case Cost() as cost:
                book.add(cost)
            case Turn() as turn:
                seen.turn(event, turn)
            case ScoreGiven() as score:
                seen.score(event, score)
            case TurnNotTaken() as failed:
                seen.turn_failed(event, failed)
            case StimulusPublished() | ExposureDropped() as step:
                seen.step(step)
            case Reflected() as reflected:
                seen.reflection(reflected)
            case AnswerGiven(job=-1) as answer:
                seen.own_call(answer)
            case TickClosed() as closed_tick:
                seen.tick_closed(event, closed_tick)
            case _:
                pass
    return WorldReading(
        world=world,
        events=count,
        tick=seen.tick,
        waves={name: dict(waves) for name, waves in seen.waves.items()},
        others=_by_first(_counted(seen.others)),
        by_claim=_by_first(_counted(seen.by_claim)),
        marks=_by_first(seen.all_marks()),
        claim_marks=_by_first(seen.claim_marks),
        turns=seen.turns,
        failures=dict(sorted(seen.failures.items())),
        reflections=seen.reflections,
        reflections_failed=dict(sorted(seen.reflections_failed.items())),
        own_calls=seen.own_calls,
        own_calls_failed=dict(sorted(seen.own_calls_failed.items())),
        activation=Activation(
            ticks=len(seen.exposed_ticks),
            expected=expected(scenario, seen.exposed_ticks, involved),
            realised=seen.realised,
            thinned_ticks=seen.thinned_ticks,
            dropped=dict(sorted(seen.dropped.items())),
        ),
        unanswered_jobs=seen.unanswered,
        costs=book.lines(),
    )


def _counted(counts: Mapping[K, Counting]) -> dict[K, Count]:
    return {key: counting.count() for key, counting in counts.items()}


def _by_first(found: Mapping[tuple[str, K], V]) -> dict[str, dict[K, V]]:
    sorted_out: dict[str, dict[K, V]] = {}
    for (name, key), value in found.items():
        sorted_out.setdefault(name, {})[key] = value
    return sorted_out
