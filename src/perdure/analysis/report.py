"""The report of a run: one frozen record, drawn on a terminal and written as JSON alike.

Every figure can be traced: worlds are named by id, counts say what they count, and each world says
how many events of its record were read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from perdure.analysis.change import Change, TwoWaves, change
from perdure.analysis.costs import CostSum, NamedSum, by, total
from perdure.analysis.grouping import grouping_attribute, groups_of
from perdure.analysis.models import ModelUse, models_used
from perdure.analysis.outside import Outside, outside
from perdure.analysis.prediction import Group, Prediction, WorldAnswers, predict
from perdure.analysis.reading import KINDS, Activation, WorldReading, read_world
from perdure.analysis.source import RecordSource
from perdure.analysis.unmeasured import Gap, gaps
from perdure.records.record import Record
from perdure.records.registry import WorldOutcome, WorldState
from perdure.records.scenario import Question, Scenario
from perdure.records.study import Study

BRIER = (
    "Brier score: a persona's probability of a choice is the share of its scored answers, over the "
    "seeds, that name it; mean over personas of the summed squared error over the choices "
    "(0 perfect, 2 certain and always wrong)."
)
YARDSTICK = (
    "The constant answers are chosen from the real values themselves, so they are yardsticks that "
    "only hindsight has; they are judged on the same answers as the model."
)
SPREAD = (
    "Change: share at the last wave minus share at the first, over personas scored at both; "
    "its spread is the standard deviation over seeds (n - 1)."
)


class WorldLine(Record):
    """One world of the report: where it stands, and how much of its record was read."""

    world_id: str
    scenario: str
    seed: int
    state: WorldState
    tick: int
    horizon: int
    turns: int
    turns_failed: int
    reflections: int
    events_read: int
    digest: str
    cause: str
    activation: Activation


class CostReport(Record):
    """What the run cost in closed ticks, by what; and outside of them."""

    currency: str
    total: CostSum
    outside: Outside
    by_model: tuple[NamedSum, ...]
    by_role: tuple[NamedSum, ...]
    by_purpose: tuple[NamedSum, ...]
    by_source: tuple[NamedSum, ...]


class Outcome(Record):
    """The held-out outcome: its question, its choices, and for how many personas it is known."""

    name: str
    question: str
    choices: dict[str, str]
    personas: int
    known: int


class Report(Record):
    """What a run found. `partial` is empty exactly if every world reached its end."""

    run_id: str
    study: str
    title: str
    state: str
    partial: str
    models: tuple[ModelUse, ...]
    worlds: tuple[WorldLine, ...]
    outcome: Outcome | None
    grouped_by: str
    grouped_by_label: str
    predictions: tuple[Prediction, ...]
    changes: tuple[Change, ...]
    gaps: tuple[Gap, ...]
    cost: CostReport
    notes: dict[str, str]


class _Frame(Record):
    """What the figures of one run have in common."""

    choices: tuple[str, ...]
    everyone: tuple[str, ...]
    real: dict[str, str]
    groups: tuple[Group, ...]


def build_report(source: RecordSource, *, grouped_by: str = "") -> Report:
    """Read a run's record once and say what it found.

    Raises:
        UsageError: `grouped_by` is not an attribute that can be grouped by.
        DamagedRecordError: the record does not hold what was written.

    """
    study = msgspec.json.decode(source.entry.study, type=Study)
    spec = grouping_attribute(study.ontology, grouped_by)
    question = outcome_question(study)
    personas = source.personas
    frame = _Frame(
        choices=tuple(choice.id for choice in question.choices) if question else (),
        everyone=tuple(persona.id for persona in personas),
        real=dict(source.held_out),
        groups=groups_of(personas, spec),
    )
    scenarios = {scenario.id: scenario for scenario in study.scenarios}
    readings = [
        read_world(
            world,
            scenarios[world.scenario],
            source.events(world.world_id, KINDS),
            question=question.id if question else "",
            population=len(frame.everyone),
        )
        for world in source.worlds
    ]
    predictions = _predictions(readings, scenarios, frame) if question else ()
    changes = _changes(readings, scenarios, frame) if question else ()
    lines = [line for reading in readings for line in reading.costs]
    outcomes = source.outcomes
    worlds = tuple(_world_line(outcomes.get(r.world.world_id), r) for r in readings)
    spent = total(lines)
    beside = outside(source.log)
    return Report(
        run_id=source.entry.run_id,
        study=study.name,
        title=study.brief.title,
        state="completed" if all_completed(worlds) else "partial",
        partial=partial_sentence(worlds),
        models=models_used(study.models, lines),
        worlds=worlds,
        outcome=_outcome(study, question, frame),
        grouped_by=spec.name if spec else "",
        grouped_by_label=spec.label if spec else "",
        predictions=predictions,
        changes=changes,
        gaps=gaps(
            outcome=question.id if question else "",
            personas=len(frame.everyone),
            real_known=len(frame.real),
            predictions=predictions,
            changes=changes,
            readings=readings,
            cost=spent,
            beside=beside,
        ),
        cost=CostReport(
            currency=source.entry.currency,
            total=spent,
            outside=beside,
            by_model=by(lines, lambda key: key.model),
            by_role=by(lines, lambda key: key.role),
            by_purpose=by(lines, lambda key: key.purpose),
            by_source=by(lines, lambda key: key.source),
        ),
        notes={"brier": BRIER, "yardstick": YARDSTICK, "change": SPREAD},
    )


def outcome_question(study: Study) -> Question | None:
    """Find the question that asks for the held-out outcome, if the study has one."""
    if study.ontology.outcome is None:
        return None
    wanted = study.ontology.outcome.question
    return next((question for question in study.questions if question.id == wanted), None)


def all_completed(worlds: Sequence[WorldLine]) -> bool:
    """Say whether every world of a run reached its end."""
    return all(world.state is WorldState.COMPLETED for world in worlds)


def partial_sentence(worlds: Sequence[WorldLine]) -> str:
    """Say how far a run got, if some world of it did not reach its end."""
    if all_completed(worlds):
        return ""
    done = sum(world.state is WorldState.COMPLETED for world in worlds)
    ticks = sum(world.tick + 1 for world in worlds)
    planned = sum(world.horizon for world in worlds)
    return (
        f"This run is partial: {done} of {len(worlds)} worlds reached their end, "
        f"{ticks} of {planned} ticks are closed. Every figure below covers the closed ticks only."
    )


def _predictions(
    readings: Sequence[WorldReading], scenarios: Mapping[str, Scenario], frame: _Frame
) -> tuple[Prediction, ...]:
    made: list[Prediction] = []
    answered: dict[tuple[str, int], list[WorldAnswers]] = {}
    for name in scenarios:
        mine = [reading for reading in readings if reading.world.scenario == name]
        for tick in _first_and_last(mine, scenarios[name]):
            worlds = [_answers_at(reading, tick) for reading in mine if tick in reading.waves]
            if not worlds:
                continue
            same = next(
                (old for (old, at), before in answered.items() if _same(tick, at, worlds, before)),
                "",
            )
            answered[name, tick] = worlds
            made.append(
                predict(
                    name,
                    tick,
                    worlds,
                    real=frame.real,
                    choices=frame.choices,
                    everyone=frame.everyone,
                    groups=frame.groups,
                    same_as=same,
                )
            )
    return tuple(made)


def _changes(
    readings: Sequence[WorldReading], scenarios: Mapping[str, Scenario], frame: _Frame
) -> tuple[Change, ...]:
    made: list[Change] = []
    for name, scenario in scenarios.items():
        mine = [reading for reading in readings if reading.world.scenario == name]
        first, *rest = _first_and_last(mine, scenario) or (0,)
        if not rest:
            continue
        last = rest[0]
        both = [
            TwoWaves(
                seed=reading.world.replicate_seed,
                world_id=reading.world.world_id,
                first=reading.waves[first],
                last=reading.waves[last],
            )
            for reading in mine
            if first in reading.waves and last in reading.waves
        ]
        made.append(change(name, first, last, both, choices=frame.choices, seeds_asked=len(mine)))
    return tuple(made)


def _first_and_last(readings: Sequence[WorldReading], scenario: Scenario) -> tuple[int, ...]:
    """Give the ticks of the first and last wave, as stated by the scenario, else as they were."""
    ticks = sorted(scenario.waves) or sorted({tick for item in readings for tick in item.waves})
    return tuple(dict.fromkeys((ticks[0], ticks[-1]))) if ticks else ()


def _answers_at(reading: WorldReading, tick: int) -> WorldAnswers:
    return WorldAnswers(
        world_id=reading.world.world_id,
        seed=reading.world.replicate_seed,
        answers=reading.waves[tick],
    )


def _same(tick: int, at: int, now: Sequence[WorldAnswers], before: Sequence[WorldAnswers]) -> bool:
    return tick == at and {w.seed: w.answers for w in now} == {w.seed: w.answers for w in before}


def _world_line(outcome: WorldOutcome | None, reading: WorldReading) -> WorldLine:
    world = reading.world
    return WorldLine(
        world_id=world.world_id,
        scenario=world.scenario,
        seed=world.replicate_seed,
        state=outcome.state if outcome else WorldState.NOT_STARTED,
        tick=reading.tick,
        horizon=world.horizon,
        turns=reading.turns,
        turns_failed=sum(reading.failures.values()),
        reflections=reading.reflections,
        events_read=reading.events,
        digest=outcome.digest if outcome else "",
        cause=outcome.cause if outcome else "",
        activation=reading.activation,
    )


def _outcome(study: Study, question: Question | None, frame: _Frame) -> Outcome | None:
    if question is None or study.ontology.outcome is None:
        return None
    return Outcome(
        name=study.ontology.outcome.name,
        question=question.text,
        choices={choice.id: choice.label for choice in question.choices},
        personas=len(frame.everyone),
        known=len(frame.real),
    )
