"""The difference between two scenarios of one variant at a wave, seed by seed.

Scenarios of one variant share their random draws: the same seed asks the same people at the same
ticks and draws the same chance for them. What differs between two such worlds comes from what the
scenarios differ in, so the difference is taken per seed, and its spread is often far smaller than
that of either scenario. Each scenario is compared with the first of its variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.analysis.cells import WorldWaves
from perdure.analysis.figures import Figures
from perdure.analysis.paired import Pair, SeedChange, sample_of, seed_change
from perdure.analysis.replicates import Between, between
from perdure.records.record import Record
from perdure.records.scenario import Scenario


class Difference(Record):
    """How the answers to a question at a wave differ from those under another scenario.

    `seeds` has each seed's difference: the share under `scenario` minus that under `reference`,
    over personas scored under both; `moved` counts those who answered otherwise. `between` has its
    spread over the seeds.
    """

    scenario: str
    reference: str
    question: str
    tick: int
    seeds: tuple[SeedChange, ...]
    between: Between


def references(scenarios: Iterable[Scenario]) -> dict[str, str]:
    """Name for each scenario the first of its variant; the first itself is left out."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for scenario in scenarios:
        reference = first.setdefault(scenario.variant, scenario.id)
        if reference != scenario.id:
            found[scenario.id] = reference
    return found


def differences(
    scenario: str,
    reference: str,
    worlds: Sequence[WorldWaves],
    others: Sequence[WorldWaves],
    *,
    question: str,
    figures: Figures,
) -> tuple[Difference, ...]:
    """Compare a scenario's worlds with the reference's, at every wave that both were asked at."""
    by_seed = {other.world.seed: other for other in others}
    pairs = [(by_seed[world.world.seed], world) for world in worlds if world.world.seed in by_seed]
    ticks = _ticks(before for before, _ in pairs) & _ticks(after for _, after in pairs)
    made = []
    for tick in sorted(ticks):
        paired = [
            Pair(
                seed=after.world.seed,
                worlds=(before.world, after.world),
                first=before.waves.get(tick),
                last=after.waves.get(tick),
                marks=tuple(one.marks[tick] for one in (before, after) if tick in one.marks),
            )
            for before, after in pairs
        ]
        found = [seed_change(pair, figures) for pair in paired]
        samples = [sample_of(pair, one) for pair, one in zip(paired, found, strict=True)]
        made.append(
            Difference(
                scenario=scenario,
                reference=reference,
                question=question,
                tick=tick,
                seeds=tuple(one for one in found if one is not None),
                between=between(samples, figures.names, tick=tick, bounds=figures.change_bounds),
            )
        )
    return tuple(made)


def _ticks(worlds: Iterable[WorldWaves]) -> set[int]:
    return {tick for world in worlds for tick in world.waves}
