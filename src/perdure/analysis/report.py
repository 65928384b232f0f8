"""The report of a run: one frozen record, drawn on a terminal and written as JSON alike.

Every figure can be traced: worlds are named by id, counts say what they count, and each world says
how many events its record has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from perdure.analysis.anomalies import Anomalies
from perdure.analysis.beside import Beside, compare, side, why_not
from perdure.analysis.calendars import Dates, dates_of, stamp
from perdure.analysis.cells import Cells, by_scenario, waves_of
from perdure.analysis.change import Change, change
from perdure.analysis.channels import ChannelFigures
from perdure.analysis.costs import CostSum, NamedSum, by, total
from perdure.analysis.difference import Difference, differences, references
from perdure.analysis.figures import Figures
from perdure.analysis.grouping import grouping_attribute, groups_of
from perdure.analysis.models import ModelUse, models_used
from perdure.analysis.opinions import OpinionPath
from perdure.analysis.outlooks import Outlooks
from perdure.analysis.outside import Outside, outside
from perdure.analysis.over_personas import PersonaFigures, over_personas
from perdure.analysis.paired import Pair
from perdure.analysis.polarization import Polarization, why_not_parted
from perdure.analysis.prediction import LOG_FLOOR, Group, Prediction, WorldAnswers, predict
from perdure.analysis.questions import (
    QuestionShares,
    figures_by_question,
    question_shares,
    scored_questions,
    waved_questions,
)
from perdure.analysis.reading import Activation, WorldReading, read_world
from perdure.analysis.replicates import ScenarioSeeds, scenario_seeds
from perdure.analysis.scored_by import ScoredBy, scored_by
from perdure.analysis.source import RecordSource
from perdure.analysis.telling import Telling, Verdict, telling
from perdure.analysis.tool_use import ToolUse
from perdure.analysis.unmeasured import Gap, gaps
from perdure.analysis.verbatims import SAMPLE_MAX, Verbatims
from perdure.analysis.watching import Watcher, watched
from perdure.analysis.weighting import Weighting, weighting_of, weights_by_persona
from perdure.base.canonical import encode
from perdure.records.budget import Budget
from perdure.records.channels import Involvement
from perdure.records.comparability import Comparability
from perdure.records.persona import Persona
from perdure.records.population import PopulationManifest
from perdure.records.record import Record
from perdure.records.registry import RungAt, WorldEntry, WorldOutcome, WorldState
from perdure.records.rescore import Rescoring
from perdure.records.scenario import Question, Scenario
from perdure.records.study import Study
from perdure.study.activity import factor
from perdure.trace.comparability import comparability
from perdure.trace.forced import Marks, marks
from perdure.trace.rungs import budget_in_force, rungs_of

BRIER = (
    "Brier score: a persona's probability of a choice is the share of its scored answers, over the "
    "seeds, that name it; mean over personas of the summed squared error over the choices "
    "(0 perfect, 2 certain and always wrong)."
)
YARDSTICK = (
    "The constant answers are chosen from the real values themselves, so they are yardsticks that "
    "only hindsight has; they are judged on the same answers as the model."
)
CHANGE = (
    "Change: share at the last wave minus share at the first, over personas scored at both; "
    "its spread is the standard deviation over seeds (n - 1)."
)
DIFFERENCE = (
    "Difference: share under the one scenario minus share under the other with the same seed, over "
    "personas scored under both. The same seed draws the same chance for both."
)
SPREAD = (
    "Each world counts once. sd: standard deviation over seeds (n - 1); min, max: over seeds. "
    "Effective: how many of the seeds differ; here as whole worlds, event by event, and below in "
    "the answers that are measured, person by person. 95 % interval of the mean: Student's t with "
    "effective - 1 degrees of freedom, cut to what is possible. It says how far other seeds would "
    "move the mean, not other people or another model."
)


LOG_LOSS = (
    f"Log loss: mean over personas of -ln(probability of the real value), below {LOG_FLOOR:g} "
    "counted as that (0 perfect)."
)
OVER_PERSONAS = (
    "Interval over personas: how far other people of the same kind would move the figure, with "
    "these seeds. All answers of a persona are one cluster; share: Wilson's interval with as many "
    "answers as have the variance between clusters; difference: Student's t."
)
TELLING = (
    "Told apart: each scenario against the first of its variant, seed by seed, at the last wave; "
    "the first of another variant against the first of the study, over seeds (Welch). A difference "
    "counts if its chance under no difference is below 5 % after Holm's correction for how many "
    "are compared. What could have been seen is half of the narrowest 95 % interval."
)

OPINIONS = (
    "Belief: -3 to 3 in steps, 0 is unsure. A persona that met a claim and was not moved is unsure "
    "of it; one that did not meet it has no belief, and is in no share but those of everybody."
)
CHANNELS = (
    "An exposure is a message in a turn that was taken. Gini: 0 if all messages that were shown "
    "have the same exposures, towards 1 if one has them all; first tenth: the share of exposures "
    "that the most shown tenth of these messages has. Over worlds at their end."
)
TOOLS = (
    "Asked: calls of a tool that the model asked for. Turns: those that asked for it at least "
    "once, of those that had it; people: the personas of these turns, of those who had it. All of "
    "it over the closed ticks of a scenario's worlds, each persona once. An error was told to the "
    "model; what is refused was not let through; unknown: it began, and nobody saw what it came "
    "to. What is done in a world takes effect only if its turn is taken."
)
VERBATIMS = (
    f"Answers in people's own words, at most {SAMPLE_MAX} of a scenario and question, drawn by a "
    "seeded stream. Clustered by their words, the rarer the heavier, by average linkage; a cluster "
    "is at least a fiftieth of them, and the rest is counted."
)
POLARIZATION = (
    "Divergence: Jensen and Shannon's between communities, each by its size, as a share of the "
    "most that communities of these sizes can have (0: all alike, 1: the opinion gives the "
    "community away). By chance: its mean if the people were shuffled among communities of the "
    "same sizes. p: the chance of as high a mean over the seeds, if communities had no part in it."
)


class WorldLine(Record):
    """One world of the report: where it stands, and how many events its record has.

    `date` is that of its last closed tick, empty without a calendar.
    """

    world_id: str
    scenario: str
    seed: int
    state: WorldState
    tick: int
    horizon: int
    turns: int
    turns_failed: int
    reflections: int
    events: int
    digest: str
    cause: str
    activation: Activation
    rungs: tuple[RungAt, ...] = ()
    date: str = ""


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
    """The held-out outcome: its question, its choices, and for how many personas it is known.

    It is `withheld` where the report is of an export that leaves the real values out.
    """

    name: str
    question_id: str
    question: str
    choices: dict[str, str]
    personas: int
    known: int
    withheld: bool = False


class Report(Record):
    """What a run found. `partial` is empty exactly if every world reached its end.

    `questions` has the answers to every closed question at every tick; `predictions` compares those
    to the outcome's question, at every wave, with the real values. `changes` are within a scenario,
    `differences` between two of one variant; `seeds` counts each scenario's worlds. `budget` is the
    one in force, `rungs` all that the run took of its ladder. `marks` says what the run was forced
    past: what it found is then no longer the work of one study and one program. `comparability`
    says which worlds ran alike. `population` says how the people were drawn; a run of before that
    was recorded has none. `telling` says whether the study can tell its scenarios apart.
    `over_personas` has the waves with intervals over personas, and by weight, which `weighting` is
    about; `beside` compares another run with this one. `opinions` follows the beliefs in each
    claim, and `polarization` says how far communities part; without communities it is empty, which
    is among the gaps. `channels` has what was shown and done on each, `anomalies`
    where to look again, by stated rules, `verbatims` what was said in people's own words. `tools`
    has what was done with tools, by scenario, and is empty where no turn had any.
    `calendars` say which dates the ticks are.
    """

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
    questions: tuple[QuestionShares, ...]
    changes: tuple[Change, ...]
    differences: tuple[Difference, ...]
    seeds: tuple[ScenarioSeeds, ...]
    gaps: tuple[Gap, ...]
    cost: CostReport
    budget: Budget
    rungs: tuple[RungAt, ...]
    notes: dict[str, str]
    marks: Marks
    comparability: Comparability = Comparability()
    population: PopulationManifest | None = None
    telling: Telling = Telling(verdict=Verdict.NOTHING_TO_COMPARE)
    over_personas: tuple[PersonaFigures, ...] = ()
    weighting: Weighting = Weighting()
    opinions: tuple[OpinionPath, ...] = ()
    polarization: tuple[Polarization, ...] = ()
    channels: tuple[ChannelFigures, ...] = ()
    anomalies: Anomalies = Anomalies()
    verbatims: tuple[Verbatims, ...] = ()
    beside: Beside | None = None
    scored_by: tuple[ScoredBy, ...] = ()
    calendars: tuple[Dates, ...] = ()
    tools: tuple[ToolUse, ...] = ()


class _Frame(Record):
    """What the figures of one run have in common."""

    question: str
    figures: dict[str, Figures]
    everyone: tuple[str, ...]
    real: dict[str, str]
    withheld: bool
    groups: tuple[Group, ...]


def build_report(
    source: RecordSource,
    *,
    grouped_by: str = "",
    beside: RecordSource | None = None,
    rescoring: Rescoring | None = None,
) -> Report:
    """Read a run's record once and say what it found; `beside` is a run to compare it with.

    `rescoring` says what the source's scores were given by, if they are not those of the record.

    Raises:
        UsageError: `grouped_by` is not an attribute that can be grouped by.
        DamagedRecordError: the record does not hold what was written.

    """
    study = msgspec.json.decode(source.entry.study, type=Study)
    spec = grouping_attribute(study.ontology, grouped_by)
    question = outcome_question(study)
    personas = source.personas
    waved = waved_questions(study)
    frame = _Frame(
        question=question.id if question else "",
        figures=figures_by_question(study),
        everyone=tuple(persona.id for persona in personas),
        real=dict(source.held_out),
        withheld=source.withheld,
        groups=groups_of(personas, spec),
    )
    scenarios = {scenario.id: scenario for scenario in study.scenarios}
    outlooks = Outlooks(study, source.graph, personas)
    readings = _readings(source, study, outlooks.watch)
    outlooks.settle()
    outcomes = source.outcomes
    cells = by_scenario(scenarios, readings, outcomes)
    predictions = _predictions(cells, frame) if frame.question in waved else ()
    changes = tuple(one for name in waved for one in _changes(name, cells, scenarios, frame))
    questions = question_shares(study, cells)
    compared = tuple(one for name in waved for one in _differences(name, cells, scenarios, frame))
    seeds = tuple(
        scenario_seeds(name, [stands for _, stands in mine]) for name, mine in cells.items()
    )
    paths = outlooks.paths(cells)
    weighting = weighting_of(study.population, source.entry.weights, personas)
    lines = [line for reading in readings for line in reading.costs]
    worlds = tuple(
        _world_line(outcomes.get(r.world.world_id), r, scenarios[r.world.scenario])
        for r in readings
    )
    scored = scored_questions(study)
    unparted = {name: why_not_parted(scored[name]) for name in waved}
    spent = total(lines)
    apart = outside(source.log, source.journal, source.journal_fault)
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
        questions=questions,
        changes=changes,
        differences=compared,
        seeds=seeds,
        gaps=gaps(
            outcome=frame.question,
            waved=waved,
            personas=len(frame.everyone),
            real_known=len(frame.real),
            withheld=frame.withheld,
            questions=questions,
            changes=changes,
            readings=readings,
            cost=spent,
            beside=apart,
            graph=source.entry.population.graph if source.entry.population else None,
            unparted={name: why for name, why in unparted.items() if why},
        ),
        cost=CostReport(
            currency=source.entry.currency,
            total=spent,
            outside=apart,
            by_model=by(lines, lambda key: key.model),
            by_role=by(lines, lambda key: key.role),
            by_purpose=by(lines, lambda key: key.purpose),
            by_source=by(lines, lambda key: key.source),
        ),
        budget=budget_in_force(study.budget, source.log),
        rungs=rungs_of(source.log),
        notes={
            "brier": BRIER,
            "yardstick": YARDSTICK,
            "change": CHANGE,
            "difference": DIFFERENCE,
            "spread": SPREAD,
            "log_loss": LOG_LOSS,
            "over_personas": OVER_PERSONAS,
            "telling": TELLING,
            "opinions": OPINIONS,
            "polarization": POLARIZATION,
            "channels": CHANNELS,
            "verbatims": VERBATIMS,
            "tools": TOOLS,
        },
        marks=marks(source.log),
        comparability=comparability(source.worlds, outcomes),
        population=source.entry.population,
        telling=telling(study.scenarios, compared, questions),
        over_personas=over_personas(
            cells,
            {name: frame.figures[name] for name in waved},
            references(study.scenarios),
            weights_by_persona(weighting, source.entry.weights, personas),
        ),
        weighting=weighting,
        opinions=paths,
        verbatims=outlooks.verbatims(),
        anomalies=outlooks.anomalies(cells, paths, seeds),
        channels=outlooks.channels(cells),
        polarization=outlooks.polarization(
            cells, {name: frame.figures[name].choices for name, why in unparted.items() if not why}
        ),
        beside=_beside(beside, question, frame.real, cells) if beside is not None else None,
        scored_by=scored_by(study, rescoring),
        calendars=dates_of(study.scenarios),
        tools=outlooks.tools(cells),
    )


def _no_watchers(_world: WorldEntry) -> tuple[Watcher, ...]:
    return ()


def _readings(
    source: RecordSource,
    study: Study,
    watch: Callable[[WorldEntry], Sequence[Watcher]] = _no_watchers,
) -> list[WorldReading]:
    """Read every world of a run, one after the other, while its watchers watch."""
    scenarios = {scenario.id: scenario for scenario in study.scenarios}
    involved = _Involved(source.personas)
    waved, counted = frozenset(waved_questions(study)), figures_by_question(study)
    return [
        read_world(
            world,
            scenarios[world.scenario],
            watched(source.events(world.world_id), watch(world)),
            waved=waved,
            closed=counted,
            involved=involved.of(scenarios[world.scenario].involvement),
        )
        for world in source.worlds
    ]


def _beside(
    other: RecordSource, question: Question | None, real: Mapping[str, str], cells: Cells
) -> Beside:
    study = msgspec.json.decode(other.entry.study, type=Study)
    readings = _readings(other, study)
    scenarios = [scenario.id for scenario in study.scenarios]
    theirs = side(
        outcome_question(study),
        other.held_out,
        by_scenario(scenarios, readings, other.outcomes),
    )
    mine = side(question, real, cells)
    why = why_not(mine, theirs)
    lines = [line for reading in readings for line in reading.costs]
    rows = () if why else compare(mine, theirs)
    return Beside(
        run_id=other.entry.run_id,
        study=study.name,
        models=tuple(dict.fromkeys(use.model for use in models_used(study.models, lines))),
        why=why or ("" if rows else "no wave of a scenario is in both runs"),
        rows=rows,
    )


class _Involved:
    """How many people are how involved; worked out once for what many scenarios have alike."""

    def __init__(self, personas: Sequence[Persona]) -> None:
        self._personas = personas
        self._known: dict[bytes, Mapping[float, int]] = {}

    def of(self, involvement: Involvement | None) -> Mapping[float, int]:
        """Count the people by their factor. One that is none would have kept the world from it."""
        if involvement is None:
            return {1.0: len(self._personas)}
        key = encode(involvement)
        if key not in self._known:
            found = (factor(involvement, one.attributes) for one in self._personas)
            self._known[key] = Counter(one for one in found if one is not None)
        return self._known[key]


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


def _predictions(cells: Cells, frame: _Frame) -> tuple[Prediction, ...]:
    """Compare the outcome's answers at every wave that was reached, scenario by scenario."""
    made: list[Prediction] = []
    answered: dict[object, str] = {}
    for name, mine in cells.items():
        waved = waves_of(frame.question, mine)
        for tick in sorted({tick for one in waved for tick in one.waves}):
            worlds = [
                WorldAnswers(world=one.world, answers=one.waves[tick], mark=one.marks[tick])
                for one in waved
                if tick in one.waves
            ]
            said = frozenset((one.world.seed, one.mark) for one in worlds)
            same = answered.setdefault((tick, said), name)
            made.append(
                predict(
                    name,
                    tick,
                    worlds,
                    real=frame.real,
                    choices=frame.figures[frame.question].choices,
                    everyone=frame.everyone,
                    groups=frame.groups,
                    same_as="" if same == name else same,
                )
            )
    return tuple(made)


