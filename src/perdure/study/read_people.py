"""Reads who is in a study: the ontology, the held-out outcome, and where personas come from."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.records.persona import AttributeSpec, Ontology, OutcomeSpec, own_order
from perdure.records.scenario import Question, QuestionType
from perdure.records.study import CsvForm, PopulationSpec
from perdure.study import schema
from perdure.study.findings import quoted, suggestion
from perdure.study.kinds import Named
from perdure.study.read_draw import read_accepted, read_audiences, read_draw, read_targets
from perdure.study.read_graph import GATES as GRAPH_GATES
from perdure.study.read_graph import read_graph
from perdure.study.section import Section


@dataclass(frozen=True)
class People:
    """The ontology and the population as asked."""

    ontology: Ontology
    population: PopulationSpec


def read_people(study: Section, questions: dict[str, Question]) -> People:
    """Read the ontology and the population, checked against each other and the questions."""
    ontology = study.get(schema.ONTOLOGY_FIELD)
    population = study.get(schema.POPULATION_FIELD)
    attributes = ontology.get(schema.ATTRIBUTES)
    outcome = ontology.get(schema.HELD_OUT) if ontology.has(schema.HELD_OUT) else None
    if outcome is not None:
        _check_outcome(outcome, questions, known=study.has(schema.QUESTIONS))
    _check_columns(attributes, outcome, population)
    _check_missing(outcome, population)
    return People(
        ontology=Ontology(
            attributes=tuple(_attribute(named) for named in attributes),
            outcome=_outcome(outcome),
        ),
        population=_population(population, attributes, outcome),
    )


def _attribute(named: Named[str, Section]) -> AttributeSpec:
    section = named.value
    scale = section.get(schema.SCALE)
    for other, remedy in (
        (schema.TYPE, "Remove `type`: a scale says it."),
        (schema.UNIT, "Remove `unit`: a scale has words."),
    ):
        if scale and section.present(other):
            wrong = f"`{section.trail}` has both a scale and `{other.key}`."
            section.wrong(other, wrong, remedy)
    codes = tuple(entry.key for entry in scale)
    return AttributeSpec(
        name=named.key,
        label=section.get(schema.LABEL),
        scale={entry.key: entry.value for entry in scale},
        unit=section.get(schema.UNIT),
        required=section.get(schema.REQUIRED),
        text=not scale and section.get(schema.TYPE) == "text",
        determining=section.get(schema.ALLOW_DETERMINING),
        order=() if codes == own_order(codes) else codes,
    )


def _outcome(section: Section | None) -> OutcomeSpec | None:
    if section is None:
        return None
    return OutcomeSpec(
        name=section.get(schema.OUTCOME_NAME), question=section.get(schema.OUTCOME_QUESTION)
    )


def _population(
    section: Section, attributes: tuple[Named[str, Section], ...], outcome: Section | None
) -> PopulationSpec:
    known = {named.key: named.value for named in attributes}
    draw = read_draw(section, known)
    gates = section.get(schema.GATES)
    missing = section.get(schema.MISSING) if section.has(schema.MISSING) else None
    values = outcome.get(schema.OUTCOME_VALUES) if outcome is not None else ()
    return PopulationSpec(
        file=section.get(schema.FILE),
        id_column=section.get(schema.ID),
        columns={named.key: named.value.get(schema.COLUMN) for named in attributes},
        outcome_column=outcome.get(schema.OUTCOME_COLUMN) if outcome is not None else "",
        outcome_values={entry.key: entry.value for entry in values},
        missing=("",) if missing is None else tuple(spot.value for spot in missing),
        draw=draw.n,
        draw_seed=draw.seed,
        incomplete=section.get(schema.INCOMPLETE),
        weight_column=section.get(schema.WEIGHT_COLUMN),
        draw_by=draw.by,
        quotas=draw.quotas,
        audiences=read_audiences(section, known),
        targets=read_targets(section, known),
        alpha=gates.get(schema.ALPHA),
        accept=read_accepted(gates, [*known, *(GRAPH_GATES if section.has(schema.GRAPH) else ())]),
        graph=read_graph(section, known),
        csv=_csv(section.get(schema.CSV)) if section.has(schema.CSV) else None,
    )


def _csv(section: Section) -> CsvForm:
    decimal = section.get(schema.DECIMAL)
    if decimal == section.get(schema.SEPARATOR):
        wrong = f"A {decimal} cannot be both between fields and before decimals."
        section.wrong(schema.DECIMAL, wrong, "Write the `separator` of the file.")
    return CsvForm(
        separator=schema.SEPARATORS[section.get(schema.SEPARATOR)],
        encoding=section.get(schema.ENCODING),
        decimal=schema.DECIMALS[decimal],
    )


def _check_outcome(outcome: Section, questions: dict[str, Question], *, known: bool) -> None:
    values = outcome.get(schema.OUTCOME_VALUES)
    first: dict[str, str] = {}
    for entry in values:
        other = first.setdefault(entry.value, entry.key)
        if other != entry.key:
            wrong = f"The code {quoted(entry.value)} stands for both `{other}` and `{entry.key}`."
            outcome.found.add(entry.line, wrong, "Give each choice a code of its own.")
    if not known or not outcome.has(schema.OUTCOME_QUESTION):
        return
    asked = outcome.get(schema.OUTCOME_QUESTION)
    question = questions.get(asked)
    if question is None:
        wrong = f"The question {quoted(asked)} is not among the questions."
        outcome.wrong(schema.OUTCOME_QUESTION, wrong, suggestion(asked, questions))
        return
    choices = [choice.id for choice in question.choices]
    if not choices:
        wrong = f"The question {quoted(asked)} has no choices, so no answer can be compared."
        outcome.wrong(schema.OUTCOME_QUESTION, wrong, "Give the question `choices:`.")
        return
    if question.asks_for not in (QuestionType.ONE, QuestionType.LIKERT):
        wrong = f"The question {quoted(asked)} asks for more than one choice."
        outcome.wrong(schema.OUTCOME_QUESTION, wrong, "Ask for one: `type: one` or `likert`.")
        return
    for entry in values:
        if entry.key not in choices:
            wrong = f"{quoted(entry.key)} is not a choice of the question `{asked}`."
            outcome.found.add(entry.line, wrong, suggestion(entry.key, choices))


def _check_missing(outcome: Section | None, population: Section) -> None:
    if outcome is None or not population.has(schema.MISSING):
        return
    missing = {spot.value for spot in population.get(schema.MISSING)}
    for entry in outcome.get(schema.OUTCOME_VALUES):
        if entry.value in missing:
            wrong = f"The code {quoted(entry.value)} of `{entry.key}` is also in `missing`."
            outcome.found.add(entry.line, wrong, "Remove it from one of the two.")


def _check_columns(
    attributes: tuple[Named[str, Section], ...], outcome: Section | None, population: Section
) -> None:
    taken: dict[str, str] = {}
    if population.has(schema.ID):
        taken[population.get(schema.ID)] = "the id of a row"
    if outcome is not None and outcome.has(schema.OUTCOME_COLUMN):
        column = outcome.get(schema.OUTCOME_COLUMN)
        if column in taken:
            wrong = f"The column {quoted(column)} is already {taken[column]}."
            outcome.wrong(schema.OUTCOME_COLUMN, wrong, "Name another column.")
        taken[column] = "the held-out outcome"
    if population.has(schema.WEIGHT_COLUMN):
        column = population.get(schema.WEIGHT_COLUMN)
        if column in taken:
            wrong = f"The column {quoted(column)} is already {taken[column]}."
            population.wrong(schema.WEIGHT_COLUMN, wrong, "Name another column.")
    name = outcome.get(schema.OUTCOME_NAME) if outcome is not None else ""
    for named in attributes:
        if named.key == name:
            wrong = f"The attribute `{name}` has the name of the held-out outcome."
            population.found.add(named.line, wrong, "Give it another name.")
        section = named.value
        if not section.has(schema.COLUMN):
            continue
        column = section.get(schema.COLUMN)
        if column in taken:
            wrong = f"The column {quoted(column)} is already {taken[column]}."
            remedy = "Name another column, or remove this attribute: no persona may carry it."
            section.wrong(schema.COLUMN, wrong, remedy)
        taken.setdefault(column, f"the attribute `{named.key}`")
