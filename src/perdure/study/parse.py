"""From the bytes of a study file to a frozen study, or to everything that is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.records.scenario import Scenario
from perdure.records.study import Order, Study
from perdure.study import schema
from perdure.study.findings import Findings
from perdure.study.kinds import Named, Spot
from perdure.study.nodes import Node, Table
from perdure.study.read_budget import read_budget
from perdure.study.read_content import read_agent, read_brief, read_variants
from perdure.study.read_models import read_models, read_roles, rule_names
from perdure.study.read_people import People, read_people
from perdure.study.read_questions import read_questions
from perdure.study.read_scenarios import read_scenarios
from perdure.study.references import Known
from perdure.study.section import Section
from perdure.study.yaml_reader import read_yaml


@dataclass(frozen=True)
class Parsed:
    """A study file as read. It is a study only if nothing was found.

    `study.models` holds the models by their own names here; `roles` says which serves which role.
    `people` is there as soon as it can be checked against the population file, though the rest of
    the study may be wrong. `files` are the declared data files, each with its line; `anchors` are
    the files of anchors by their construct, not read yet.
    """

    study: Study | None
    roles: dict[str, str]
    people: People | None
    file_line: int
    draw_line: int
    files: tuple[Spot[str], ...] = ()
    ties_line: int = 0
    anchors: tuple[Named[str, str], ...] = ()


def parse(data: bytes, found: Findings) -> Parsed:
    """Parse a study file; every problem goes to `found`. Opens nothing and imports nothing."""
    root = read_yaml(data, found)
    if isinstance(root, Table):
        return _study(root, found)
    if root is not None:
        found.add(root.line, "The file is not a mapping.", "Start with `perdure: 1`.")
    return Parsed(study=None, roles={}, people=None, file_line=0, draw_line=0)


def _study(root: Node, found: Findings) -> Parsed:
    assert isinstance(root, Table)
    study = Section("", root.line, found)
    study.fill(root.entries, schema.STUDY.fields)
    brief = read_brief(study)
    questions = read_questions(study)
    variants = read_variants(study)
    before_people = len(found)
    people = read_people(study, questions)
    population = study.get(schema.POPULATION_FIELD)
    # Only what was read whole can be checked against the population file without false alarms.
    sound = (
        len(found) == before_people
        and study.has(schema.ONTOLOGY_FIELD)
        and study.get(schema.ONTOLOGY_FIELD).sound
        and study.has(schema.POPULATION_FIELD)
        and population.sound
    )
    claims = tuple(claim.id for claim in brief.claims)
    known = Known(
        variants=[one.id for one in variants] if study.has(schema.VARIANTS) else None,
        claims=claims if study.has(schema.BRIEF_FIELD) else None,
        questions=questions if study.has(schema.QUESTIONS) else None,
        attributes=(
            {spec.name: spec for spec in people.ontology.attributes}
            if study.has(schema.ONTOLOGY_FIELD)
            else None
        ),
        has_graph=population.present(schema.GRAPH) if study.has(schema.POPULATION_FIELD) else None,
    )
    scenarios = read_scenarios(study, known)
    seeds = _seeds(study)
    _check_size(study, scenarios, seeds)
    models = read_models(study, rule_names(people.ontology, questions, claims, study))
    roles = read_roles(study, models)
    agent = read_agent(study)
    budget = read_budget(study)
    draw = population.get(schema.DRAW) if population.has(schema.DRAW) else population
    graph = population.get(schema.GRAPH) if population.has(schema.GRAPH) else population
    asked = (
        None
        if found
        else Study(
            format=schema.FORMAT,
            name=study.get(schema.NAME),
            brief=brief,
            ontology=people.ontology,
            questions=tuple(questions.values()),
            population=people.population,
            variants=variants,
            scenarios=scenarios,
            seeds=seeds,
            models=models,
            agent=agent,
            currency=study.get(schema.CURRENCY),
            quorum=study.get(schema.QUORUM),
            skew=study.get(schema.SKEW),
            order=Order(study.get(schema.ORDER)),
            live=study.get(schema.LIVE),
            budget=budget,
            files=tuple(spot.value for spot in study.get(schema.FILES)),
        )
    )
    return Parsed(
        study=asked,
        roles=roles,
        people=people if sound else None,
        file_line=population.line_of(schema.FILE),
        draw_line=draw.line_of(schema.DRAW_N),
        files=study.get(schema.FILES),
        ties_line=graph.line_of(schema.GRAPH_FILE),
        anchors=study.get(schema.ANCHORS),
    )


def _seeds(study: Section) -> tuple[int, ...]:
    seen: set[int] = set()
    for spot in study.get(schema.SEEDS):
        if spot.value in seen:
            wrong = f"The seed {spot.value} is there twice."
            study.found.add(spot.line, wrong, "Give each replicate a seed of its own.")
        seen.add(spot.value)
    return tuple(dict.fromkeys(spot.value for spot in study.get(schema.SEEDS)))


def _check_size(study: Section, scenarios: tuple[Scenario, ...], seeds: tuple[int, ...]) -> None:
    cells = len(scenarios) * len(seeds)
    ticks = sum(scenario.horizon for scenario in scenarios) * len(seeds)
    if cells > schema.CELLS_MAX:
        wrong = f"The study has {cells:,} worlds (scenarios times seeds)."
        study.wrong(schema.SEEDS, wrong, schema.CELLS_REASON)
    elif ticks > schema.TICKS_MAX:
        wrong = f"The study has {ticks:,} ticks over all its worlds."
        study.wrong(schema.SEEDS, wrong, f"At most {schema.TICKS_MAX:,} can be run.")
