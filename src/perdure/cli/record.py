"""A run's folder opened for reading by a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.base.errors import UsageError

if TYPE_CHECKING:
    from perdure.trace.reader import RunReader

REGISTRY_NAME = "run.db"
EXPORT_NAME = "export"
MANIFEST_NAME = "manifest.json"


@contextmanager
def opened(folder: Path) -> Iterator[RunReader]:
    """Open a run's record, or an export of it, read-only, its registry checked, and close it again.

    Raises:
        UsageError: the folder holds neither.
        DamagedRecordError: the record does not hold what was written.
        StorageError: it cannot be read.

    """
    from perdure.trace.open_record import open_record  # noqa: PLC0415 - keeps commands light

    require_record(folder)
    with open_record(folder) as record:
        record.check_registry()
        yield record


def require_record(folder: Path) -> None:
    """Refuse a folder that holds neither a run nor an export of one.

    Raises:
        UsageError: it holds neither.

    """
    if not (folder / MANIFEST_NAME).is_file():
        require_run(folder)


def require_run(folder: Path) -> None:
    """Refuse a folder that holds no run.

    Raises:
        UsageError: the folder holds no run.

    """
    if (folder / REGISTRY_NAME).exists():
        return
    if (folder / MANIFEST_NAME).is_file():
        raise UsageError(
            "This folder is an export, which can be read, and is not the run itself.",
            where=str(folder),
            remedy="Give the folder that was given to `perdure run --out`.",
        )
    if (folder / EXPORT_NAME / MANIFEST_NAME).is_file():
        raise UsageError(
            "There is no run in this folder any more, only an export of one.",
            where=str(folder),
            remedy=f"Reading commands take the export: give `{folder / EXPORT_NAME}`.",
        )
    raise UsageError(
        "There is no run in this folder.",
        where=str(folder),
        remedy="Give the folder that was given to `perdure run --out`.",
    )
