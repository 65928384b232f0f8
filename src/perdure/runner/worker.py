"""A worker drives many worlds side by side. One world's failure leaves the others running.

It asks the governor for leave before every tick and tells it of every tick that closed; it never
decides about the run. What concerns the run as a whole (an endpoint that is gone, a key that is
refused, a full disk) is told to the governor as the world's outcome, with its exit status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from perdure.base.crashpoints import crashpoint
from perdure.base.errors import BudgetReachedError, StorageError
from perdure.records.registry import WorldOutcome, WorldState
from perdure.records.scenario import Header
from perdure.runner.endings import outcome_of
from perdure.runner.failure_log import FailureLog
from perdure.runner.port import GovernorPort, TickPaused, TickReport
from perdure.runner.world_run import WorldRun

StartWorld = Callable[[Header], Awaitable[WorldRun]]
RecallWorld = Callable[[WorldRun], Awaitable[TickReport]]


async def drive(
    headers: Sequence[Header],
    *,
    start: StartWorld,
    recall: RecallWorld,
    governor: GovernorPort,
    note_failure: FailureLog,
) -> None:
    """Drive worlds until each has ended.

    `start` makes a world and opens its record; `recall` brings one to where its record ends.
    """

    async def one(header: Header) -> None:
        last = _Last()
        try:
            if not await governor.admit(header.world_id):
                return
            await _drive_one(header, last, start=start, recall=recall, governor=governor)
            outcome = last.outcome(header)
        except Exception as error:  # whatever ends a world is that world's outcome
            if last.is_cut_off:
                # What fails on the way out says nothing of the world.
                raise asyncio.CancelledError from error
            outcome = outcome_of(header.world_id, last.tick, error)
            failed = outcome.state is WorldState.FAILED
            if failed and (path := note_failure(header.world_id, error)):
                cause = f"{outcome.cause} The traceback is in {path}."
                outcome = msgspec.structs.replace(outcome, cause=cause)
        await governor.world_ended(outcome)

    async with asyncio.TaskGroup() as group:
        for header in headers:
            group.create_task(one(header))


class _Last:
    """The last closed tick of a world, known however its drive ends, and whether it was cut off."""

    def __init__(self) -> None:
        self.tick = -1
        self.is_cut_off = False

    def outcome(self, header: Header) -> WorldOutcome:
        done = self.tick == header.scenario.horizon - 1
        state = WorldState.COMPLETED if done else WorldState.PARTIAL
        return WorldOutcome(world_id=header.world_id, state=state, tick=self.tick)


async def _drive_one(
    header: Header,
    last: _Last,
    *,
    start: StartWorld,
    recall: RecallWorld,
    governor: GovernorPort,
) -> None:
    world = await start(header)
    last.tick = world.partition.head.tick
    try:
        await world.begin()
        # A world that was paused before its first tick has a record, too.
        if world.partition.head.seq >= 0:
            report = await recall(world)
            if report.tick < 0:
                await governor.world_recalled(report)
            else:
                await governor.world_recalled(await world.settle(report))
                await world.give_up(report.tick)
        await _ticks(world, governor)
        await world.partition.finish()
    except asyncio.CancelledError:
        last.is_cut_off = True
        raise
    except Exception as error:
        # However a world stops short, its record is left as whole as any other's, unless it is the
        # storage that failed.
        if not isinstance(error, StorageError):
            await world.partition.finish()
        raise
    finally:
        last.tick = world.partition.head.tick
        await world.partition.close()


async def _ticks(world: WorldRun, governor: GovernorPort) -> None:
    """Run ticks until the horizon, or until the governor says no."""
    world_id, horizon = world.header.world_id, world.header.scenario.horizon
    for tick in range(world.partition.head.tick + 1, horizon):
        opened = await governor.open_tick(world_id, tick)
        if opened is None:
            return
        if isinstance(opened, TickPaused):
            await _pause(world, opened, governor)
            return
        try:
            report = await world.run_tick(tick, opened)
        except BudgetReachedError as error:
            await _pause(world, await governor.ceiling_reached(world_id, error.limit), governor)
            raise
        await governor.tick_closed(report)
        await world.give_up(tick)
    crashpoint("world.completed")


async def _pause(world: WorldRun, paused: TickPaused, governor: GovernorPort) -> None:
    """Record that the run is paused, unless the world's record says so already."""
    if paused.is_due:
        head = await world.pause(paused)
        crashpoint("pause.after-append")
        await governor.pause_recorded(world.header.world_id, head)


if __name__ == "__main__":
    import sys

    from perdure.runner.workplace import main

    main(sys.argv[1:])
