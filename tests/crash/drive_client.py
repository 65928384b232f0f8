"""Writes the ledger of a drive as a process that dies at a crash point, or on a full disk.

    python -m tests.crash.drive_client play FOLDER           to the end, from wherever it is
    python -m tests.crash.drive_client fill FOLDER BYTES     under a limit on the size of files

Prints what came of it as one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from tests.crash.drive_killer import write
from tests.crash.telling import tell
from tests.support.drive_lines import ASKED, script

from perdure.base.errors import PerdureError, StorageFullError
from perdure.trace.drive_file import DriveFile
from perdure.trace.drive_reader import DriveReader


def play(folder: Path) -> dict[str, Any]:
    """Write a whole ledger."""
    acked: list[int] = []
    write(folder, acked.append)
    with DriveReader.open(folder) as reader:
        return {"acked": acked, "chain": reader.verify().chain}


def fill(folder: Path, size: int) -> dict[str, Any]:
    """Append until there is no room; then make some, and append the very same again."""
    appends = script(turns=60, padding="x" * 4_000)
    _limit(size)
    errors: list[PerdureError] = []
    moved = False
    try:
        ledger = DriveFile.create(folder, ASKED)
    except StorageFullError as error:
        errors.append(error)
        _limit(resource.RLIM_INFINITY)
        ledger = DriveFile.create(folder, ASKED)
    for lines, blobs in appends:
        before = ledger.head
        try:
            ledger.append(lines, blobs)
        except StorageFullError as error:
            errors.append(error)
            moved |= ledger.head != before
            with DriveReader.open(folder) as reader:
                moved |= reader.verify() != before
            _limit(resource.RLIM_INFINITY)
            ledger.append(lines, blobs)
    ledger.close()
    with DriveReader.open(folder) as reader:
        reader.verify()
        found = [one.line for one in reader.lines()]
    wanted = [line for lines, _ in appends for line in lines]
    statuses = [error.exit_status for error in errors]
    return {"statuses": statuses, "moved": moved, "whole": found == wanted}


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def main() -> None:
    """Do what is asked."""
    kind, folder, *size = sys.argv[1:]
    told = play(Path(folder)) if kind == "play" else fill(Path(folder), int(size[0]))
    tell(json.dumps(told))


if __name__ == "__main__":
    main()
