"""The call journal of a run that is taken up again: the one it has, or a new one in its place.

A journal that is missing or damaged costs money and no result: closed ticks are whole without it,
and open ones run again. So the run goes on, and what may have been lost is recorded first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from perdure.base.crashpoints import crashpoint
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.records.registry import JournalLost, LogPayload
from perdure.records.study import Study
from perdure.runner.losses import FIRST_EPOCH, discarded, is_unnoted, next_tick_costs
from perdure.trace.journal import Journal
from perdure.trace.port import Reading, RunRegistry
from perdure.trace.set_aside import is_aside, name_aside
from perdure.trace.sittings import JournalLoss, journal_losses


async def take_up(
    folder: Path, registry: RunRegistry, reading: Reading, log: Sequence[LogPayload]
) -> tuple[Journal, str]:
    """Open the journal of a run; begin a new one where there is none that can be used.

    Gives with it why the old one could not be used, if it was there.

    Raises:
        StaleWriterError: a later epoch has claimed it.
        StorageError: storage failed.

    """
    epoch, run = registry.epoch, registry.entry.run_id
    why = ""
    if await Journal.has(folder):
        try:
            return await Journal.open(folder, epoch, run=run), ""
        except DamagedRecordError as error:
            why = error.wrong
    await Journal.set_aside(folder, epoch)
    crashpoint("journal.set-aside")
    # Before any world has a record no tick was ever opened: then nothing can be missing.
    has_begun = any(head is not None for head in (await _heads(registry, reading)).values())
    since = epoch if has_begun or _file_of(folder, epoch, log) else FIRST_EPOCH
    journal = await Journal.create(folder, epoch, run=run, since=since)
    crashpoint("journal.begun")
    return journal, why


async def note_loss(
    folder: Path,
    journal: Journal,
    registry: RunRegistry,
    reading: Reading,
    log: Sequence[LogPayload],
    *,
    study: Study,
    personas: int,
    why: str,
) -> JournalLoss | None:
    """Record that the journal before this one was lost, unless nothing was or it is recorded.

    It is recorded in one piece, and before anything of this journal is used: a sitting that is
    killed on the way finds the new journal, and no word of it in the log before its epoch.

    Raises:
        StorageError: it could not be recorded.

    """
    since = journal.since
    file = _file_of(folder, since, log)
    if not is_unnoted(log, since, kept=bool(file)):
        return None
    heads = await _heads(registry, reading)
    known = [outcome for outcome in registry.outcomes.values() if outcome is not None]
    costs = next_tick_costs(study, personas, registry.worlds, heads, known)
    lost = JournalLost(epoch=since, file=file, why=why)
    rows: tuple[LogPayload, ...] = (lost, *discarded(registry.worlds, heads, costs, log, since))
    await registry.log_together(rows)
    crashpoint("journal.noted")
    (loss,) = journal_losses(rows)
    return loss


def _file_of(folder: Path, since: int, log: Sequence[LogPayload]) -> str:
    """Find what was set aside since the last loss, by this sitting or one that was killed."""
    earlier = [row.epoch for row in log if isinstance(row, JournalLost)]
    for epoch in range(since, max(earlier, default=FIRST_EPOCH), -1):
        if is_aside(folder, epoch):
            return name_aside(epoch)
    return ""


async def _heads(registry: RunRegistry, reading: Reading) -> dict[str, Head | None]:
    return await asyncio.to_thread(
        lambda: {world.world_id: reading.head(world.world_id) for world in registry.worlds}
    )
