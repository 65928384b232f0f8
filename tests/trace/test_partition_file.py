"""A partition in its file: one writer, durable before it is acknowledged, checked when opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest
from tests.support.folders import names_in
from tests.support.runs import NO_LOG, WORLDS, full_batch, header, small_batch

from perdure.base.errors import DamagedRecordError, HeldError, InternalError, StorageError
from perdure.records.registry import LogHead
from perdure.trace import database as database_module
from perdure.trace.opening import open_reader
from perdure.trace.partition import PartitionWriter
from perdure.trace.partition_file import PartitionFile
from perdure.trace.rows import read_head
from perdure.trace.schema import PARTITION
from perdure.trace.sql_rows import SqlWorld

NAME = f"{WORLDS[0]}.db"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the path of a partition."""
    return tmp_path / NAME


def test_a_partition_has_the_name_of_its_world(tmp_path: Path) -> None:
    """A header cannot be filed under another world's name."""
    with pytest.raises(InternalError, match="cannot be kept"):
        PartitionFile.create(tmp_path / "other.db", header(), 1)


def test_a_birth_leaves_one_file(path: Path) -> None:
    """After a birth and a close there is one file, in WAL mode, with no log beside it."""
    PartitionFile.create(path, header(), 1).close()
    assert names_in(path.parent) == [NAME]
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("journal_mode") == "wal"
    connection.close()


def test_what_an_interrupted_birth_left_is_removed(path: Path) -> None:
    """A birth that was killed is repeated from nothing."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(f"{NAME}.new{suffix}").write_bytes(b"half of something")
    partition = PartitionFile.create(path, header(), 1)
    assert partition.head.seq == -1
    partition.close()
    assert names_in(path.parent) == [NAME]


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
def test_a_name_that_is_taken_is_refused(path: Path, suffix: str) -> None:
    """Neither a file nor what a lost file left behind is written over."""
    path.with_name(NAME + suffix).write_bytes(b"mine")
    with pytest.raises(HeldError, match="of this name already"):
        PartitionFile.create(path, header(), 1)
    assert path.with_name(NAME + suffix).read_bytes() == b"mine"


def test_every_commit_is_synced(path: Path) -> None:
    """P1: the connection that writes is at EXTRA, in WAL, and never at less."""
    partition = PartitionFile.create(path, header(), 1)
    assert partition._database.fetch("PRAGMA synchronous") == [(3,)]
    assert partition._database.fetch("PRAGMA journal_mode") == [("wal",)]
    assert partition._database.fetch("PRAGMA mmap_size") == [(0,)]
    partition.close()


def test_the_run_log_is_witnessed(path: Path) -> None:
    """A tick's transaction holds where the run log ended."""
    partition = PartitionFile.create(path, header(), 1)
    seen = LogHead(seq=4, chain="ab" * 32)
    head = partition.append(small_batch(partition.head), epoch=1, log_head=seen)
    reader = open_reader(path, PARTITION)
    assert read_head(SqlWorld(reader)) == (head, seen)
    reader.close()
    partition.close()


def test_a_finished_partition_leaves_its_log(path: Path) -> None:
    """A finished partition is one file that needs no log and can be read where nobody may write."""
    partition = PartitionFile.create(path, header(), 1)
    partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
    assert partition.finish()
    partition.close()
    assert names_in(path.parent) == [NAME]
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("journal_mode") == "delete"
    connection.close()


def test_a_reader_in_the_way_keeps_a_partition_in_its_log(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader cannot fail a run: the partition stays in WAL, whole, and says so."""
    monkeypatch.setattr("perdure.trace.opening._BUSY_MS", 10)
    partition = PartitionFile.create(path, header(), 1)
    head = partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    cursor = reader.execute("SELECT * FROM events")
    next(cursor)
    assert not partition.finish()
    reader.close(True)
    partition.close()
    again = PartitionFile.open(path, 1, head)
    assert again.head == head
    again.close()


def test_a_long_log_is_copied_into_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P11: a log does not grow for ever: once long enough, it is copied and used again."""
    monkeypatch.setattr(database_module, "_CHECKPOINT_PAGES", 4)
    partition = PartitionFile.create(path, header(horizon=100), 1)
    log = path.with_name(f"{NAME}-wal")
    sizes = []
    for _ in range(30):
        partition.append(full_batch(partition.head, 100), epoch=1, log_head=NO_LOG)
        sizes.append(log.stat().st_size)
    assert max(sizes[5:]) <= 3 * max(sizes[:5])
    partition.close()
    assert PartitionFile.open(path, 1).head.tick == 29


def test_a_reader_puts_a_checkpoint_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that looks on cannot make an append fail."""
    monkeypatch.setattr(database_module, "_CHECKPOINT_PAGES", 1)
    partition = PartitionFile.create(path, header(horizon=100), 1)
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN; SELECT * FROM events")
    for _ in range(5):
        partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
    reader.close(True)
    assert partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG).tick == 5
    partition.close()


def test_a_file_of_another_world_is_refused(path: Path) -> None:
    """P7: a partition that was renamed is not taken for another world's."""
    PartitionFile.create(path, header(), 1).close()
    renamed = path.with_name(f"{WORLDS[1]}.db")
    path.rename(renamed)
    with pytest.raises(DamagedRecordError, match="record of world"):
        PartitionFile.open(renamed, 1)


def test_a_damaged_partition_is_not_opened(path: Path) -> None:
    """P2: the chain is checked before a single event is added, and the bad event is named."""
    partition = PartitionFile.create(path, header(), 1)
    partition.append(full_batch(partition.head), epoch=1, log_head=NO_LOG)
    partition.close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE events SET payload = x'7b7d' WHERE seq = 3")
    connection.close()
    with pytest.raises(DamagedRecordError) as caught:
        PartitionFile.open(path, 2)
    assert caught.value.where == f"{WORLDS[0]}:3"
    assert caught.value.exit_status == 74


def test_a_closed_partition_cannot_be_written(path: Path) -> None:
    """What is closed is closed, with one of our errors."""
    partition = PartitionFile.create(path, header(), 1)
    partition.close()
    with pytest.raises(StorageError):
        partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)


def test_a_cancelled_append_has_ended(path: Path) -> None:
    """A cancelled caller leaves no half-done work: the tick is whole, and the next one follows."""

    async def check() -> None:
        writer = await PartitionWriter.create(path, header(), 1)
        batch = small_batch(writer.head)
        task = asyncio.create_task(writer.append(batch, epoch=1, log_head=NO_LOG))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if writer.head.tick < 0:
            await writer.append(batch, epoch=1, log_head=NO_LOG)
        head = await writer.append(small_batch(writer.head), epoch=1, log_head=NO_LOG)
        assert head.tick == 1
        await writer.close()

    asyncio.run(check())
