"""Reads a run on a disk of its own that has no room, or may not be written. Prints what it found.

python -m tests.crash.full_reader DISK LEFT ELSEWHERE [--plant NAME]

DISK is `full` or `read-only`; LEFT is how the run was left: `closed`, `no-index` (a log without its
index) or `hot` (killed as its first partition left the log). ELSEWHERE is a folder for temporary
files, or `nowhere`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.crash.full_disk import command, mount
from tests.crash.killer import Counter, fork
from tests.crash.reader_killer import contents, is_hot, sow
from tests.crash.tap import Tap
from tests.crash.telling import tell
from tests.crash.workloads import NAME
from tests.support.runs import make_run

from perdure.base.errors import PerdureError
from perdure.trace import copying
from perdure.trace.opening import open_reader
from perdure.trace.partition_file import PartitionFile
from perdure.trace.schema import PARTITION
from perdure.trace.verify import verify

_SIZE = 8 * 1024 * 1024


def leave(folder: Path, left: str) -> None:
    """Make a run, and leave it as asked."""
    make_run(folder, horizon=5, finish=False)
    path = folder / "worlds" / NAME
    if left == "no-index":
        fork(lambda _, __: _open_and_die(path))
        for index in folder.rglob("*-shm"):
            index.unlink()
        assert path.with_name(f"{NAME}-wal").stat().st_size
    elif left == "hot":
        assert any(_is_left_hot(path, kill_at) for kill_at in range(1, 100))


def _is_left_hot(path: Path, kill_at: int) -> bool:
    fork(lambda _, counter: _end(path, counter), kill_at)
    return is_hot(path)


def _open_and_die(path: Path) -> None:
    partition = PartitionFile.open(path, 2)
    os._exit(partition.epoch)


def _end(path: Path, counter: Counter) -> None:
    counter.tap = Tap(counter)
    PartitionFile.open(path, 1).finish()


def fill(folder: Path) -> None:
    """Leave no byte free."""
    with (folder / "filler").open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


def main() -> None:
    """Leave a run, take the room away, read, tell."""
    disk, left, elsewhere = sys.argv[1:4]
    sow(sys.argv[5] if len(sys.argv) > 5 else "")
    with tempfile.TemporaryDirectory() as place:
        mount(Path(place), _SIZE)
        run = Path(place) / "run"
        leave(run, left)
        if disk == "full":
            fill(Path(place))
        else:
            command("mount", "-o", "remount,ro", place)
        found = [Path(place)] if elsewhere == "nowhere" else [Path(elsewhere)]
        copying.places = lambda _: found  # type: ignore[assignment]
        before = contents(run)
        report = verify(run)
        told: dict[str, Any] = {
            "sound": report.is_sound,
            "findings": [str(one) for one in report.every_finding],
            "untouched": contents(run) == before,
            "status": 0,
        }
        try:
            open_reader(run / "worlds" / NAME, PARTITION).close()
        except PerdureError as error:
            told["status"], told["said"] = error.exit_status, str(error)
        command("umount", "--lazy", place)
    tell(json.dumps(told))


if __name__ == "__main__":
    main()
