"""A worker drives many worlds side by side. One world's failure leaves the others running.

It asks the governor for leave before every tick and tells it of every tick that closed; it never
decides about the run. What concerns the run as a whole (an endpoint that is gone, a key that is
refused, a full disk) is told to the governor as the world's outcome, with its exit status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from perdure.base.crashpoints import crashpoint
from perdure.records.registry import WorldOutcome, WorldState
from perdure.records.scenario import Header
from perdure.runner.endings import outcome_of
from perdure.runner.port import GovernorPort
from perdure.runner.world_run import WorldRun

StartWorld = Callable[[Header], Awaitable[WorldRun]]


async def drive(headers: Sequence[Header], *, start: StartWorld, governor: GovernorPort) -> None:
    """Drive worlds until each has ended. `start` makes a world ready for its first tick."""
    async with asyncio.TaskGroup() as group:
        for header in headers:
            group.create_task(_drive_one(header, start=start, governor=governor))


async def _drive_one(header: Header, *, start: StartWorld, governor: GovernorPort) -> None:
    tick = -1
    try:
        world = await start(header)
        try:
            tick = await _ticks(world, governor)
        finally:
            tick = world.partition.head.tick
            await world.partition.close()
    except Exception as error:  # noqa: BLE001 - whatever ends a world is that world's outcome
        await governor.world_ended(outcome_of(header.world_id, tick, error))
        return
    state = WorldState.COMPLETED if tick == header.scenario.horizon - 1 else WorldState.PARTIAL
    await governor.world_ended(WorldOutcome(world_id=header.world_id, state=state, tick=tick))


async def _ticks(world: WorldRun, governor: GovernorPort) -> int:
    """Run ticks until the horizon, or until the governor says no; give the last closed tick."""
    world_id, horizon = world.header.world_id, world.header.scenario.horizon
    for tick in range(world.partition.head.tick + 1, horizon):
        opened = await governor.open_tick(world_id, tick)
        if opened is None:
            return tick - 1
        report = await world.run_tick(tick, opened)
        await governor.tick_closed(report)
    crashpoint("world.completed")
    await world.partition.finish()
    return horizon - 1
