"""Identities that follow from content: worlds, their seeds, and the hashes of a run's inputs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

import msgspec

from perdure.base import canonical
from perdure.base.errors import InvalidStudyError, Problem
from perdure.records.population import HeldOut, Population
from perdure.records.record import Record
from perdure.records.registry import WorldEntry
from perdure.records.scenario import Header, Scenario, Variant
from perdure.records.study import Order, Study
from perdure.study.pricing import price_of

HEADER_FORMAT = 1

_SEED_BYTES = 8
_ID_DIGITS = 12


class Cell(Record):
    """One world of a run before it starts: its entry in the registry and its header."""

    entry: WorldEntry
    header: Header


def world_seed(replicate_seed: int, variant: str) -> str:
    """Derive a world's seed: 16 hex digits. Scenarios of one variant share it, and their draws."""
    digest = hashlib.sha256(f"{replicate_seed}:{variant}".encode()).digest()
    return digest[:_SEED_BYTES].hex()


def world_id(
    scenario_hash: str, replicate_seed: int, population_hash: str, graph_hash: str = ""
) -> str:
    """Derive a world's id: 12 hex digits, from everything that makes it another world."""
    text = f"{scenario_hash}:{replicate_seed}:{population_hash}"
    if graph_hash:
        text += f":{graph_hash}"
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]


def inputs_of(study: Study) -> dict[str, object]:
    """Give each input that a study itself states, in the form in which it is hashed."""
    return {
        "name": study.name,
        "brief": study.brief,
        "ontology": study.ontology,
        "questions": study.questions,
        "scenarios": [study.variants, study.scenarios],
        "seeds": study.seeds,
        "pins": {role: spec.pin for role, spec in study.models.items()},
        "prices": {role: price_of(spec) for role, spec in study.models.items()},
        "agent": study.agent,
        "settings": _settings(study),
        "currency": study.currency,
        **({"anchors": study.anchors} if study.anchors else {}),
    }


def _settings(study: Study) -> dict[str, object]:
    """Give the settings; those that came later are left out where they are as they always were."""
    settings: dict[str, object] = {"quorum": study.quorum, "skew": study.skew}
    if study.order is not Order.BREADTH:
        settings["order"] = study.order
    if study.live:
        settings["live"] = study.live
    return settings


def input_hashes(study: Study, population: Population, held_out: HeldOut) -> dict[str, str]:
    """Hash each input of a run, so that a resume can name what moved."""
    stated = {name: canonical.hash_hex(value) for name, value in inputs_of(study).items()}
    return {
        **stated,
        "population": population.population_hash,
        **({"graph": population.graph_hash} if population.graph_hash else {}),
        "held_out": held_out.held_out_hash,
    }


def header_as(header: Header, study: Study) -> Header:
    """Give the header that a world would have if its study were this one. Its scenario stays."""
    return msgspec.structs.replace(
        header,
        study=study.name,
        brief=study.brief,
        ontology=study.ontology,
        questions=study.questions,
        pins={role: spec.pin for role, spec in study.models.items()},
        agent=study.agent,
        quorum=study.quorum,
        anchors=study.anchors,
    )


def expand(study: Study, population: Population) -> tuple[Cell, ...]:
    """Expand a study into its cells: each scenario with each seed, scenario by scenario.

    Raises:
        InvalidStudyError: two cells are the same world, one id names two variants, or a scenario
            names a variant that is not there.

    """
    variants = {variant.id: variant for variant in study.variants}
    _require_once(study, "variant", (variant.id for variant in study.variants))
    _require_once(study, "scenario", (scenario.id for scenario in study.scenarios))
    _require_once(study, "seed", study.seeds)
    for scenario in study.scenarios:
        if scenario.variant not in variants:
            raise _invalid(study, f"The variant {scenario.variant!r} is not among the variants.")
    hashed = [(scenario, canonical.hash_hex(scenario)) for scenario in study.scenarios]
    cells = tuple(
        _cell(
            study,
            population,
            scenario,
            variants[scenario.variant],
            seed=seed,
            scenario_hash=scenario_hash,
        )
        for scenario, scenario_hash in hashed
        for seed in study.seeds
    )
    _require_once(study, "world", (cell.entry.world_id for cell in cells))
    return cells


def _cell(
    study: Study,
    population: Population,
    scenario: Scenario,
    variant: Variant,
    *,
    seed: int,
    scenario_hash: str,
) -> Cell:
    identity = world_id(scenario_hash, seed, population.population_hash, population.graph_hash)
    entry = WorldEntry(
        world_id=identity,
        scenario=scenario.id,
        variant=variant.id,
        replicate_seed=seed,
        world_seed=world_seed(seed, variant.id),
        horizon=scenario.horizon,
    )
    header = Header(
        format=HEADER_FORMAT,
        world_id=identity,
        world_seed=entry.world_seed,
        replicate_seed=seed,
        study=study.name,
        scenario=scenario,
        variant=variant,
        brief=study.brief,
        ontology=study.ontology,
        questions=study.questions,
        population_hash=population.population_hash,
        persona_ids=population.persona_ids,
        pins={role: spec.pin for role, spec in study.models.items()},
        agent=study.agent,
        quorum=study.quorum,
        graph_hash=population.graph_hash,
        anchors=study.anchors,
    )
    return Cell(entry=entry, header=header)


def _require_once(study: Study, what: str, names: Iterable[str | int]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise _invalid(study, f"The {what} {repeated[0]!r} is there twice.")


def _invalid(study: Study, wrong: str) -> InvalidStudyError:
    return InvalidStudyError([Problem(file=study.name, line=0, wrong=wrong, remedy="Keep one.")])
