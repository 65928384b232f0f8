"""What an earlier sitting left open, settled before anything else of a new one.

A tick that was open when its run was killed is recorded as discarded, once for each loss; its lost
calls are charged; its finished calls stay in the journal, for the tick's next run. A tick that is
in the record after all is given up by the journal, with what the record did not use of it charged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from perdure.inference.charges import is_final, uncharged
from perdure.inference.journaled import JournaledHost
from perdure.records.events import Cost
from perdure.records.journal import OpenTick
from perdure.records.registry import CallsLost, CallsOrphaned, LogPayload, TickDiscarded
from perdure.records.request import CallKey
from perdure.trace.port import Reading, RunRegistry
from perdure.trace.sittings import killed_epochs


def losses_of(
    tick: OpenTick, killed: Collection[int], log: Sequence[LogPayload]
) -> tuple[TickDiscarded, ...]:
    """Record a tick as discarded by every sitting that ran it and was killed, once each. Pure.

    A sitting ran the tick if it opened it, or made a call of it.
    """
    world_id, number = tick.opening.world, tick.opening.tick
    ran = {tick.epoch, *(call.epoch for call in tick.calls)}
    known = {
        row.epoch
        for row in log
        if isinstance(row, TickDiscarded) and (row.world_id, row.tick) == (world_id, number)
    }
    kept = sum(call.settled is not None and is_final(call.settled) for call in tick.calls)
    return tuple(
        TickDiscarded(world_id=world_id, tick=number, epoch=epoch, kept=kept)
        for epoch in sorted(ran & set(killed) - known)
    )


async def reconcile(
    *,
    host: JournaledHost,
    registry: RunRegistry,
    reading: Reading,
    log: Sequence[LogPayload],
    afresh: bool,
) -> None:
    """Settle every tick that the journal holds open. `log` is the run log before this sitting.

    With `afresh` (something was forced) open ticks are given up, and their calls charged.

    Raises:
        DamagedRecordError: the journal does not hold what was written.
        StorageError: what happened could not be recorded.

    """
    killed = killed_epochs(log)
    for tick in await host.open_ticks():
        world_id, number = tick.opening.world, tick.opening.tick
        head = await asyncio.to_thread(reading.head, world_id)
        in_record = head is not None and number <= head.tick
        if not in_record:
            for loss in losses_of(tick, killed, log):
                await registry.log(loss)
        used: set[CallKey] = set()
        if in_record:
            used = await asyncio.to_thread(_calls_of, reading, world_id, number)
        charges: list[CallsLost | CallsOrphaned] = [*await host.lost(world_id, number)]
        if in_record or afresh:
            orphaned = await host.orphans(world_id, number, used)
            charges += [orphaned] if orphaned is not None else []
        for charge in uncharged(charges, log):
            await registry.log(charge)
        if in_record or afresh:
            await host.close_tick(world_id, number)


def _calls_of(reading: Reading, world_id: str, tick: int) -> set[CallKey]:
    """Name the calls that a closed tick has in the record."""
    return {
        CallKey(
            world=world_id,
            tick=tick,
            job=event.payload.job,
            purpose=event.payload.purpose,
            ordinal=event.payload.ordinal,
        )
        for event in reading.events(world_id)
        if event.tick == tick and isinstance(event.payload, Cost)
    }
