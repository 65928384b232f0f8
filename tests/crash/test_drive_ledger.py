"""P1, P2 for a drive's ledger: killed anywhere, cut off or without room, it loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.crash.drive_killer import ENDS, LEDGER_POINTS, SHARED, missing, write
from tests.crash.powercut import Change, Recorder, State, states
from tests.crash.telling import tell

from perdure.base.errors import EXIT_STOPPED, PerdureError
from perdure.trace import opening
from perdure.trace.database import Database
from perdure.trace.drive_reader import DriveReader

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("PERDURE_CRASH") == "full"
KIB = 1024
LIMITS = range(16, 1_024, 12) if FULL else (16, 40, 120, 400)
# A state in this many is tried, at quick size.
STRIDE = 1 if FULL else 9

pytestmark = pytest.mark.timeout(3_600 if FULL else 300)


def program(module: str, *words: str, crash_at: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program of the suite in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", f"tests.crash.{module}", *words],
        cwd=ROOT,
        env={**os.environ, "PERDURE_CRASH_AT": crash_at},
        capture_output=True,
        text=True,
        check=False,
        timeout=3_000,
    )


def told(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Read what a program that ended well tells."""
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return {**found, "said": ended.stderr}


def test_a_writer_killed_anywhere_loses_nothing() -> None:
    """P1, P2: at every boundary to the disk, and its successor's too; the end is the same."""
    size = ("--second-stride", "5") if FULL else ("--stride", "7", "--second-stride", "60")
    found = told(program("drive_killer", *size))
    tell(f"kills of a drive's ledger: {found['kills']}, then {found['second_kills']}")
    assert found["lost"] == 0, found["said"]
    assert found["boundaries"] > 100
    assert found["kills"] >= (100 if FULL else 15)
    assert found["second_kills"] >= (1_000 if FULL else 10)


def test_a_writer_that_says_too_early_is_caught() -> None:
    """Control: lines that are acknowledged before they are durable are missed."""
    assert told(program("drive_killer", "--plant", "--stride", "11"))["lost"] > 0


@pytest.mark.parametrize("point", LEDGER_POINTS)
def test_a_ledger_goes_on_after_every_crash_point(tmp_path: Path, point: str) -> None:
    """P1: each point is met, and whoever comes next writes the rest: once, and in order."""
    whole = told(program("drive_client", "play", str(tmp_path / "whole")))
    assert whole["acked"] == ENDS
    for hit in (1,) if point == "drive.before-rename" else (1, 4, len(ENDS)):
        folder = tmp_path / str(hit)
        died = program("drive_client", "play", str(folder), crash_at=f"{point}:{hit}")
        assert died.returncode == -9, died.stderr
        again = told(program("drive_client", "play", str(folder)))
        written = hit - (point != "drive.after-append") if point != "drive.before-rename" else 0
        assert again["acked"] == ENDS[written:]
        assert again["chain"] == whole["chain"]


@pytest.mark.parametrize("size", LIMITS)
def test_a_full_disk_writes_nothing_and_can_be_tried_again(tmp_path: Path, size: int) -> None:
    """F7: without room nothing of an append is there; with room the very same one is written."""
    found = told(program("drive_client", "fill", str(tmp_path / "drive"), str(size * KIB)))
    assert found["statuses"] == [EXIT_STOPPED]
    assert not found["moved"]
    assert found["whole"]


def record() -> list[Change]:
    """Write a ledger and give everything that it did to the disk, in order."""
    with tempfile.TemporaryDirectory(dir=SHARED) as folder:
        root = Path(folder)
        with Recorder() as recorder:
            write(root, recorder.ack)
    return [change.under(root) for change in recorder.changes]


def lost_in(state: State) -> str:
    """Open what a disk holds after a power cut, and say what is not there."""
    with tempfile.TemporaryDirectory(dir=SHARED) as folder:
        root = Path(folder)
        for path, data in state.files.items():
            (root / path).write_bytes(data)
        acked = -1 if state.acked is None else int(state.acked)
        try:
            wrong = missing(root, acked)
            write(root, lambda _: None)
            with DriveReader.open(root) as reader:
                wrong = wrong or ("" if reader.verify().seq == ENDS[-1] else "it does not go on")
        except PerdureError as error:
            wrong = str(error)
    return f"{state.how}: {wrong}" if wrong else ""


def test_a_power_cut_loses_nothing() -> None:
    """P1: whatever of the unsynced a disk keeps, torn or not, what was acknowledged is there."""
    found = list(islice(states(record()), 0, None, STRIDE))
    losses = [wrong for state in found if (wrong := lost_in(state))]
    tell(f"power cuts of a drive's ledger: {len(found)} states, lost: {len(losses)}")
    assert losses == []
    assert len(found) > (300 if FULL else 30)


def test_a_store_that_does_not_sync_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: the same states lose lines where commits are not on the disk."""

    def careless(database: Database) -> None:
        database.execute("PRAGMA synchronous = OFF")
        database.fetch_one("PRAGMA journal_mode = WAL")

    monkeypatch.setattr(opening, "make_durable", careless)
    found = islice(states(record()), 0, None, 3)
    assert any(lost_in(state) for state in found)
