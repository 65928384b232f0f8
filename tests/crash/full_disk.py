"""Fills a disk with a run and says what was acknowledged; then, with room again, goes on.

    python -m tests.crash.full_disk limit BYTES      a limit on the size of files
    python -m tests.crash.full_disk disk BYTES       a disk of that size, in a mount of its own

Prints one line of JSON: what failed and how, what was acknowledged, what was there afterwards.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.crash.telling import tell
from tests.crash.workloads import HORIZON, NAME, born
from tests.support.runs import (
    HELD_OUT,
    PERSONAS,
    WORLDS,
    entry,
    full_batch,
    outcome_of,
    world_entry,
)

from perdure.base.errors import PerdureError
from perdure.records.registry import RunPaused
from perdure.trace.partition_file import PartitionFile
from perdure.trace.registry_file import RegistryFile
from perdure.trace.verify import verify

_SPACE_BACK = 64 * 1024 * 1024


class Filled:
    """What a run came to on a disk that became full."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.statuses: list[int] = []
        self.acked = -1
        self.paused = False


def fill(folder: Path) -> Filled:
    """Write ticks until there is no room, and say in the run log that there is none."""
    filled = Filled()
    try:
        registry = RegistryFile.create(
            folder,
            entry=entry(),
            worlds=[world_entry(WORLDS[0], HORIZON)],
            personas=PERSONAS,
            held_out=HELD_OUT,
        )
    except PerdureError as error:
        _note(filled, error)
        return filled
    try:
        partition = born(folder / "worlds")
        registry.witness({WORLDS[0]: partition.head})
        while partition.head.tick < HORIZON - 2:
            batch = full_batch(partition.head, HORIZON, padding=3_000, with_rungs=False)
            head = partition.append(batch, epoch=1, log_head=registry.log_head)
            filled.acked = head.seq
            registry.witness(
                {WORLDS[0]: head}, [outcome_of(WORLDS[0], head, HORIZON, with_rungs=False)]
            )
    except PerdureError as error:
        _note(filled, error)
        try:
            registry.log(RunPaused(cause=error.wrong, exit_status=error.exit_status))
            filled.paused = True
        except PerdureError as second:
            _note(filled, second)
    return filled


def go_on(folder: Path, acked: int) -> dict[str, Any]:
    """Take the run up again once there is room, and add a tick."""
    registry = RegistryFile.open(folder)
    partition = PartitionFile.open(
        folder / "worlds" / NAME, registry.epoch, registry.witnesses[WORLDS[0]]
    )
    found = partition.head.seq
    batch = full_batch(partition.head, HORIZON, with_rungs=False)
    head = partition.append(batch, epoch=registry.epoch, log_head=registry.log_head)
    registry.witness({WORLDS[0]: head}, [outcome_of(WORLDS[0], head, HORIZON, with_rungs=False)])
    partition.close()
    registry.close()
    report = verify(folder)
    return {
        "found": found,
        "kept": found >= acked,
        "went_on": head.seq > found,
        "sound": report.is_sound,
        "findings": [str(one) for one in report.every_finding],
    }


def main() -> None:
    """Fill, tell, give room, go on, tell."""
    kind, size = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        if kind == "disk":
            mount(Path(place), size)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        filled = fill(folder)
        if kind == "disk":
            command("mount", "-o", f"remount,size={_SPACE_BACK}", place)
        else:
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
        born_at_all = (folder / "worlds" / NAME).exists()
        after = go_on(folder, filled.acked) if born_at_all else {"kept": filled.acked < 0}
        if kind == "disk":
            command("umount", "--lazy", place)
    tell(json.dumps({**vars(filled), **after}))


def mount(place: Path, size: int) -> None:
    """Put a disk of this size into a folder."""
    command("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
    os.chdir("/")


def command(*words: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(words, check=True, capture_output=True)


def _note(filled: Filled, error: PerdureError) -> None:
    filled.errors.append(str(error))
    filled.statuses.append(error.exit_status)


if __name__ == "__main__":
    main()
