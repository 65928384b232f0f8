"""P2 for a log that is cut short or flipped: a whole beginning, never less than its witness."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.crash.telling import tell
from tests.crash.workloads import NAME

from perdure.base.chance import Stream
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.trace.partition_file import PartitionFile
from perdure.trace.walk import Walker

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("PERDURE_CRASH") == "full"
TICKS = 9
CUT_STRIDE = 1 if FULL else 131
FLIPS = 10_000 if FULL else 500
FRAME_BYTES = 4096 + 24
LOG_HEADER_BYTES = 32

pytestmark = pytest.mark.timeout(3_600 if FULL else 300)


class Left(NamedTuple):
    """What a writer left that never closed: its file, its log, and its heads tick by tick."""

    database: bytes
    log: bytes
    heads: list[Head]


class Tally:
    """Counts what became of damaged logs."""

    def __init__(self) -> None:
        self.whole = self.shorter = self.named = self.silent = 0

    def count_named(self, error: DamagedRecordError) -> None:
        """Count a refusal that says where and what."""
        self.named += bool(error.where and error.wrong)

    def __str__(self) -> str:
        return (
            f"whole {self.whole}, a witnessed beginning {self.shorter}, named {self.named},"
            f" undetected: {self.silent}"
        )


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """Have a writer write, in a process of its own, and end without closing."""
    folder = tmp_path_factory.mktemp("left")
    command = [sys.executable, "-m", "tests.crash.leave_log", str(folder), str(TICKS)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    heads = msgspec.json.decode(ended.stdout, type=list[Head])
    path = folder / NAME
    return Left(path.read_bytes(), path.with_name(f"{NAME}-wal").read_bytes(), heads)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder in memory, if there is such a thing: these tests write a great deal."""
    shared = Path("/dev/shm")
    if not shared.is_dir():
        yield tmp_path_factory.mktemp("place")
        return
    folder = shared / f"perdure-{os.getpid()}"
    folder.mkdir()
    yield folder
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def look(place: Path, left: Left, log: bytes, witness: Head | None, tally: Tally) -> None:
    """Open a file with a damaged log as its next writer does, and count what that finds."""
    path = place / NAME
    path.write_bytes(left.database)
    path.with_name(f"{NAME}-wal").write_bytes(log)
    path.with_name(f"{NAME}-shm").unlink(missing_ok=True)
    try:
        partition = PartitionFile.open(path, 2, witness)
    except DamagedRecordError as error:
        tally.count_named(error)
        return
    head = partition.head
    partition.close()
    if head == left.heads[-1]:
        tally.whole += 1
    elif head in left.heads and witness is not None and head.seq >= witness.seq:
        tally.shorter += 1
    else:
        tally.silent += 1


def cuts(log: bytes) -> list[int]:
    """Give where to cut a log: around every frame's edge and, at full size, everywhere."""
    edges = range(LOG_HEADER_BYTES, len(log) + 1, FRAME_BYTES)
    near = {edge + offset for edge in edges for offset in (-1, 0, 1, 24)}
    return sorted({cut for cut in near | set(range(0, len(log), CUT_STRIDE)) if cut <= len(log)})


def flipped(data: bytes, stream: Stream) -> bytes:
    """Flip one bit somewhere."""
    place = stream.below(len(data) * 8)
    changed = bytearray(data)
    changed[place // 8] ^= 1 << (place % 8)
    return bytes(changed)


def test_a_log_cut_anywhere_is_a_beginning(left: Left, place: Path, record_property) -> None:
    """P2: cut at any byte, the record is a whole beginning; below its witness, it is refused."""
    tally, middle = Tally(), left.heads[TICKS // 2]
    found = cuts(left.log)
    for cut in found:
        look(place, left, left.log[:cut], left.heads[-1], tally)
        look(place, left, left.log[:cut], middle, tally)
    tell(f"logs cut: {2 * len(found)}, {tally}")
    record_property("cuts", 2 * len(found))
    assert tally.silent == 0
    assert min(tally.whole, tally.shorter, tally.named) > 0


def test_a_flipped_bit_in_a_log_is_found(left: Left, place: Path, record_property) -> None:
    """P2: a flipped bit in the log never shortens history below its witness unnoticed."""
    tally, stream = Tally(), Stream("0" * 16, 0, "log flips")
    for _ in range(FLIPS):
        look(place, left, flipped(left.log, stream), left.heads[-1], tally)
    tell(f"log flips: {FLIPS}, {tally}")
    record_property("flips", FLIPS)
    assert tally.silent == 0
    assert tally.named > 0


def test_without_its_witness_history_would_be_shortened(left: Left, place: Path) -> None:
    """Control: with the witness ignored, the same damage shortens history without a word."""
    tally, stream = Tally(), Stream("0" * 16, 0, "log flips")
    for _ in range(40):
        look(place, left, flipped(left.log, stream), None, tally)
    assert tally.silent > 0


def test_with_the_witness_check_skipped_the_suite_fails(
    left: Left, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: a store that is given the witness and does not look at it is caught."""
    finish = Walker.finish
    monkeypatch.setattr(Walker, "finish", lambda self, stored, _: finish(self, stored, None))
    tally, stream = Tally(), Stream("0" * 16, 0, "log flips")
    for _ in range(40):
        look(place, left, flipped(left.log, stream), left.heads[-1], tally)
    assert tally.silent > 0
