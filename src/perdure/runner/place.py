"""Whether a run may have a folder: that it is one, that nobody holds it, that nothing is in it."""

from __future__ import annotations

from pathlib import Path

from perdure.base.errors import TakenError
from perdure.base.text import one_line
from perdure.runner.failure_log import LOGS_NAME
from perdure.runner.meter import STATUS_NAME
from perdure.runner.stacks import is_of_stacks
from perdure.trace.lock import LOCK_NAME, held_error, is_held
from perdure.trace.registry_file import REGISTRY_NAME, WORLDS_NAME
from perdure.trace.reserve import RESERVE_NAME
from perdure.trace.stop_request import STOP_NAME
from perdure.trace.workers_lock import WORKERS_LOCK_NAME

# Files that a run leaves which was killed before its registry was born.
# The last is where a supervisor of the run has its own files, before there is a run.
_REMAINS = {LOCK_NAME, WORKERS_LOCK_NAME, RESERVE_NAME, STOP_NAME, STATUS_NAME, "supervise"}


def require_folder(folder: Path) -> None:
    """Refuse what is no folder, or is to be within something that is none.

    Raises:
        TakenError: a file is there.

    """
    there = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    if there.exists() and not there.is_dir():
        raise TakenError("This is not a folder.", where=str(there), remedy="Give another one.")


def require_free(folder: Path) -> None:
    """Refuse a folder that another process works in.

    Raises:
        HeldError: one does; names it.
        StorageError: its lock cannot be used.

    """
    if is_held(folder):
        raise held_error(folder)


def require_empty(folder: Path) -> None:
    """Refuse a folder without a run that has anything in it, but what a run leaves behind.

    Raises:
        TakenError: it holds something else.
        HeldError: another process begins a run there.

    """
    if not folder.exists():
        return
    others = sorted(item.name for item in folder.iterdir() if not _is_left_of_a_run(item))
    if others:
        # What another run began to write there just now is not something else.
        require_free(folder)
        raise TakenError(
            f"The folder holds something else ({one_line(others[0], 40)!r}).",
            where=str(folder),
            remedy="Give a folder that is empty or does not exist yet.",
        )


def require_place(folder: Path) -> None:
    """Refuse a place where neither a run is nor one could begin.

    Raises:
        TakenError: it holds something else, or is no folder.
        HeldError: another process begins a run there.

    """
    require_folder(folder)
    if not (folder / REGISTRY_NAME).exists():
        require_empty(folder)


def _is_left_of_a_run(item: Path) -> bool:
    """Say whether a run leaves this that is killed before its registry is born."""
    if item.name == WORLDS_NAME:
        return item.is_dir() and not any(item.iterdir())
    if item.name == LOGS_NAME:
        return item.is_dir() and all(map(is_of_stacks, item.iterdir()))
    return item.name in _REMAINS or item.name.startswith(REGISTRY_NAME)
