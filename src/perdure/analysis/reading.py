"""One pass over a world's events: answers by wave, activations, costs. Nothing is kept twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from perdure.analysis.answers import Answer
from perdure.analysis.costs import CostBook, CostLine
from perdure.records.events import (
    AnswerGiven,
    Cost,
    Event,
    ExposureDropped,
    Reflected,
    ScoreGiven,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.record import Record
from perdure.records.registry import WorldEntry
from perdure.records.scenario import Scenario

KINDS = (
    "answer",
    "turn",
    "turn_failed",
    "score",
    "cost",
    "reflection",
    "exposure_dropped",
    "tick_closed",
)


class Activation(Record):
    """How many personas were to be active at exposure ticks, and how many were.

    `ticks` counts the exposure ticks that closed. `expected` is, over those ticks, the population
    times the scenario's chance to be active; chance and the plan decide the rest. `realised` counts
    turn jobs, `thinned_ticks` the ticks whose plan asked for less than full activation.
    """

    ticks: int
    expected: float
    realised: int
    thinned_ticks: int
    dropped: dict[str, int]


class ScoreCount(Record):
    """How the scores of one question, put outside the outcome's waves, came out."""

    scored: int
    unscorable: dict[str, int]


class WorldReading(Record):
    """What one pass over a world's events found.

    `waves` holds, per tick at which the outcome's question was asked, each persona's answer.
    `scores` counts the scores given to other questions, or to this one at other ticks.
    `failures` counts all failed turns by cause, whatever the question; `reflections_failed` the
    reflections without a reply, `own_calls` the world's own model calls. `events` counts the events
    that were read; `tick` is the last closed tick (-1 if none).
    """

    world: WorldEntry
    events: int
    tick: int
    waves: dict[int, dict[str, Answer]]
    turns: int
    failures: dict[str, int]
    scores: dict[str, ScoreCount]
    reflections: int
    reflections_failed: dict[str, int]
    own_calls: int
    own_calls_failed: dict[str, int]
    activation: Activation
    unanswered_jobs: int
    costs: tuple[CostLine, ...]


class _Pass:
    """The state of one pass."""

    def __init__(self, question: str, scenario: Scenario) -> None:
        self.question = question
        self.wave_ticks = frozenset(scenario.waves)
        self.exposure_ticks = frozenset(int(tick) for tick in scenario.exposures)
        self.waves: dict[int, dict[str, Answer]] = {}
        self.turns = 0
        self.tick = -1
        self.failures: Counter[str] = Counter()
        self.scores: dict[str, Counter[str]] = {}
        self.reflections = 0
        self.reflections_failed: Counter[str] = Counter()
        self.own_calls = 0
        self.own_calls_failed: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.realised = 0
        self.exposed_ticks = 0
        self.thinned_ticks = 0
        self.unanswered = 0

    def is_wave(self, tick: int, question: str) -> bool:
        """Say whether this is the outcome's question put at a wave.

        A user's own world may ask it at ticks of its own; then every such tick is a wave.
        """
        return (
            bool(question)
            and question == self.question
            and (not self.wave_ticks or tick in self.wave_ticks)
        )

    def turn(self, event: Event, payload: Turn) -> None:
        """Note a turn that was taken; its score follows as an event of its own."""
        self.turns += 1
        if self.is_wave(event.tick, payload.presentation.question):
            self.waves.setdefault(event.tick, {})[event.persona] = Answer()
        elif event.tick in self.exposure_ticks:
            self.realised += 1

    def turn_failed(self, event: Event, payload: TurnNotTaken) -> None:
        """Note a turn that was not taken."""
        name = f"{payload.cause}: {payload.call}" if payload.call else str(payload.cause)
        self.failures[name] += 1
        if self.is_wave(event.tick, payload.presentation.question):
            answer = Answer(failed=payload.cause, call=payload.call)
            self.waves.setdefault(event.tick, {})[event.persona] = answer
        elif event.tick in self.exposure_ticks:
            self.realised += 1

    def score(self, event: Event, payload: ScoreGiven) -> None:
        """Note the score of a turn."""
        if self.is_wave(event.tick, payload.question):
            answer = Answer(choice=payload.choice, unscorable=payload.unscorable)
            self.waves.setdefault(event.tick, {})[event.persona] = answer
        else:
            cause = str(payload.unscorable) if payload.unscorable is not None else ""
            self.scores.setdefault(payload.question, Counter())[cause] += 1

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
        self.tick = event.tick
        self.unanswered += payload.unanswered
        if event.tick in self.exposure_ticks:
            self.exposed_ticks += 1
            self.thinned_ticks += payload.plan.activation < 1.0


def read_world(
    world: WorldEntry,
    scenario: Scenario,
    events: Iterable[Event],
    *,
    question: str,
    population: int,
) -> WorldReading:
    """Fold a world's events into what a report needs. `question` is the outcome's, or empty."""
    seen = _Pass(question, scenario)
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
            case Reflected() as reflected:
                seen.reflection(reflected)
            case AnswerGiven() as answer:
                seen.own_call(answer)
            case ExposureDropped() as dropped:
                seen.dropped[dropped.dropped.reason] += 1
            case TickClosed() as closed:
                seen.tick_closed(event, closed)
            case _:
                count -= 1
    return WorldReading(
        world=world,
        events=count,
        tick=seen.tick,
        waves=seen.waves,
        turns=seen.turns,
        failures=dict(sorted(seen.failures.items())),
        scores={
            name: ScoreCount(
                scored=causes[""],
                unscorable={cause: n for cause, n in sorted(causes.items()) if cause},
            )
            for name, causes in sorted(seen.scores.items())
        },
        reflections=seen.reflections,
        reflections_failed=dict(sorted(seen.reflections_failed.items())),
        own_calls=seen.own_calls,
        own_calls_failed=dict(sorted(seen.own_calls_failed.items())),
        activation=Activation(
            ticks=seen.exposed_ticks,
            expected=seen.exposed_ticks * population * scenario.activation,
            realised=seen.realised,
            thinned_ticks=seen.thinned_ticks,
            dropped=dict(sorted(seen.dropped.items())),
        ),
        unanswered_jobs=seen.unanswered,
        costs=book.lines(),
    )
