"""What a failure of storage means: from SQLite's and the system's errors to ours. Pure."""

from __future__ import annotations

import errno
from pathlib import Path

import apsw

from perdure.base.errors import (
    DamagedRecordError,
    HeldError,
    PerdureError,
    StorageError,
    StorageFullError,
)

_NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
# Failures of these calls are about room when the system says so. A failed sync never is: what it
# was to make durable may be gone, whatever the reason.
_ROOM_CALLS = frozenset(
    {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_SHMOPEN,
        apsw.SQLITE_IOERR_SHMMAP,
    }
)
_SYNC_CALLS = frozenset({apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})
_DAMAGE = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.FormatError,
    apsw.SchemaChangeError,
    apsw.SQLError,
    apsw.ConstraintError,
    apsw.MismatchError,
    apsw.TooBigError,
    apsw.RangeError,
)
_REFUSED = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError)


def translate(error: apsw.Error, path: Path, system_errno: int = 0) -> PerdureError:
    """Say in our own terms what an error of SQLite means for the file at `path`."""
    where, said = str(path), str(error)
    ours: PerdureError = StorageError(f"The file cannot be used ({said}).", where=where)
    if is_room(error, system_errno):
        ours = _full(where)
    elif isinstance(error, apsw.IOError):
        ours = _io(error, where)
    elif isinstance(error, _DAMAGE):
        ours = DamagedRecordError(
            f"The file does not hold what was written ({said}).",
            where=where,
        )
    elif isinstance(error, apsw.BusyError | apsw.LockedError):
        ours = HeldError(
            f"The file is in use by another process ({said}).",
            where=where,
            remedy="Wait for that process to end.",
        )
    elif isinstance(error, _REFUSED):
        ours = _refused(where, said, system_errno)
    elif isinstance(error, apsw.InterruptError):
        ours = StorageError("Reading took longer than its limit.", where=where)
    return ours


def translate_os(error: OSError, path: Path) -> StorageError:
    """Say in our own terms what an error of the operating system means for `path`."""
    if error.errno in _NO_ROOM:
        return _full(str(path))
    return _refused(str(path), error.strerror or type(error).__name__, 0)


def undecodable(error: Exception, where: str) -> DamagedRecordError:
    """Say that stored bytes do not decode as what they should be."""
    return DamagedRecordError(f"What is stored cannot be decoded ({error}).", where=where)


def is_room(error: apsw.Error, system_errno: int) -> bool:
    """Say whether an error means that there was no room, and nothing worse."""
    if isinstance(error, apsw.FullError):
        return True
    return (
        isinstance(error, apsw.IOError)
        and _call_of(error) in _ROOM_CALLS
        and system_errno in _NO_ROOM
    )


def _io(error: apsw.IOError, where: str) -> StorageError:
    if _call_of(error) in _SYNC_CALLS:
        return StorageError(
            "The system could not make a write durable (a failed sync).",
            where=where,
            remedy="Check the disk, run `perdure verify`, then resume in a new process.",
        )
    return StorageError(
        f"Reading or writing failed ({error}).",
        where=where,
        remedy="Check the disk, then run `perdure verify`.",
    )


def _call_of(error: apsw.Error) -> int:
    return int(getattr(error, "extendedresult", 0))


def _full(where: str) -> StorageFullError:
    return StorageFullError(
        "The disk, or a limit on files, is full. Everything acknowledged is kept.",
        where=where,
        remedy="Free some space, then give the same command again.",
    )


def _refused(where: str, said: str, system_errno: int) -> StorageError:
    if system_errno in _NO_ROOM:
        return _full(where)
    return StorageError(
        f"The file cannot be opened or written ({said}).",
        where=where,
        remedy="Check that the folder exists and that you may write to it.",
    )