def _changes(
    question: str, cells: Cells, scenarios: Mapping[str, Scenario], frame: _Frame
) -> tuple[Change, ...]:
    made: list[Change] = []
    for name, mine in cells.items():
        waved = waves_of(question, mine)
        asked = {tick for one in waved for tick in one.waves}
        first, *rest = _first_and_last(question, asked, scenarios[name]) or (0,)
        if not rest:
            continue
        pairs = [
            Pair(
                seed=one.world.seed,
                worlds=(one.world,),
                first=one.waves.get(first),
                last=one.waves.get(rest[0]),
                marks=tuple(one.marks[tick] for tick in (first, rest[0]) if tick in one.marks),
            )
            for one in waved
        ]
        figures = frame.figures[question]
        made.append(change(name, first, rest[0], pairs, question=question, figures=figures))
    return tuple(made)


def _first_and_last(question: str, asked: Collection[int], scenario: Scenario) -> tuple[int, ...]:
    """Give the ticks of the first and last wave, as stated by the scenario, else as they were."""
    stated = scenario.waves if question in scenario.wave_questions else ()
    ticks = sorted(stated) or sorted(asked)
    return tuple(dict.fromkeys((ticks[0], ticks[-1]))) if ticks else ()


def _differences(
    question: str, cells: Cells, scenarios: Mapping[str, Scenario], frame: _Frame
) -> Iterable[Difference]:
    for name, reference in references(scenarios.values()).items():
        yield from differences(
            name,
            reference,
            waves_of(question, cells[name]),
            waves_of(question, cells[reference]),
            question=question,
            figures=frame.figures[question],
        )


def _world_line(
    outcome: WorldOutcome | None, reading: WorldReading, scenario: Scenario
) -> WorldLine:
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
        events=reading.events,
        digest=outcome.digest if outcome else "",
        cause=outcome.cause if outcome else "",
        activation=reading.activation,
        rungs=outcome.rungs if outcome else (),
        date=stamp(scenario, reading.tick),
    )


def _outcome(study: Study, question: Question | None, frame: _Frame) -> Outcome | None:
    if question is None or study.ontology.outcome is None:
        return None
    return Outcome(
        name=study.ontology.outcome.name,
        question_id=question.id,
        question=question.text,
        choices={choice.id: choice.label for choice in question.choices},
        personas=len(frame.everyone),
        known=len(frame.real),
        withheld=frame.withheld,
    )
