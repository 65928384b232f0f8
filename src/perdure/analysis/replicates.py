"""The worlds of one scenario as replicates: which count, which repeat another, which are unlike.

Worlds that gave the same answers, person by person, are one effective replicate, however many seeds
they had: a rule without noise, or a model at temperature 0, gives as many copies as there are
seeds. A world that is not counted is named, and so is one that counts though it is not at its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

from perdure.analysis.spread import Spread, spread
from perdure.records.budget import Rung
from perdure.records.record import Record
from perdure.records.registry import RungAt, WorldEntry, WorldOutcome, WorldState

# The other rungs change nothing of what a tick asks: a warning says, a pause opens no tick.
_THAT_CHANGE = frozenset({Rung.FREEZE, Rung.SUBSAMPLE})


Bounds = Callable[[str], tuple[float, float]]


def within(low: float, high: float) -> Bounds:
    """Say that every figure lies between these."""
    return lambda _figure: (low, high)


A_SHARE = within(0.0, 1.0)
A_NUMBER = within(0.0, math.inf)


class SeedNote(Record):
    """What to know of one seed. A world's cause is told with the world."""

    seed: int
    world_id: str
    why: str


class UnderRungs(Record):
    """The worlds that ran under these rungs; `rungs` is empty for those under none."""

    rungs: tuple[RungAt, ...]
    world_ids: tuple[str, ...]


class Between(Record):
    """What the seeds of a scenario gave at one place, and the spread of each figure there.

    `seeds` were measured, `effective` of them differ; `identical` lists the groups that gave the
    same answers, person by person. `missing` were asked for and are not measured, `unfinished` are
    measured though their worlds are not at their end. `unlike` is empty if all ran under the same
    rungs, else it sorts their worlds by them.
    """

    seeds: tuple[int, ...]
    effective: int
    identical: tuple[tuple[int, ...], ...]
    missing: tuple[SeedNote, ...]
    unfinished: tuple[SeedNote, ...]
    unlike: tuple[UnderRungs, ...]
    spreads: dict[str, Spread]


class ScenarioSeeds(Record):
    """The worlds of one scenario: how many stand where, and how many differ.

    `effective` counts the worlds that differ among those that closed a tick, by how far they are
    and by their digest; `identical` lists the groups of seeds whose worlds are the same, event by
    event.
    """

    scenario: str
    seeds: tuple[int, ...]
    states: dict[str, int]
    effective: int
    identical: tuple[tuple[int, ...], ...]


class SeedWorld(Record):
    """One world as a replicate: its seed and where it stands. `tick` is its last closed one."""

    seed: int
    world_id: str
    scenario: str
    state: WorldState
    tick: int
    horizon: int
    digest: str
    rungs: tuple[RungAt, ...]


class Sample(Record):
    """What one seed has to say at one place, and the worlds that it comes from.

    `of` is how many answers its figures rest on, None if the place was not reached or nobody was
    asked there. `values` are by figure and empty without answers. `answers` is equal for seeds that
    gave the same answers, person by person. `why` says why nothing was measured there, if it is
    none of the usual reasons.
    """

    seed: int
    worlds: tuple[SeedWorld, ...]
    of: int | None
    values: dict[str, float]
    answers: Hashable
    why: str = ""


def seed_world(world: WorldEntry, outcome: WorldOutcome | None, *, tick: int) -> SeedWorld:
    """Say how a world stands, from its place in the registry and its last recorded tick."""
    known = outcome or WorldOutcome(world_id=world.world_id)
    return SeedWorld(
        seed=world.replicate_seed,
        world_id=world.world_id,
        scenario=world.scenario,
        state=known.state,
        tick=tick,
        horizon=world.horizon,
        digest=known.digest,
        rungs=known.rungs,
    )


def between(
    samples: Sequence[Sample], figures: Sequence[str], *, tick: int, bounds: Bounds = A_SHARE
) -> Between:
    """Sum up what the seeds gave at a tick. `bounds` says of a figure what it can be."""
    measured = [sample for sample in samples if sample.of]
    groups = _alike({sample.seed: sample.answers for sample in measured})
    worlds = [world for sample in measured for world in sample.worlds]
    unlike = _by_rungs(worlds, tick)
    return Between(
        seeds=tuple(sample.seed for sample in measured),
        effective=len(groups),
        identical=tuple(group for group in groups if len(group) > 1),
        missing=tuple(_missing(sample, tick) for sample in samples if not sample.of),
        unfinished=tuple(
            SeedNote(seed=world.seed, world_id=world.world_id, why=_standing(world))
            for world in worlds
            if world.state is not WorldState.COMPLETED
        ),
        unlike=unlike,
        spreads={
            figure: spread(
                [sample.values[figure] for sample in measured],
                len(groups),
                bounds=bounds(figure),
                alike=not unlike,
            )
            for figure in figures
        },
    )


def scenario_seeds(scenario: str, worlds: Sequence[SeedWorld]) -> ScenarioSeeds:
    """Count the worlds of a scenario by where they stand, and by what is in them."""
    begun = {world.seed: (world.tick, world.digest) for world in worlds if world.tick >= 0}
    groups = _alike(begun)
    states = [str(world.state) for world in worlds]
    return ScenarioSeeds(
        scenario=scenario,
        seeds=tuple(world.seed for world in worlds),
        states={str(state): states.count(state) for state in WorldState},
        effective=len(groups),
        identical=tuple(group for group in groups if len(group) > 1),
    )


def _alike(contents: Mapping[int, Hashable]) -> tuple[tuple[int, ...], ...]:
    """Group seeds of equal content, in their order."""
    groups: dict[Hashable, list[int]] = {}
    for seed, content in contents.items():
        groups.setdefault(content, []).append(seed)
    return tuple(map(tuple, groups.values()))


def _by_rungs(worlds: Sequence[SeedWorld], tick: int) -> tuple[UnderRungs, ...]:
    groups: dict[tuple[RungAt, ...], list[str]] = {}
    for world in worlds:
        groups.setdefault(_had_effect(world.rungs, tick), []).append(world.world_id)
    if len(groups) <= 1:
        return ()
    return tuple(UnderRungs(rungs=rungs, world_ids=tuple(ids)) for rungs, ids in groups.items())


def _had_effect(rungs: Sequence[RungAt], tick: int) -> tuple[RungAt, ...]:
    """Give the rungs that changed something up to a tick, as they look from there."""
    return tuple(
        at if at.lifted is None or at.lifted <= tick else RungAt(rung=at.rung, tick=at.tick)
        for at in rungs
        if at.rung in _THAT_CHANGE and at.tick <= tick and at.lifted != at.tick
    )


def _missing(sample: Sample, tick: int) -> SeedNote:
    behind = [world for world in sample.worlds if world.tick < tick]
    world = (behind or sample.worlds)[0]
    if behind:
        why = _standing(world)
    elif sample.why:
        why = sample.why
    elif sample.of is None:
        why = "nobody was asked"
    else:
        why = "no answer could be scored"
    return SeedNote(seed=sample.seed, world_id=world.world_id, why=why)


def _standing(world: SeedWorld) -> str:
    if world.state is WorldState.NOT_STARTED and world.tick < 0:
        return "not started"
    state = WorldState.PARTIAL if world.state is WorldState.NOT_STARTED else world.state
    return f"{state} with {world.tick + 1} of {world.horizon} ticks closed"
