"""A call that fails is loud, a failed sync is fatal, and nothing acknowledged is lost by either."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.crash.tap import Tap
from tests.crash.workloads import NAME, born, perform
from tests.support.runs import NO_LOG, small_batch

from perdure.base.errors import EXIT_STOPPED, EXIT_STORAGE, PerdureError, StorageError
from perdure.records.events import Head
from perdure.trace import database as database_module
from perdure.trace.partition_file import PartitionFile

SHARED = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
SEQUENCE = ("small", "batch", "checkpoint", "large", "reopen", "small", "finish")
FAILURES = {
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "delete": apsw.SQLITE_IOERR_DELETE,
}


class Failing:
    """Fails the n-th call of a kind: once, or from then on."""

    def __init__(self, kind: str, place: int, *, for_good: bool) -> None:
        self.kind = kind
        self.place = place
        self.for_good = for_good
        self.met = 0
        self.failed = 0

    def __call__(self, kind: str, path: str, detail: dict[str, Any]) -> None:
        if kind != self.kind:
            return
        self.met += 1
        if self.met == self.place or (self.for_good and self.met > self.place):
            self.failed += 1
            raise apsw.exception_for(FAILURES[kind])


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder in memory, if there is such a thing."""
    with tempfile.TemporaryDirectory(dir=SHARED) as place:
        yield Path(place)


@contextmanager
def tapped(failing: Failing) -> Iterator[None]:
    """Let a disk fail, for a while."""
    tap = Tap(failing)
    try:
        yield
    finally:
        tap.unregister()


def live(folder: Path, failing: Failing) -> tuple[list[Head], list[StorageError]]:
    """Do some operations on a disk that fails; give what was acknowledged, and what failed."""
    acked: list[Head] = []
    failures: list[StorageError] = []
    with tapped(failing):
        try:
            partition = born(folder)
            for operation in SEQUENCE:
                partition = perform(partition, operation, folder / NAME, acked.append)
        except StorageError as error:
            failures.append(error)
    return acked, failures


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
def test_the_nth_failure_loses_nothing(kind: str, for_good: bool) -> None:  # noqa: FBT001
    """P1, P9: each call in turn fails; the program says so, and its successor finds it all."""
    place = loud = 0
    while True:
        place += 1
        with tempfile.TemporaryDirectory(dir=SHARED) as found:
            folder = Path(found)
            failing = Failing(kind, place, for_good=for_good)
            acked, failures = live(folder, failing)
            if not failing.failed:
                break
            loud += len(failures)
            assert all(error.exit_status in {EXIT_STORAGE, EXIT_STOPPED} for error in failures)
            if acked or (folder / NAME).exists():
                successor = PartitionFile.open(folder / NAME, 2, acked[-1] if acked else None)
                successor.append(small_batch(successor.head), epoch=2, log_head=NO_LOG)
                successor.close()
    assert place > 2
    assert loud > 0 or kind == "delete"


def test_a_failed_sync_is_fatal(folder: Path) -> None:
    """P1: after a failed sync the connection is never used again; a fresh one finds it all."""
    partition = born(folder)
    kept = partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
    partition.close()
    failing = Failing("sync", 0, for_good=False)
    with tapped(failing):
        partition = PartitionFile.open(folder / NAME, 1)
        failing.place = failing.met + 1
        with pytest.raises(StorageError, match="failed sync") as caught:
            partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
        assert caught.value.exit_status == EXIT_STORAGE
        with pytest.raises(StorageError, match="not used again"):
            partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
        with pytest.raises(StorageError, match="not used again"):
            partition.finish()
        partition.close()
    again = PartitionFile.open(folder / NAME, 2, kept)
    assert again.head.seq >= kept.seq
    again.close()


def test_a_failed_sync_of_a_checkpoint_is_fatal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1: SQLite ignores a failed sync in its own checkpoints; ours are made in the open."""
    monkeypatch.setattr(database_module, "_CHECKPOINT_PAGES", 1)
    failing = Failing("sync", 0, for_good=False)
    with tapped(failing):
        partition = born(folder)
        synced_first = failing.met
        partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
        failing.place = failing.met + (failing.met - synced_first)
        with pytest.raises(StorageError, match="failed sync"):
            partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
        with pytest.raises(StorageError, match="not used again"):
            partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
        partition.close()
    assert PartitionFile.open(folder / NAME, 2).head.tick == 1


def test_a_store_that_carries_on_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: a store that forgets its failed sync writes on, which the tests above refuse."""
    real = database_module.Database._died

    def forgetful(self: database_module.Database, error: apsw.Error) -> PerdureError:
        ours = real(self, error)
        self._dead = None
        return ours

    monkeypatch.setattr(database_module.Database, "_died", forgetful)
    failing = Failing("sync", 0, for_good=False)
    with tapped(failing):
        partition = born(folder)
        failing.place = failing.met + 1
        with pytest.raises(StorageError, match="failed sync"):
            partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
        assert partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG).tick == 0
        partition.close()
