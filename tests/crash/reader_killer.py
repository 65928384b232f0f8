"""Kills a writer at every boundary of ending a file, and has a reader come before its successor.

Run as a program, in a process that has nothing open when it forks. Prints its counts as one line of
JSON.

    python -m tests.crash.reader_killer [--plant NAME]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw
from tests.crash.journal_workloads import Life
from tests.crash.killer import Counter, fork
from tests.crash.tap import Tap
from tests.crash.telling import tell
from tests.crash.workloads import HORIZON, NAME, append, born
from tests.support.runs import HELD_OUT, PERSONAS, WORLDS, entry, world_entry

from perdure.base.errors import PerdureError
from perdure.records.registry import RunPaused
from perdure.trace import opening
from perdure.trace.journal_file import JOURNAL_NAME, JournalFile
from perdure.trace.journal_reader import read_journal
from perdure.trace.opening import open_reader
from perdure.trace.partition_file import PartitionFile
from perdure.trace.registry_file import REGISTRY_NAME, RegistryFile
from perdure.trace.registry_rows import read_entry, read_worlds
from perdure.trace.rows import read_head, read_header
from perdure.trace.run_log import read_log
from perdure.trace.schema import PARTITION, REGISTRY
from perdure.trace.sql_rows import SqlRegistry, SqlWorld
from perdure.trace.walk import Walker, walked

Ended = PartitionFile | RegistryFile | JournalFile


class Subject(NamedTuple):
    """A file: how it is written until it may end, read, and taken up by a successor."""

    name: str
    write: Callable[[Path], Ended]
    read: Callable[[Path], object]
    take_up: Callable[[Path], Ended]


def write_partition(folder: Path) -> PartitionFile:
    """Write some ticks into a partition."""
    partition = born(folder)
    for operation in ("batch", "large", "small"):
        append(partition, operation, lambda _: None)
    return partition


def read_partition(folder: Path) -> object:
    """Read all of a partition as a reader does, checked."""
    database = open_reader(folder / NAME, PARTITION)
    try:
        rows = SqlWorld(database)
        stored, _ = read_head(rows)
        walker = Walker(WORLDS[0], read_header(rows))
        return list(walked(walker, rows.rows(stored.seq), stored, None))
    finally:
        database.close()


def write_registry(folder: Path) -> RegistryFile:
    """Write a word into the log of a registry."""
    registry = RegistryFile.create(
        folder,
        entry=entry(),
        worlds=[world_entry(WORLDS[0], HORIZON)],
        personas=PERSONAS,
        held_out=HELD_OUT,
    )
    registry.log(RunPaused(cause="A trial.", exit_status=75))
    return registry


def read_registry(folder: Path) -> object:
    """Read the log of a registry, without what its successors added."""
    database = open_reader(folder / REGISTRY_NAME, REGISTRY)
    try:
        rows = SqlRegistry(database)
        payload, found = read_entry(rows)
        return found, read_worlds(rows), read_log(rows, payload)[:2]
    finally:
        database.close()


def write_journal(folder: Path) -> JournalFile:
    """Write calls into a journal, some of which are of no use any more."""
    life = Life(JournalFile.create(folder, 1), folder, lambda _: None)
    life.begin()
    for operation in ("both", "next", "large"):
        life.perform(operation)
    return life.file


SUBJECTS = (
    Subject(NAME, write_partition, read_partition, lambda folder: _open(folder / NAME)),
    Subject(REGISTRY_NAME, write_registry, read_registry, RegistryFile.open),
    Subject(JOURNAL_NAME, write_journal, read_journal, lambda folder: JournalFile.open(folder, 2)),
)


def _open(path: Path) -> PartitionFile:
    return PartitionFile.open(path, 2)


class Suite:
    """Kills, reads, and counts what a reader could not see or did not leave as it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kills = self.hot = self.unread = self.touched = self.lost = 0
        self.said: list[str] = []

    def run(self, subject: Subject) -> None:
        """Kill the end of one file at every boundary."""
        whole = fork(lambda _, counter: self._end(subject, counter))
        assert not whole.failed
        expected = subject.read(self.folder / "place")
        assert expected
        for kill_at in range(1, whole.boundaries + 1):
            left = fork(lambda _, counter: self._end(subject, counter), kill_at)
            self.kills += left.killed
            self._check(subject, expected, f"{subject.name} killed at {kill_at}")

    def _end(self, subject: Subject, counter: Counter) -> None:
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        counter.tap = Tap(counter)
        counter.is_on = False  # only the end is what is killed here
        file = subject.write(place)
        counter.is_on = True
        file.finish()
        file.close()

    def _check(self, subject: Subject, expected: object, where: str) -> None:
        place = self.folder / "place"
        self.hot += is_hot(place / subject.name)
        before = contents(place)
        for _ in range(2):
            try:
                self.unread += subject.read(place) != expected
            except PerdureError as error:
                self.unread += 1
                self.said.append(f"{where}: {error}")
        if contents(place) != before:
            self.touched += 1
            self.said.append(f"{where}: a reader changed the folder")
        try:
            subject.take_up(place).close()
            self.lost += subject.read(place) != expected or is_hot(place / subject.name)
        except PerdureError as error:
            self.lost += 1
            self.said.append(f"{where}: {error}")


def is_hot(path: Path) -> bool:
    """Say whether a file cannot be read before a rollback; looks at a copy of its own."""
    if not path.with_name(path.name + "-journal").exists():
        return False
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-journal", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, f"{copy}{suffix}")
        connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.execute("PRAGMA application_id").fetchall()
        except apsw.ReadOnlyError as error:
            return bool(getattr(error, "extendedresult", 0) == apsw.SQLITE_READONLY_ROLLBACK)
        finally:
            connection.close()
    return False


def contents(folder: Path) -> dict[str, bytes]:
    """Give all that is kept in a folder: not the index of a log, and not a log without a commit."""
    found = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if data and not name.endswith("-shm")}


def sow(plant: str) -> None:
    """Put in a bug that the suite must find."""
    if plant == "never-copies":
        opening._connect_to_copy = _refuse
    elif plant == "recovers-in-place":
        opening._connect_to_copy = _recover_in_place


def _refuse(path: Path) -> apsw.Connection | None:
    return None


def _recover_in_place(path: Path) -> apsw.Connection | None:
    apsw.Connection(str(path)).execute("PRAGMA application_id").fetchall()
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


def main() -> None:
    """Run the suite and print its counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", default="")
    sow(parser.parse_args().plant)
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        suite = Suite(Path(folder))
        for subject in SUBJECTS:
            suite.run(subject)
    sys.stderr.write("\n".join(suite.said[:5]))
    counts = ("kills", "hot", "unread", "touched", "lost")
    tell(json.dumps({name: getattr(suite, name) for name in counts}))


if __name__ == "__main__":
    main()
