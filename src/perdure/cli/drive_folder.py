"""Which folders hold a drive: those commands that take a run's folder take these too."""

from __future__ import annotations

import os
from pathlib import Path

from perdure.base.errors import UsageError

# As `perdure.trace.drive_file` has it, which is heavy.
DRIVE_NAME = "drive.db"


def holds_drive(folder: Path) -> bool:
    """Say whether a folder holds a drive."""
    return (folder / DRIVE_NAME).is_file()


def require_drive(folder: Path) -> None:
    """Refuse a folder that holds no drive.

    Raises:
        UsageError: it holds none.

    """
    if not holds_drive(folder):
        raise UsageError(
            "There is no drive in this folder.",
            where=str(folder),
            remedy="`perdure drive TASK --out DIR` begins one.",
        )


def require_place(folder: Path) -> None:
    """Refuse a folder to be made that cannot be one: it, or what it is to be in, is a file.

    Raises:
        UsageError: there is a file.

    """
    for place in (folder, *folder.parents):
        if place.is_dir():
            return
        if os.path.lexists(place):
            raise UsageError(
                "The drive's folder is no folder."
                if place == folder
                else "The drive's folder is to be in what is no folder.",
                where=str(place),
                remedy="Give another --out.",
            )
