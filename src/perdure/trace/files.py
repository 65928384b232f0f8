"""What the store does to files and folders beside SQLite: names and durability, never contents.

Nothing here opens a database file: in the process that writes it, closing any other handle would
drop SQLite's locks. Folders may be opened, and are, to make names durable.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from perdure.base.errors import DamagedRecordError, HeldError
from perdure.trace.failures import translate_os

SIDE_FILES = ("-wal", "-shm", "-journal")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable.

    Raises:
        StorageError: the folder cannot be opened or synced.

    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise translate_os(error, folder) from error


def rename(old: Path, new: Path) -> None:
    """Give a file its final name, at once and as a whole.

    Raises:
        StorageError: the system refused.

    """
    try:
        old.rename(new)
    except OSError as error:
        raise translate_os(error, new) from error


def remove(path: Path) -> None:
    """Remove a file if it is there.

    Raises:
        StorageError: the system refused.

    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise translate_os(error, path) from error


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, durably. A folder that is there already is left alone.

    Raises:
        StorageError: the system refused.

    """
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise translate_os(error, folder) from error
    sync_folder(folder.parent)


def can_hold_another(folder: Path) -> bool:
    """Say whether a folder's disk has room for one more file, however small; so if nobody knows."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return True
    return disk.f_files == 0 or disk.f_favail > 0


def exists(path: Path) -> bool:
    """Say whether there is anything under this name, a broken link included.

    Raises:
        StorageError: the system does not say.

    """
    return _mode(path) is not None


def is_writable(folder: Path) -> bool:
    """Say whether files can be made in a folder."""
    return os.access(folder, os.W_OK | os.X_OK)


def size(path: Path) -> int:
    """Give a file's size in bytes; 0 if there is none.

    Raises:
        StorageError: the system does not say.

    """
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise translate_os(error, path) from error


def require_regular(path: Path) -> None:
    """Refuse a database that is not a plain file, or that has a side file which is not one.

    Raises:
        DamagedRecordError: something else is in the file's place, or nothing is.
        StorageError: the system does not say.

    """
    mode = _mode(path)
    if mode is None:
        raise DamagedRecordError("There is no such file.", where=str(path))
    if not stat.S_ISREG(mode):
        raise DamagedRecordError("This is not a plain file.", where=str(path))
    for side in (path.with_name(path.name + suffix) for suffix in SIDE_FILES):
        side_mode = _mode(side)
        if side_mode is not None and not stat.S_ISREG(side_mode):
            raise DamagedRecordError("This is not a plain file.", where=str(side))


def require_free(path: Path) -> None:
    """Refuse a name that is taken, by a database or by what one left behind.

    Raises:
        HeldError: there is a file of this name.
        StorageError: the system does not say.

    """
    for name in (path, *(path.with_name(path.name + suffix) for suffix in SIDE_FILES)):
        if exists(name):
            raise HeldError(
                "There is a file of this name already.",
                where=str(name),
                remedy="Choose another folder, or continue the run that is there.",
            )


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise translate_os(error, path) from error
