"""One connection to one database of ours: how it is opened, and what its errors mean.

Writers are durable before anything else: `synchronous=EXTRA` is set before the file goes to WAL,
because the other way round the removal of a rollback journal may undo a file's birth at a power
cut. Checkpoints are made in the open, since SQLite ignores a failed sync in those that it makes
itself. After any failure but a full disk, a writing connection is never used again.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from perdure.base.clock import Clock
from perdure.base.errors import DamagedRecordError, PerdureError, StorageError
from perdure.base.running_time import RunningTime
from perdure.trace import files, guard
from perdure.trace.failures import is_room, translate, undecodable

Values = Sequence[int | float | str | bytes | None]

# About 4 MB of log before it is copied into the file.
_CHECKPOINT_PAGES = 1_000
# Far more than SQLite needs between two questions to its deadline.
_GAP_MAX_S = 1.0


class Deadline:
    """The time that one query may take; asked by SQLite every few thousand steps.

    What passes while this process is stopped is no time of the query's.
    """

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self.start()

    def start(self) -> None:
        """Begin anew, for the next query."""
        self._time = RunningTime(self._clock.now_s(), gap_max_s=_GAP_MAX_S)

    def is_over(self) -> bool:
        """Say whether the query has had its time."""
        return self._time.look(self._clock.now_s()) > self._seconds


def reason(error: apsw.Error, path: Path, connection: apsw.Connection | None = None) -> int:
    """Give the system's own number for what failed; 0 if there is none.

    SQLite keeps none where it could not make a file beside the database.
    """
    if isinstance(error, apsw.CantOpenError) and not files.can_hold_another(path.parent):
        return errno.ENOSPC
    return 0 if connection is None else connection.system_errno


class Database:
    """A connection whose every error is one of ours. One thread at a time."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: Path,
        deadline: Deadline | None = None,
        guarded: Path | None = None,
    ) -> None:
        self.path = path
        self._connection = connection
        self._deadline = deadline
        self._guarded = guarded
        self._dead: PerdureError | None = None
        self._is_closed = False
        self._log_pages = 0

    def execute(self, sql: str, values: Values = ()) -> None:
        """Run a statement that gives no rows.

        Raises:
            StorageError: as `failures.translate` says.

        """
        with self._translated():
            self._connection.execute(sql, tuple(values))

    def execute_many(self, sql: str, rows: Iterable[Values]) -> None:
        """Run a statement once for every row of values.

        Raises:
            StorageError: as `failures.translate` says.

        """
        with self._translated():
            self._connection.executemany(sql, rows)

    def fetch(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Run a query and give all its rows.

        Raises:
            StorageError: as `failures.translate` says.

        """
        with self._translated():
            return self._connection.execute(sql, tuple(values)).fetchall()

    def fetch_one(self, sql: str, values: Values = ()) -> tuple[Any, ...]:
        """Run a query that must give exactly one row.

        Raises:
            DamagedRecordError: it gives none, or several.
            StorageError: as `failures.translate` says.

        """
        rows = self.fetch(sql, values)
        if len(rows) != 1:
            raise DamagedRecordError(
                f"A row that must be there once is there {len(rows)} times.", where=str(self.path)
            )
        return rows[0]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of what is inside, or nothing; durable when it ends.

        Raises:
            StorageError: as `failures.translate` says; nothing of it is acknowledged.

        """
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def checkpoint_if_due(self) -> None:
        """Copy a log that has grown long into the file.

        A full disk only puts it off: the log is durable already.

        Raises:
            StorageError: a sync failed, or the file could not be written.

        """
        if self._log_pages < _CHECKPOINT_PAGES:
            return
        self._require_alive()
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:
            return  # a reader is in the way; the next commit tries again
        except apsw.Error as error:
            if not is_room(error, self._connection.system_errno):
                raise self._died(error) from error
            return  # what is in the log is kept there; the next commit tries again
        self._log_pages = 0

    def empty_log(self) -> None:
        """Copy the whole log into the file and make that durable.

        Raises:
            StorageError: as `failures.translate` says.

        """
        with self._translated():
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def leave_wal(self) -> bool:
        """Put everything into the one file. False if a reader holds the log, or there is no room.

        Raises:
            StorageError: as `failures.translate` says.

        """
        self._require_alive()
        try:
            mode = self._connection.pragma("journal_mode", "DELETE")
        except (apsw.BusyError, apsw.LockedError):
            return False
        except apsw.Error as error:
            if not is_room(error, self._connection.system_errno):
                raise self._died(error) from error
            return False  # the log is durable where it is; the next process tries again
        return bool(mode == "delete")

    def close(self, *, keep_log: bool = False) -> None:
        """Close the connection, once; a dead one leaves its log as it is for the next process.

        With `keep_log` a live one does too.

        Raises:
            StorageError: SQLite could not close.

        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if keep_log or self._dead is not None:
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._connection.close()
        except apsw.Error as error:
            raise translate(error, self.path, 0) from error
        finally:
            if self._guarded is not None:
                guard.release(self._guarded)
            self._dead = self._dead or StorageError("It has been closed.", where=str(self.path))

    def note_commit(self, _: apsw.Connection, __: str, pages: int) -> int:
        """Note how long the log is after a commit; SQLite calls this."""
        self._log_pages = pages
        return apsw.SQLITE_OK

    @contextmanager
    def _translated(self) -> Iterator[None]:
        self._require_alive()
        if self._deadline is not None:
            self._deadline.start()
        try:
            yield
        except apsw.Error as error:
            raise self._died(error) from error
        except UnicodeDecodeError as error:
            raise undecodable(error, str(self.path)) from error

    def _died(self, error: apsw.Error) -> PerdureError:
        system_errno = reason(error, self.path, self._connection)
        ours = translate(error, self.path, system_errno)
        if isinstance(error, apsw.IOError) and not is_room(error, system_errno):
            self._dead = ours
        return ours

    def _roll_back(self) -> None:
        if not self._connection.in_transaction:
            return
        try:
            self._connection.execute("ROLLBACK")
        except apsw.Error as error:
            self._dead = self._dead or translate(error, self.path, self._connection.system_errno)

    def _require_alive(self) -> None:
        if self._dead is not None:
            raise StorageError(
                "This file failed or was closed earlier, and is not used again here.",
                where=str(self.path),
                remedy=f"What happened first: {self._dead.wrong}",
            ) from self._dead
