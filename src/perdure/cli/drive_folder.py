"""Which folders hold a drive: those commands that take a run's folder take these too."""

from __future__ import annotations

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
