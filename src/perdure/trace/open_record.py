"""Opening a record to be read, from wherever it is: a run's own folder, or an export of it."""

from __future__ import annotations

from pathlib import Path

from perdure.trace.export_store import ExportStore
from perdure.trace.manifest import is_export
from perdure.trace.reader import RunReader


def open_record(folder: Path) -> RunReader:
    """Open the run in a folder, or the run that a folder is an export of.

    Raises:
        DamagedRecordError: there is no run, or not one that can be read.
        StorageError: storage failed.

    """
    if is_export(folder):
        return RunReader.over(ExportStore.open(folder))
    return RunReader.open(folder)
