"""The journal of a run that is taken up: used whole, or set aside, and its loss recorded once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.calls import intent, key, opening
from tests.support.runs import WORLDS, make_run_async
from tests.support.town import town

from perdure.base.errors import HeldError, StorageError
from perdure.records.registry import JournalLost, LogPayload, RunPaused, TickDiscarded
from perdure.runner.journals import note_loss, take_up
from perdure.trace.journal import Journal
from perdure.trace.journal_file import JOURNAL_NAME
from perdure.trace.partitions import FolderPartitions
from perdure.trace.registry import Registry
from perdure.trace.sittings import JournalLoss

PAUSED = RunPaused(cause="asked", exit_status=75)


async def begin(folder: Path, *, ticks: int = 1, last: LogPayload | None = None) -> None:
    """Leave a run with a journal in which a tick is open, killed unless a last row is given."""
    await make_run_async(folder, ticks=ticks, finish=False)
    journal = await Journal.create(folder, 1, run="abcdef012345")
    await journal.open_tick(opening(ticks, WORLDS[0]))
    await journal.intend(intent(key(tick=ticks, world=WORLDS[0])))
    await journal.close()
    if last is not None:
        registry = await Registry.open(folder)
        await registry.log(last)
        await registry.close()


class Sitting:
    """One sitting of a run: its journal, what it found lost, and the run log after it."""

    journal: Journal
    loss: JournalLoss | None
    log: tuple[LogPayload, ...]
    open_ticks: int


async def sit(folder: Path, *, stop_before_note: bool = False) -> Sitting:
    """Take a run up, and end without a word, as a kill does."""
    sitting = Sitting()
    reading = FolderPartitions(folder).read()
    log = await asyncio.to_thread(lambda: reading.log)
    registry = await Registry.open(folder)
    try:
        sitting.journal, why = await take_up(folder, registry, reading, log)
        sitting.open_ticks = len(sitting.journal.open_ticks)
        await sitting.journal.close()
        if not stop_before_note:
            sitting.loss = await note_loss(
                folder,
                sitting.journal,
                registry,
                reading,
                log,
                study=town(scenarios=({"id": "calm"},)).study,
                personas=6,
                why=why,
            )
        sitting.log = await asyncio.to_thread(lambda: reading.log)
    finally:
        reading.close()
        await registry.close()
    return sitting


def lost(log: tuple[LogPayload, ...]) -> list[LogPayload]:
    """List what a run log says of lost journals."""
    return [
        row
        for row in log
        if isinstance(row, JournalLost) or (isinstance(row, TickDiscarded) and row.journal_lost)
    ]


def garble(folder: Path) -> None:
    """Damage the journal."""
    path = folder / JOURNAL_NAME
    data = bytearray(path.read_bytes())
    data[:100] = bytes(100)
    path.write_bytes(data)


def remove(folder: Path) -> None:
    """Remove the journal."""
    for path in folder.glob(f"{JOURNAL_NAME}*"):
        path.unlink()


def test_a_journal_that_is_whole_is_used(tmp_path: Path) -> None:
    """Nothing is lost, and nothing is said."""

    async def check() -> None:
        await begin(tmp_path)
        found = await sit(tmp_path)
        assert (found.open_ticks, found.loss, lost(found.log)) == (1, None, [])

    asyncio.run(check())


@pytest.mark.parametrize("break_it", [garble, remove])
@pytest.mark.parametrize("stops", [False, True])
def test_a_loss_is_recorded_once(
    tmp_path: Path, break_it: Callable[[Path], None], *, stops: bool
) -> None:
    """Both worlds' next ticks may have been open; who is killed in between repeats nothing."""

    async def check() -> None:
        await begin(tmp_path)
        break_it(tmp_path)
        if stops:
            await sit(tmp_path, stop_before_note=True)
        found = await sit(tmp_path)
        again = await sit(tmp_path)
        assert found.journal.since == again.journal.since == 2
        assert again.loss is None
        assert lost(again.log) == lost(found.log)
        row, *ticks = lost(found.log)
        assert isinstance(row, JournalLost)
        assert (row.epoch, bool(row.file)) == (2, break_it is garble)
        assert bool(row.why) == (break_it is garble and not stops)
        # What a batch of the trial run costs is known in part only.
        assert ticks == [
            TickDiscarded(world_id=world, tick=1, epoch=1, journal_lost=True) for world in WORLDS
        ]
        assert found.loss is not None
        assert (found.loss.ticks, found.loss.amount, found.loss.unknown) == (2, 0, 2)

    asyncio.run(check())


@pytest.mark.parametrize("break_it", [garble, remove])
def test_after_a_clean_end_nothing_is_lost(
    tmp_path: Path, break_it: Callable[[Path], None]
) -> None:
    """A journal that is gone then is not worth a word; one that was set aside is."""

    async def check() -> None:
        await begin(tmp_path, last=PAUSED)
        break_it(tmp_path)
        found = await sit(tmp_path)
        rows = lost(found.log)
        if break_it is remove:
            assert rows == []
            return
        (row,) = rows
        assert isinstance(row, JournalLost)
        assert (row.epoch, row.file) == (3, "calls.db.damaged-3")

    asyncio.run(check())


@pytest.mark.parametrize("break_it", [garble, remove])
def test_before_any_world_began_nothing_can_be_lost(
    tmp_path: Path, break_it: Callable[[Path], None]
) -> None:
    """Killed between the birth of the run and that of its journal, it begins with one as ever."""

    async def check() -> None:
        await begin(tmp_path, ticks=0)
        for path in (tmp_path / "worlds").iterdir():
            path.unlink()
        break_it(tmp_path)
        found = await sit(tmp_path)
        assert found.journal.since == (1 if break_it is remove else 2)
        assert len(lost(found.log)) == (break_it is garble)
        assert found.loss is None or not found.loss.ticks

    asyncio.run(check())


def test_what_an_earlier_sitting_set_aside_is_named(tmp_path: Path) -> None:
    """Killed as soon as the journal was out of the way, the next one says where it is."""

    async def check() -> None:
        await begin(tmp_path)
        await Journal.set_aside(tmp_path, 2)
        await (await Registry.open(tmp_path)).close()
        found = await sit(tmp_path)
        assert found.loss is not None
        assert found.loss.lost == JournalLost(epoch=3, file="calls.db.damaged-2")
        assert found.loss.ticks == 2

    asyncio.run(check())


@pytest.mark.parametrize("error", [HeldError("It is in use."), StorageError("It fails.")])
def test_only_damage_sets_a_journal_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A journal that cannot be read just now is not lost: the run stops, and can go on later."""

    def refuse(*_: Any, **__: Any) -> None:
        raise error

    async def check() -> None:
        await begin(tmp_path)
        with monkeypatch.context() as broken:
            broken.setattr("perdure.trace.journal.JournalFile.open", refuse)
            with pytest.raises(type(error)):
                await sit(tmp_path)
        assert (await sit(tmp_path)).open_ticks == 1

    asyncio.run(check())
