"""Opening a database of ours: to make it, to write it, to read it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import apsw

from perdure.base.clock import SystemClock
from perdure.base.errors import DamagedRecordError, StorageError
from perdure.trace import files, guard
from perdure.trace.database import Database, Deadline
from perdure.trace.failures import translate
from perdure.trace.schema import FORMAT, VALUE_BYTES_MAX, Layout

_BUSY_MS = 2_000
_QUERY_S_MAX = 20.0
_STEPS_BETWEEN_LOOKS = 50_000


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
    return _connect_writer(path, apsw.SQLITE_OPEN_READWRITE, layout)


def open_reader(path: Path, layout: Layout) -> Database:
    """Open a database of ours to read, whoever writes it; nothing is ever written through it.

    Raises:
        DamagedRecordError: the file is not one of ours, or is of a newer format.
        StorageError: as `failures.translate` says.

    """
    files.require_regular(path)
    deadline = Deadline(_QUERY_S_MAX, SystemClock())
    # Without room for SQLite's side files a file can only be read as one that never changes, which
    # is true of a file without a log in a folder that may not be written.
    still = not files.is_writable(path.parent) and not files.exists(_log_of(path))
    connection = _connect(path, apsw.SQLITE_OPEN_READONLY, "?immutable=1" if still else "?mode=ro")
    connection.set_progress_handler(deadline.is_over, _STEPS_BETWEEN_LOOKS)
    return _checked(Database(connection, path, deadline), layout)


def _connect_writer(path: Path, flags: int, layout: Layout | None) -> Database:
    connection = _connect(path, flags, "")
    database = Database(connection, path, guarded=guard.protect(path))
    connection.set_wal_hook(database.note_commit)
    try:
        if layout is not None:
            require_layout(database, layout)
        make_durable(database)
    except BaseException:
        database.close()
        raise
    return database


def _connect(path: Path, flags: int, query: str) -> apsw.Connection:
    flags |= apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
    place = path.parent.resolve() / path.name
    try:
        connection = apsw.Connection(f"file:{quote(str(place))}{query}", flags=flags)
    except apsw.Error as error:
        raise translate(error, path) from error
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
        ours = translate(error, path, connection.system_errno)
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
    if version != FORMAT or tuple(sql for (sql,) in found) != layout.tables:
        raise DamagedRecordError(f"Its tables are not those of a {layout.name}.", where=where)


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
