"""The worlds of a run by scenario: what was read of each, beside where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perdure.analysis.answers import Answer
from perdure.analysis.reading import WorldReading
from perdure.analysis.replicates import SeedWorld, seed_world
from perdure.records.record import Record
from perdure.records.registry import WorldOutcome

Replicate = tuple[WorldReading, SeedWorld]
Cells = Mapping[str, Sequence[Replicate]]


class WorldWaves(Record):
    """The answers of one world to a question at its waves, by tick, and the mark of each."""

    world: SeedWorld
    waves: dict[int, dict[str, Answer]]
    marks: dict[int, int]


def by_scenario(
    scenarios: Iterable[str],
    readings: Iterable[WorldReading],
    outcomes: Mapping[str, WorldOutcome],
) -> Cells:
    """Sort the worlds of a run by scenario, in the order of its scenarios and of its cells."""
    cells: dict[str, list[Replicate]] = {name: [] for name in scenarios}
    for reading in readings:
        world = reading.world
        stands = seed_world(world, outcomes.get(world.world_id), tick=reading.tick)
        cells[world.scenario].append((reading, stands))
    return cells


def waves_of(question: str, worlds: Iterable[Replicate]) -> list[WorldWaves]:
    """Give what some worlds answered to a question at its waves."""
    return [
        WorldWaves(
            world=stands,
            waves=reading.waves.get(question, {}),
            marks=reading.marks.get(question, {}),
        )
        for reading, stands in worlds
    ]
