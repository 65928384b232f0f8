"""Room put aside: a file that is given up when the disk is full, so that a run can say so."""

from __future__ import annotations

import os
from pathlib import Path

from perdure.trace import files
from perdure.trace.failures import translate_os

RESERVE_NAME = "reserve"
RESERVE_BYTES = 256 * 1024

_WRITE_BYTES = 64 * 1024


def put_aside(folder: Path) -> None:
    """Make the reserve of a run, or complete it.

    Raises:
        StorageFullError: there is no room for it.
        StorageError: it cannot be written.

    """
    path = folder / RESERVE_NAME
    if files.size(path) == RESERVE_BYTES:
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o644)
        try:
            # Written, not merely promised: a hole in a file reserves nothing.
            for _ in range(RESERVE_BYTES // _WRITE_BYTES):
                _write_all(descriptor, bytes(_WRITE_BYTES))
            os.ftruncate(descriptor, RESERVE_BYTES)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        files.remove(path)
        raise translate_os(error, path) from error


def give_up(folder: Path) -> bool:
    """Remove the reserve and say whether there was one.

    Raises:
        StorageError: it cannot be removed.

    """
    path = folder / RESERVE_NAME
    if not files.exists(path):
        return False
    files.remove(path)
    return True


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
