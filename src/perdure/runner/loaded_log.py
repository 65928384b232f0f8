"""Which modules the processes of a run really loaded, in `logs/loaded.jsonl`.

What was found in the source is what a run is compared with; this is the other half, for
`perdure closure`: each process writes what it had loaded when it began to work, and what came to
that when a part of its work ended. It is a log, outside every hash; where it cannot be written, the
run goes on.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Literal

import msgspec

from perdure.closure.running import Loaded, loaded_now
from perdure.records.record import Record
from perdure.runner.failure_log import LOGS_NAME

LOADED_NAME = "loaded.jsonl"
_BYTES_MAX = 256 * 1024 * 1024


class LoadedRow(Record):
    """What a process has loaded and nobody had yet told, at the start or the end of some work."""

    process: Literal["governor", "worker"]
    at: Literal["start", "end"]
    python: str
    modules: dict[str, Loaded]


class LoadedLog:
    """The list of one process."""

    def __init__(self, folder: Path, process: Literal["governor", "worker"]) -> None:
        """Make the list of this process, in a run's folder."""
        self._path = folder / LOGS_NAME / LOADED_NAME
        self._process = process
        self._told: dict[str, Loaded] = {}
        # What an earlier sitting told need not be told again: a run may have many.
        self._recorded = read_loaded(folder)

    def note(self, at: Literal["start", "end"]) -> None:
        """Write what was loaded since the last time."""
        try:
            fresh = loaded_now(sys.modules, self._told)
            row = LoadedRow(
                process=self._process,
                at=at,
                python=platform.python_version(),
                modules={n: one for n, one in fresh.items() if self._recorded.get(n) != one},
            )
            self._path.parent.mkdir(exist_ok=True)
            # In one write, so that the lines of several processes stay whole.
            end = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                os.write(end, msgspec.json.encode(row) + b"\n")
            finally:
                os.close(end)
        except (OSError, MemoryError, UnicodeEncodeError):
            return  # the run does not depend on it
        self._told |= fresh


def read_loaded(folder: Path) -> dict[str, Loaded]:
    """Read what the processes of a run loaded: each module as it was first seen.

    What the record began with is what it is to be compared with. A line that was cut off by a kill
    is left out; without a list, nothing is known.
    """
    found: dict[str, Loaded] = {}
    try:
        with (folder / LOGS_NAME / LOADED_NAME).open("rb") as file:
            lines = file.read(_BYTES_MAX).split(b"\n")
    except OSError:
        return found
    for line in lines:
        try:
            found = msgspec.json.decode(line, type=LoadedRow).modules | found
        except msgspec.MsgspecError:
            continue
    return found
