"""Shares and means at waves, and differences between scenarios, with intervals over personas.

`questions` and `difference` say how far other seeds would move a figure; this says how far other
people would. Where the record has survey weights, each figure is there once more by weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from perdure.analysis.cells import Cells, WorldWaves, waves_of
from perdure.analysis.figures import Figures
from perdure.analysis.interval import (
    Interval,
    Unit,
    effective_size,
    mean_interval,
    share_interval,
    units_of,
)
from perdure.records.record import Record

Totals = dict[str, defaultdict[str, float]]


class Weighted(Record):
    """The same figures, each persona counted by how many people it stands for.

    `effective` is Kish's effective sample size: as many personas of equal weight tell as much.
    """

    effective: float
    figures: dict[str, Interval]


class PersonaFigures(Record):
    """The shares of a scenario's answers at a wave by choice, with intervals over personas.

    Where `reference` names another scenario, they are differences: the share under the one minus
    that under the other, over personas scored under both with the same seed. `personas` are those
    who were scored, `answers` theirs over the seeds of `world_ids`. `weighted` is absent without
    weights.
    """

    question: str
    scenario: str
    reference: str
    tick: int
    seeds: tuple[int, ...]
    world_ids: tuple[str, ...]
    personas: int
    answers: int
    figures: dict[str, Interval]
    weighted: Weighted | None = None


def over_personas(
    cells: Cells,
    counted: Mapping[str, Figures],
    references: Mapping[str, str],
    weights: Mapping[str, float],
) -> tuple[PersonaFigures, ...]:
    """Sum up every wave of the questions that are asked at waves, by what is counted of each.

    `references` names the scenario that each is compared with; `weights` is by persona, and empty
    if there are none.
    """
    found: list[PersonaFigures] = []
    for question, named in counted.items():
        waves = {name: waves_of(question, mine) for name, mine in cells.items()}
        for name, worlds in waves.items():
            found.extend(_shares(question, name, worlds, named, weights))
        for name, reference in references.items():
            pair = (name, reference)
            found.extend(
                _differences(question, pair, waves[name], waves[reference], named, weights=weights)
            )
    return tuple(found)


def _shares(
    question: str,
    scenario: str,
    worlds: Sequence[WorldWaves],
    figures: Figures,
    weights: Mapping[str, float],
) -> Iterator[PersonaFigures]:
    for tick in sorted({tick for one in worlds for tick in one.waves}):
        there = [one for one in worlds if tick in one.waves]
        counts: defaultdict[str, int] = defaultdict(int)
        totals: Totals = {name: defaultdict(float) for name in figures.names}
        for world in there:
            for persona, answer in world.waves[tick].items():
                if answer.is_scored:
                    counts[persona] += 1
                    for name, value in figures.values(answer).items():
                        totals[name][persona] += value
        yield _figures(
            question,
            (scenario, ""),
            tick,
            there,
            figures=figures,
            counts=counts,
            totals=totals,
            weights=weights,
        )


def _differences(
    question: str,
    pair: tuple[str, str],
    worlds: Sequence[WorldWaves],
    others: Sequence[WorldWaves],
    figures: Figures,
    *,
    weights: Mapping[str, float],
) -> Iterator[PersonaFigures]:
    by_seed = {one.world.seed: one for one in others}
    ticks = {tick for one in worlds for tick in one.waves}
    for tick in sorted(ticks & {tick for one in others for tick in one.waves}):
        there = [
            one
            for one in worlds
            if tick in one.waves
            and one.world.seed in by_seed
            and tick in by_seed[one.world.seed].waves
        ]
        counts: defaultdict[str, int] = defaultdict(int)
        totals: Totals = {name: defaultdict(float) for name in figures.names}
        for world in there:
            before = by_seed[world.world.seed].waves[tick]
            for persona, answer in world.waves[tick].items():
                other = before.get(persona)
                if other is None or not answer.is_scored or not other.is_scored:
                    continue
                counts[persona] += 1
                for name, value in figures.values(answer).items():
                    totals[name][persona] += value
                for name, value in figures.values(other).items():
                    totals[name][persona] -= value
        both = [*there, *(by_seed[one.world.seed] for one in there)]
        yield _figures(
            question,
            pair,
            tick,
            both,
            figures=figures,
            counts=counts,
            totals=totals,
            weights=weights,
        )


def _figures(
    question: str,
    pair: tuple[str, str],
    tick: int,
    worlds: Sequence[WorldWaves],
    *,
    figures: Figures,
    counts: Mapping[str, int],
    totals: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
) -> PersonaFigures:
    scenario, reference = pair

    def interval(name: str, units: Sequence[Unit]) -> Interval:
        if not reference and name in figures.choices:
            return share_interval(units)
        bounds = figures.change_bounds if reference else figures.bounds
        return mean_interval(units, bounds(name))

    order = {persona: counts[persona] for persona in sorted(counts)}
    plain = {choice: units_of(found, order, {}) for choice, found in totals.items()}
    heavy: dict[str, list[Unit]] = {}
    if weights:
        heavy = {choice: units_of(found, order, weights) for choice, found in totals.items()}
    return PersonaFigures(
        question=question,
        scenario=scenario,
        reference=reference,
        tick=tick,
        seeds=tuple(dict.fromkeys(one.world.seed for one in worlds)),
        world_ids=tuple(one.world.world_id for one in worlds),
        personas=len(order),
        answers=sum(order.values()),
        figures={name: interval(name, units) for name, units in plain.items()},
        weighted=Weighted(
            effective=effective_size(next(iter(heavy.values()), [])),
            figures={name: interval(name, units) for name, units in heavy.items()},
        )
        if heavy
        else None,
    )
