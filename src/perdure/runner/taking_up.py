"""Going on with a run: what an earlier sitting left, and what moved since, on record first."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from perdure.base.canonical import encode
from perdure.closure.compare import Part
from perdure.inference.host import InferenceHost
from perdure.inference.journaled import JournaledHost
from perdure.records.registry import LogPayload, RunForced, TransportMoved
from perdure.runner import journals
from perdure.runner.config import RunConfig
from perdure.runner.history import History
from perdure.runner.notice import Notice
from perdure.runner.reconcile import reconcile
from perdure.trace.journal import Journal
from perdure.trace.partitions import FolderPartitions
from perdure.trace.port import Reading
from perdure.trace.registry import Registry

_CODE = frozenset(str(part) for part in Part)


async def take_up(
    config: RunConfig,
    past: History,
    host: InferenceHost,
    registry: Registry,
    *,
    open_now: AsyncExitStack,
    notice: Notice,
) -> tuple[Journal, tuple[LogPayload, ...]]:
    """Settle and record what went before, before anything else is done.

    Gives the call journal, which `open_now` closes, and the run log after what was recorded.

    Raises:
        DamagedRecordError: the record does not hold what was written.
        StorageError: what happened could not be recorded.

    """
    folder = Path(config.out)
    reading = FolderPartitions(folder).read()
    try:
        journal, why = await journals.take_up(folder, registry, reading, past.log)
        open_now.push_async_callback(journal.close)
        loss = await journals.note_loss(
            folder,
            journal,
            registry,
            reading,
            past.log,
            study=config.study,
            personas=len(config.population.personas),
            why=why,
        )
        if loss is not None:
            notice(loss)
        await reconcile(
            host=JournaledHost(host, journal),
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
        return journal, await asyncio.to_thread(lambda: reading.log)
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
