"""A request to stop, left in a run's folder for the process that works on it.

A file reaches a run on another machine or in another container, where a signal would not, and a
second request is the same as the first.
"""

from __future__ import annotations

from pathlib import Path

from perdure.trace import files
from perdure.trace.failures import translate_os

STOP_NAME = "stop"


def ask_to_stop(folder: Path) -> None:
    """Leave a request to stop.

    Raises:
        StorageError: it cannot be written.

    """
    path = folder / STOP_NAME
    try:
        path.touch()
    except OSError as error:
        raise translate_os(error, path) from error


def is_asked_to_stop(folder: Path) -> bool:
    """Say whether there is a request to stop.

    Raises:
        StorageError: the system does not say.

    """
    return files.exists(folder / STOP_NAME)


def forget_request(folder: Path) -> None:
    """Take a request back: it was followed, or it was meant for an earlier process.

    Raises:
        StorageError: the system refused.

    """
    files.remove(folder / STOP_NAME)
