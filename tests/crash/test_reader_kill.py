"""P1 and P11 for readers: what a kill left is read whole before any writer has mended it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.crash.workloads import NAME, born
from tests.support.runs import WORLDS

from perdure.base.errors import DamagedRecordError, StorageError
from perdure.trace import copying, opening
from perdure.trace.database import Database
from perdure.trace.rows import read_head, read_header
from perdure.trace.sql_rows import SqlWorld
from perdure.trace.walk import Walker, walked

ROOT = Path(__file__).resolve().parents[2]
COPIES = 150
COPIES_OF_CONTROL = 1_500

pytestmark = pytest.mark.timeout(120)


def run_killer(*arguments: str) -> dict[str, Any]:
    """Run the killer in a process of its own, which never has a database open when it forks."""
    command = [sys.executable, "-m", "tests.crash.reader_killer", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    counts: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return {**counts, "said": ended.stderr}


def test_a_reader_reads_what_a_kill_left_and_leaves_it_alone() -> None:
    """P1: a record, a registry and a call journal, each killed at every boundary of its end."""
    counts = run_killer()
    assert counts["kills"] >= 50
    assert counts["hot"] >= 9, "no kill left a rollback to be done"
    assert (counts["unread"], counts["touched"], counts["lost"]) == (0, 0, 0), counts["said"]


def test_the_killer_catches_a_reader_without_a_copy() -> None:
    """Control: a reader that only reads in place cannot read what waits for a rollback."""
    counts = run_killer("--plant", "never-copies")
    assert counts["unread"] >= counts["hot"] >= 9


def test_the_killer_catches_a_reader_that_mends_in_place() -> None:
    """Control: a reader that recovers the run itself is seen to write into its folder."""
    counts = run_killer("--plant", "recovers-in-place")
    assert counts["touched"] >= 9


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Have another process write a partition; give it, and what was acknowledged."""
    born(tmp_path).close()
    command = [sys.executable, "-m", "tests.crash.busy_writer", str(tmp_path)]
    log = tmp_path / "acknowledged"
    with log.open("wb") as out:
        writer = subprocess.Popen(command, cwd=ROOT, stdout=out)
    try:
        while not log.stat().st_size:
            assert writer.poll() is None
        yield tmp_path / NAME, log
        assert writer.poll() is None, "the writer met a reader in its way"
    finally:
        writer.kill()
        writer.wait()


def acknowledged(log: Path) -> int:
    """Give the last event that the writer has acknowledged."""
    return int(log.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2])


def copy_under_way(path: Path, log: Path, *, copies: int = COPIES) -> tuple[int, int]:
    """Copy a file that is being written, again and again; count sound copies and torn ones."""
    sound = torn = 0
    for _ in range(copies):
        if torn:
            break
        known = acknowledged(log)
        try:
            connection = opening._connect_to_copy(path)
            if connection is None:
                continue
            database = Database(connection, path)
            rows = SqlWorld(database)
            stored, _ = read_head(rows)
            walker = Walker(WORLDS[0], read_header(rows))
            for _ in walked(walker, rows.rows(stored.seq), stored, None):
                pass
            database.close()
        except (DamagedRecordError, StorageError, apsw.Error):
            torn += 1
        else:
            sound += stored.seq >= known
            torn += stored.seq < known
    return sound, torn


def test_a_copy_is_never_torn(busy) -> None:
    """P2: what is copied from under a writer holds all that was acknowledged before, whole."""
    sound, torn = copy_under_way(*busy)
    assert torn == 0
    assert sound > 0


def test_the_race_catches_a_copy_that_is_read_once(busy, monkeypatch) -> None:
    """Control: without the second reading, some copies are torn."""

    def copied_once(path: Path, target: Path) -> bool:
        return read(path, target) is not None

    read = copying._read
    monkeypatch.setattr(copying, "copy_still", copied_once)
    _, torn = copy_under_way(*busy, copies=COPIES_OF_CONTROL)
    assert torn > 0
