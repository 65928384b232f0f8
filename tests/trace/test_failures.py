"""Every failure of storage is one of ours, with the exit status that says what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import apsw
import pytest

from perdure.base.errors import (
    EXIT_HELD,
    EXIT_STOPPED,
    EXIT_STORAGE,
    DamagedRecordError,
    HeldError,
    StorageError,
    StorageFullError,
)
from perdure.trace.failures import is_room, translate, translate_os, undecodable

PATH = Path("/run/world.db")


def sqlite_error(code: int) -> apsw.Error:
    """Make the error that SQLite raises for a code."""
    error = apsw.exception_for(code)
    assert isinstance(error, apsw.Error)
    return error


@pytest.mark.parametrize(
    ("code", "system", "ours", "status"),
    [
        (apsw.SQLITE_FULL, 0, StorageFullError, EXIT_STOPPED),
        (apsw.SQLITE_IOERR_WRITE, errno.ENOSPC, StorageFullError, EXIT_STOPPED),
        (apsw.SQLITE_IOERR_WRITE, errno.EFBIG, StorageFullError, EXIT_STOPPED),
        (apsw.SQLITE_IOERR_WRITE, errno.EDQUOT, StorageFullError, EXIT_STOPPED),
        (apsw.SQLITE_IOERR_SHMSIZE, errno.ENOSPC, StorageFullError, EXIT_STOPPED),
        (apsw.SQLITE_IOERR_WRITE, errno.EIO, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_IOERR_FSYNC, errno.EIO, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_IOERR_FSYNC, errno.ENOSPC, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_IOERR_DIR_FSYNC, errno.EIO, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_IOERR_READ, errno.EIO, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_NOTADB, 0, DamagedRecordError, EXIT_STORAGE),
        (apsw.SQLITE_CORRUPT, 0, DamagedRecordError, EXIT_STORAGE),
        (apsw.SQLITE_TOOBIG, 0, DamagedRecordError, EXIT_STORAGE),
        (apsw.SQLITE_CONSTRAINT, 0, DamagedRecordError, EXIT_STORAGE),
        (apsw.SQLITE_READONLY, 0, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_CANTOPEN, errno.EACCES, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_CANTOPEN, errno.ENOSPC, StorageFullError, EXIT_STOPPED),
        (apsw.SQLITE_INTERRUPT, 0, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_NOMEM, 0, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_PROTOCOL, 0, StorageError, EXIT_STORAGE),
        (apsw.SQLITE_BUSY, 0, HeldError, EXIT_HELD),
        (apsw.SQLITE_LOCKED, 0, HeldError, EXIT_HELD),
    ],
)
def test_sqlite_errors_are_ours(code: int, system: int, ours: type, status: int) -> None:
    """P9: the table of what SQLite's errors mean."""
    error = translate(sqlite_error(code), PATH, system)
    assert type(error) is ours
    assert error.exit_status == status
    assert error.where == str(PATH)
    assert str(error).startswith(f"{PATH}: ")


@pytest.mark.parametrize(
    ("system", "ours"),
    [
        (errno.ENOSPC, StorageFullError),
        (errno.EDQUOT, StorageFullError),
        (errno.EACCES, StorageError),
        (errno.EROFS, StorageError),
    ],
)
def test_system_errors_are_ours(system: int, ours: type) -> None:
    """P9: what the system refuses beside SQLite means the same."""
    assert type(translate_os(OSError(system, "it says"), PATH)) is ours


def test_an_error_without_words_has_a_name() -> None:
    """A system error that says nothing is still named."""
    assert "OSError" in str(translate_os(OSError(), PATH))


def test_a_failed_sync_is_never_about_room() -> None:
    """P1: a sync that fails for want of room has lost what it was to keep, and is fatal."""
    assert not is_room(sqlite_error(apsw.SQLITE_IOERR_FSYNC), errno.ENOSPC)
    assert is_room(sqlite_error(apsw.SQLITE_FULL), 0)


def test_what_does_not_decode_is_damage() -> None:
    """P9: bytes that are not what they should be are a damaged record."""
    assert undecodable(ValueError("bad"), "w:3").where == "w:3"
