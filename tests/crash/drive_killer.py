"""Kills the writer of a drive's ledger at every boundary between SQLite and the disk.

Run as a program, in a process that never opens a database: every writer is a fork of it, which is
safe only because there is nothing open to inherit. What a writer acknowledged before it died must
be there, in order and whole, and the next writer must come to the end of a ledger that was never
killed. That one is killed too, at some of its boundaries. Prints its counts as one line of JSON.

    python -m tests.crash.drive_killer [--plant] [--stride N] [--second-stride N]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.crash.tap import Tap
from tests.crash.telling import tell
from tests.support.drive_lines import ASKED, script

from perdure.base.errors import PerdureError
from perdure.trace.drive_file import DRIVE_NAME, DriveFile
from perdure.trace.drive_reader import DriveReader

SHARED = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
# One line of them is long enough for a log that has to be copied into the file under way.
SCRIPT = script(turns=2, padding="x" * 9_000)
ENDS = [sum(len(lines) for lines, _ in SCRIPT[: count + 1]) - 1 for count in range(len(SCRIPT))]

# The points of the ledger alone; those of the driver are killed at by test_drive_kills.py.
LEDGER_POINTS = ("drive.before-rename", "drive.before-append", "drive.after-append")

Said = Callable[[int], None]


class Left(NamedTuple):
    """What a writer left: the last line that it acknowledged, and how many boundaries it met."""

    acked: int
    boundaries: int
    killed: bool
    failed: bool


def write(folder: Path, said: Said, *, plant: bool = False) -> None:
    """Take a ledger up where it is, and write what of the script is not there yet."""
    path = folder / DRIVE_NAME
    ledger = DriveFile.open(folder) if path.exists() else DriveFile.create(folder, ASKED)
    for end, (lines, blobs) in zip(ENDS, SCRIPT, strict=True):
        if ledger.head.seq >= end:
            continue
        if plant:
            said(end)  # the planted bug: acknowledged before it is durable
        ledger.append(lines, blobs)
        said(ledger.head.seq)
        if end == ENDS[2]:
            ledger._database.empty_log()
    ledger.finish()
    ledger.close()


def fork(folder: Path, kill_at: int = 0, *, plant: bool = False) -> Left:
    """Write in a fork that dies before a boundary, and hear what it acknowledged."""
    heard, saying = os.pipe()
    child = os.fork()  # noqa: TID251 - nothing is open in this process: see the top
    if child == 0:
        os.close(heard)
        _be_child(folder, saying, kill_at, plant=plant)
    os.close(saying)
    parts = []
    while part := os.read(heard, 1 << 16):
        parts.append(part)
    os.close(heard)
    _, status = os.waitpid(child, 0)
    words = b"".join(parts).decode().split()
    acked = [int(word[1:]) for word in words if word.startswith("a")]
    met = [int(word[1:]) for word in words if word.startswith("b")]
    failed = os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
    return Left(acked[-1] if acked else -1, met[-1] if met else 0, os.WIFSIGNALED(status), failed)


def _be_child(folder: Path, saying: int, kill_at: int, *, plant: bool) -> None:
    status, met = 1, 0

    def boundary(kind: str, _path: str, _detail: dict[str, Any]) -> None:
        nonlocal met
        if kind == "create":
            return
        met += 1
        if met == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        tap = Tap(boundary)
        write(folder, lambda seq: _say(saying, f"a{seq}"), plant=plant)
        _say(saying, f"b{met}")
        tap.unregister()
        status = 0
    except BaseException:  # noqa: BLE001 - a fork must never return into its parent's code
        traceback.print_exc()
    finally:
        os._exit(status)


def _say(saying: int, word: str) -> None:
    os.write(saying, f"{word} ".encode())


def missing(folder: Path, acked: int) -> str:
    """Say what of the acknowledged is not there, or is there and was not written whole."""
    if not (folder / DRIVE_NAME).exists():
        return "there is no ledger" if acked >= 0 else ""
    wanted = [line for lines, _ in SCRIPT for line in lines]
    with DriveReader.open(folder) as reader:
        head = reader.verify()
        found = [one.line for one in reader.lines()]
    if found != wanted[: len(found)]:
        return "its lines are not a beginning of what was written"
    if head.seq not in {-1, *ENDS}:
        return f"it ends with line {head.seq}, in the middle of what was appended together"
    return "" if head.seq >= acked else f"it ends with line {head.seq}, not {acked}"


class Suite:
    """Kills writers, and counts what is lost."""

    def __init__(self, root: Path, *, plant: bool) -> None:
        self.root = root
        self.plant = plant
        self.kills = self.second_kills = self.lost = 0
        whole = self.fresh("whole")
        self.boundaries = fork(whole).boundaries
        self.end = self.chain(whole)

    def fresh(self, name: str) -> Path:
        """Give an empty folder."""
        folder = self.root / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def chain(self, folder: Path) -> str:
        """Give the chain of a ledger."""
        with DriveReader.open(folder) as reader:
            return reader.verify().chain

    def kill(self, at: int, second_stride: int) -> None:
        """Kill a writer at a boundary, look, and go on to the end."""
        folder = self.fresh("place")
        left = fork(folder, at, plant=self.plant)
        self.kills += left.killed
        self.look(folder, left.acked, f"killed at {at}")
        kept = self.fresh("kept")
        shutil.rmtree(kept)
        shutil.copytree(folder, kept)
        whole = self.go_on(folder, f"killed at {at}")
        if second_stride:
            for again in range(1 + at % second_stride, whole.boundaries + 1, second_stride):
                tried = self.fresh("tried")
                shutil.rmtree(tried)
                shutil.copytree(kept, tried)
                second = fork(tried, again)
                self.second_kills += second.killed
                where = f"killed at {at}, then at {again}"
                self.look(tried, max(second.acked, left.acked), where)
                self.go_on(tried, where)

    def go_on(self, folder: Path, where: str) -> Left:
        """Write the rest, and compare its end with that of a ledger that was never killed."""
        ended = fork(folder)
        if ended.failed or self.chain(folder) != self.end:
            self.lose(f"{where}: what was written after it comes to another end")
        return ended

    def look(self, folder: Path, acked: int, where: str) -> None:
        """Look whether all is there."""
        try:
            wrong = missing(folder, acked)
        except PerdureError as error:
            wrong = str(error)
        if wrong:
            self.lose(f"{where}: {wrong}")

    def lose(self, where: str) -> None:
        """Count a loss, and tell the first."""
        self.lost += 1
        if self.lost <= 3 and not self.plant:
            sys.stderr.write(f"lost: {where}\n")


def main() -> None:
    """Kill at boundaries."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", action="store_true")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--second-stride", type=int, default=0)
    asked = parser.parse_args()
    gc.freeze()
    with tempfile.TemporaryDirectory(dir=SHARED) as root:
        suite = Suite(Path(root), plant=asked.plant)
        for at in range(1, suite.boundaries + 1, asked.stride):
            suite.kill(at, asked.second_stride)
    told = {
        "boundaries": suite.boundaries,
        "kills": suite.kills,
        "second_kills": suite.second_kills,
        "lost": suite.lost,
    }
    tell(json.dumps(told))


if __name__ == "__main__":
    main()
