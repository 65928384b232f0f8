"""Going on with a run: what an earlier sitting left, and what moved since, on record first."""

from __future__ import annotations

import asyncio

from perdure.base.canonical import encode
from perdure.closure import Part
from perdure.inference.journaled import JournaledHost
from perdure.records.registry import LogPayload, RunForced, TransportMoved
from perdure.runner.config import RunConfig
from perdure.runner.history import History
from perdure.runner.reconcile import reconcile
from perdure.trace.partitions import FolderPartitions
from perdure.trace.port import Reading
from perdure.trace.registry import Registry

_CODE = frozenset(str(part) for part in Part)


async def take_up(
    config: RunConfig,
    past: History,
    host: JournaledHost,
    registry: Registry,
    partitions: FolderPartitions,
) -> tuple[LogPayload, ...]:
    """Settle and record what went before, before anything else is done; give the run log after it.

    Raises:
        DamagedRecordError: the record or its journal does not hold what was written.
        StorageError: what happened could not be recorded.

    """
    reading = partitions.read()
    try:
        await reconcile(
            host=host,
            registry=registry,
            reading=reading,
            log=past.log,
            afresh=bool(past.forced),
        )
        # First, because the code of a force is compared with from then on, transport included.
        if past.transport is not None:
            await registry.log(TransportMoved(moved=past.transport))
        if past.forced:
            ticks = await asyncio.to_thread(_closed, reading, registry)
            await registry.log(_force(config, past, ticks))
        return await asyncio.to_thread(lambda: reading.log)
    finally:
        reading.close()


def _closed(reading: Reading, registry: Registry) -> dict[str, int]:
    """Give the last closed tick of each world that has one."""
    heads = {world.world_id: reading.head(world.world_id) for world in registry.worlds}
    return {name: head.tick for name, head in heads.items() if head is not None and head.tick >= 0}


def _force(config: RunConfig, past: History, ticks: dict[str, int]) -> RunForced:
    names = {one.name for one in past.forced}
    inputs = names - _CODE
    return RunForced(
        moved=past.forced,
        fingerprint=past.code if names & _CODE else None,
        study=encode(config.study).decode() if inputs else "",
        flags=config.flags if inputs else {},
        ticks=ticks,
    )
