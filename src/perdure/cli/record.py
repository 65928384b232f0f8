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


@contextmanager
def opened(folder: Path) -> Iterator[RunReader]:
    """Open a run's record read-only, its registry checked, and close it again.

    Raises:
        UsageError: the folder holds no run.
        DamagedRecordError: the record does not hold what was written.
        StorageError: it cannot be read.

    """
    from perdure.trace.reader import RunReader  # noqa: PLC0415 - keeps commands light

    require_run(folder)
    with RunReader.open(folder) as record:
        record.check_registry()
        yield record


def require_run(folder: Path) -> None:
    """Refuse a folder that holds no run.

    Raises:
        UsageError: the folder holds no run.

    """
    if not (folder / REGISTRY_NAME).exists():
        raise UsageError(
            "There is no run in this folder.",
            where=str(folder),
            remedy="Give the folder that was given to `perdure run --out`.",
        )
