"""What an earlier sitting left open, settled before anything else of a new one.

A tick that was open when its run was killed is recorded as discarded, once for each loss; its lost
calls are charged; its finished calls stay in the journal, for the tick's next run. A tick that is
in the record after all is given up by the journal, with what the record did not use of it charged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from perdure.base.errors import DamagedRecordError, MovedError
from perdure.inference.charges import is_final, uncharged
from perdure.inference.effects import may_have_acted
from perdure.inference.journaled import JournaledHost
from perdure.records.events import Cost
from perdure.records.journal import OpenTick
from perdure.records.registry import (
    CallsLost,
    CallsOrphaned,
    LogPayload,
    TickDiscarded,
    WorldOutcome,
)
from perdure.records.request import CallKey
from perdure.runner.ledger import noted
from perdure.runner.tally import tally
from perdure.trace.port import Reading, RunRegistry
from perdure.trace.sittings import forced_epoch, killed_epochs


def losses_of(tick: OpenTick, log: Sequence[LogPayload]) -> tuple[TickDiscarded, ...]:
    """Make the records of a tick's losses that a run log does not have yet. Pure.

    A sitting that was killed lost the tick if it opened it, or made a call of it. There is more
    than one such sitting if a resume was killed before it could record what it found.
    """
    epochs = {tick.epoch, *(call.epoch for call in tick.calls)} & killed_epochs(log)
    place = (tick.opening.world, tick.opening.tick)
    known = {(row.world_id, row.tick, row.epoch) for row in log if isinstance(row, TickDiscarded)}
    kept = sum(call.settled is not None and is_final(call.settled) for call in tick.model_calls)
    return tuple(
        TickDiscarded(world_id=place[0], tick=place[1], epoch=epoch, kept=kept)
        for epoch in sorted(epochs)
        if (*place, epoch) not in known
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

    With `afresh` (something is forced) open ticks are given up, and their calls charged. So are
    those of before something was forced, of which the journal may not know it yet.

    Raises:
        DamagedRecordError: the journal does not hold what was written.
        StorageError: what happened could not be recorded.

    """
    await _catch_up(registry, reading)
    forced = forced_epoch(log)
    for tick in await host.open_ticks():
        world_id, number = tick.opening.world, tick.opening.tick
        given_up = afresh or tick.epoch < forced
        head = await asyncio.to_thread(reading.head, world_id)
        in_record = head is not None and number <= head.tick
        if given_up and not in_record and may_have_acted(tick.effects):
            raise MovedError(
                "Tools of this tick have acted outside the world already. It would be opened"
                " afresh, and they would act again.",
                moved=("--force",),
                where=f"world {world_id}, tick {number}",
                remedy="Put back what moved, and go on without --force until the tick is closed.",
            )
        if not in_record:
            for loss in losses_of(tick, log):
                await registry.log(loss)
        used: set[CallKey] = set()
        if in_record:
            used = await asyncio.to_thread(_calls_of, reading, world_id, number)
        charges: list[CallsLost | CallsOrphaned] = [*await host.lost(world_id, number)]
        if in_record or given_up:
            orphaned = await host.orphans(world_id, number, used)
            charges += [orphaned] if orphaned is not None else []
        for charge in uncharged(charges, log):
            await registry.log(charge)
        if in_record or given_up:
            await host.close_tick(world_id, number)


async def _catch_up(registry: RunRegistry, reading: Reading) -> None:
    """Note what worlds have on record that could not be noted any more, whatever becomes of them.

    What a damaged record holds is not noted; it is named when its world is opened.
    """
    for world in registry.worlds:
        world_id = world.world_id
        witness = registry.witnesses[world_id]
        head = await asyncio.to_thread(reading.head, world_id)
        if head is None or head == witness or head.seq < 0:
            continue
        try:
            found = await asyncio.to_thread(tally, reading, world_id, head)
        except DamagedRecordError:
            continue
        outcome = noted(WorldOutcome(world_id=world_id), found.report())
        await registry.witness(world_id, head, outcome)


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
