"""Setting a call journal aside: under a name that says so, never deleted, never opened again."""

from __future__ import annotations

from pathlib import Path

from perdure.trace import files
from perdure.trace.journal_file import JOURNAL_NAME
from perdure.trace.journal_note import NOTE_SUFFIX

_SUFFIXES = ("", *files.SIDE_FILES, NOTE_SUFFIX)


def set_aside(folder: Path, epoch: int) -> None:
    """Take whatever has the name of a run's call journal out of the way, its side files with it.

    A name that is taken gets a further number, so that nothing is overwritten.

    Raises:
        StorageError: the system refused.

    """
    target, number = name_aside(epoch), 1
    while any(files.exists(folder / f"{target}{suffix}") for suffix in _SUFFIXES):
        number += 1
        target = f"{name_aside(epoch)}.{number}"
    # The database goes first: without its log it would read as one that is sound and shorter.
    for suffix in _SUFFIXES:
        path = folder / f"{JOURNAL_NAME}{suffix}"
        if files.exists(path):
            files.rename(path, folder / f"{target}{suffix}")
    files.sync_folder(folder)


def is_aside(folder: Path, epoch: int) -> bool:
    """Say whether a journal was set aside under an epoch.

    Raises:
        StorageError: the system does not say.

    """
    return files.exists(folder / name_aside(epoch))


def name_aside(epoch: int) -> str:
    """Give the name under which a journal is set aside."""
    return f"{JOURNAL_NAME}.damaged-{epoch}"
