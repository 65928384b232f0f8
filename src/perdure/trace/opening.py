"""Opening a database of ours: to make it, to write it, to read it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import apsw

from perdure.base.clock import SystemClock
from perdure.base.errors import DamagedRecordError, HeldError, StorageError, StorageFullError
from perdure.trace import copying, files, guard
from perdure.trace.database import Database, Deadline, reason
from perdure.trace.failures import is_room, translate, translate_os
from perdure.trace.schema import FORMAT, VALUE_BYTES_MAX, Layout

_BUSY_MS = 2_000
_QUERY_S_MAX = 20.0
_STEPS_BETWEEN_LOOKS = 50_000
_ATTEMPTS = 5
_FIRST_LOOK = "PRAGMA application_id"


def open_new(path: Path) -> Database:
    """Make an empty database, durable from its first byte on.

    Raises:
        StorageError: as `failures.translate` says.

    """
    return _connect_writer(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, None)


def open_writer(path: Path, layout: Layout) -> Database:
    """Open a database of ours to write.

    Raises:
        DamagedRecordError: the file is not one of ours, or is of a newer format.
        StorageError: as `failures.translate` says.

    """
    files.require_regular(path)
    copying.require_own_journal(path)
    return _connect_writer(path, apsw.SQLITE_OPEN_READWRITE, layout)


def open_reader(path: Path, layout: Layout) -> Database:
    """Open a database of ours to read, whoever writes it; nothing is ever written through it.

    What a kill left to be recovered, or what has no room for SQLite's side files, is read from a
    private copy.

    Raises:
        DamagedRecordError: the file is not one of ours, or is of a newer format.
        StorageError: as `failures.translate` says.

    """
    files.require_regular(path)
    deadline = Deadline(_QUERY_S_MAX, SystemClock())
    connection = _connect_reader(path)
    connection.set_progress_handler(deadline.is_over, _STEPS_BETWEEN_LOOKS)
    return _checked(Database(connection, path, deadline), layout)


def _connect_reader(path: Path) -> apsw.Connection:
    for _ in range(_ATTEMPTS):
        connection = _connect_in_place(path)
        if connection is None:
            connection = _connect_to_copy(path)
        if connection is not None:
            return connection
    raise HeldError(
        "Another process changes the file while it is copied to be read.",
        where=str(path),
        remedy="Try again.",
    )


def _connect_in_place(path: Path) -> apsw.Connection | None:
    """Open a file where it lies. None if that would mean to write beside it."""
    # Without room for SQLite's side files a file can only be read as one that never changes, which
    # is true of a file without a log or a journal in a folder that may not be written.
    still = not files.is_writable(path.parent) and not (
        files.exists(_beside(path, "-wal")) or files.exists(_beside(path, "-journal"))
    )
    flags = apsw.SQLITE_OPEN_READONLY
    connection = _connect(path, flags, "?immutable=1" if still else "?mode=ro", path)
    try:
        connection.execute(_FIRST_LOOK).fetchall()
    except apsw.Error as error:
        system_errno = connection.system_errno
        connection.close()
        if not _wants_to_write(error, system_errno):
            raise translate(error, path, system_errno) from error
        return None
    return connection


def _wants_to_write(error: apsw.Error, system_errno: int) -> bool:
    """Say whether reading failed because something would have to be written for it."""
    return isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError) or is_room(
        error, system_errno
    )


def _connect_to_copy(path: Path) -> apsw.Connection | None:
    """Open a private copy, recovered. None if the file changed while it was copied."""
    is_full = False
    for place in copying.places(path):
        try:
            # The name of the copy is gone before anything is read from it: a reader who is killed
            # leaves nothing behind.
            with TemporaryDirectory(prefix="perdure-", dir=place) as folder:
                copy = Path(folder) / "copy.db"
                if not copying.copy_still(path, copy):
                    return None
                _recover(copy, path)
                flags = apsw.SQLITE_OPEN_READONLY
                return _connect(copy, flags, "?immutable=1", path)
        except OSError as error:
            is_full |= isinstance(translate_os(error, path), StorageFullError)
        except StorageFullError:
            is_full = True
    kind = StorageFullError if is_full else StorageError
    raise kind(
        "It can only be read from a copy, and no folder for temporary files can take one."
        " Nothing is lost.",
        where=str(path),
        remedy="Free some space, or set TMPDIR to a folder that has some.",
    )


def _recover(copy: Path, path: Path) -> None:
    """Have SQLite put everything into the one file of a copy that nobody else knows."""
    connection = _connect(copy, apsw.SQLITE_OPEN_READWRITE, "", path)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA synchronous = OFF")
        if connection.pragma("journal_mode", "MEMORY") != "memory":
            raise StorageError("What a kill left cannot be recovered.", where=str(path))
    except apsw.Error as error:
        raise translate(error, path, connection.system_errno) from error
    finally:
        connection.close()


def _connect_writer(path: Path, flags: int, layout: Layout | None) -> Database:
    connection = _connect(path, flags, "", path)
    database = Database(connection, path, guarded=guard.protect(path))
    connection.set_wal_hook(database.note_commit)
    try:
        if layout is not None:
            require_layout(database, layout)
        make_durable(database)
    except BaseException as error:
        database.close(keep_log=isinstance(error, DamagedRecordError))
        raise
    return database


def _connect(file: Path, flags: int, query: str, path: Path) -> apsw.Connection:
    """Connect to a file, which is, or stands for, the database at `path`."""
    flags |= apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
    place = file.parent.resolve() / file.name
    try:
        connection = apsw.Connection(f"file:{quote(str(place))}{query}", flags=flags)
    except apsw.Error as error:
        raise translate(error, path, reason(error, path)) from error
    connection.set_busy_timeout(_BUSY_MS)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    try:
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA cell_size_check = ON")
    except apsw.Error as error:
        ours = translate(error, path, reason(error, path, connection))
        connection.close()
        raise ours from error
    return connection


def _checked(database: Database, layout: Layout) -> Database:
    try:
        require_layout(database, layout)
    except BaseException:
        database.close()
        raise
    return database


def make_durable(database: Database) -> None:
    """Have every commit on the disk before it is acknowledged.

    Raises:
        StorageError: the file system cannot do it.

    """
    # In this order: see the top of `database.py`.
    database.execute("PRAGMA synchronous = EXTRA")
    database.execute("PRAGMA fullfsync = ON")
    if database.fetch_one("PRAGMA journal_mode = WAL") != ("wal",):
        raise StorageError("This file system cannot keep a log.", where=str(database.path))


def require_layout(database: Database, layout: Layout) -> None:
    """Refuse a database that does not have exactly the tables of this layout and format.

    Raises:
        DamagedRecordError: it is something else, or of a newer format.

    """
    where = str(database.path)
    if database.fetch_one("PRAGMA application_id") != (layout.application_id,):
        raise DamagedRecordError(f"This is not a {layout.name} of a run.", where=where)
    (version,) = database.fetch_one("PRAGMA user_version")
    if version > FORMAT:
        raise DamagedRecordError(
            f"Its format is {version}; this perdure knows formats up to {FORMAT}.",
            where=where,
            remedy="Use a newer perdure.",
        )
    found = database.fetch("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
    tables = tuple(sql for (sql,) in found)
    known = {layout.tables, (*layout.tables, layout.besides)}
    if version != FORMAT or tables not in known:
        raise DamagedRecordError(f"Its tables are not those of a {layout.name}.", where=where)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
