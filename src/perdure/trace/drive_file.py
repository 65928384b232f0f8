"""The ledger of a drive in one SQLite file: what was asked, lines, blobs. Blocking; one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from perdure.base.canonical import encode
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import DamagedRecordError
from perdure.records.drive import DriveLine
from perdure.records.record import Record
from perdure.trace.birth import give_birth
from perdure.trace.database import Database
from perdure.trace.drive_lines import (
    LedgerHead,
    LineRow,
    LineWalker,
    first_ledger_head,
    seal_lines,
    walk_lines,
)
from perdure.trace.opening import open_writer
from perdure.trace.partition_file import require_epoch
from perdure.trace.schema import DRIVE

DRIVE_NAME = "drive.db"

_FIRST_EPOCH = 1
# A page is one short query: no reader keeps a log from being emptied, none needs much memory.
_PAGE = 500
_PAGE_OF_BLOBS = 50
_INSERT_LINE = "INSERT INTO lines VALUES (?, ?, ?, ?, ?)"
_INSERT_BLOB = "INSERT OR IGNORE INTO blobs VALUES (?, ?)"
_UPDATE_HEAD = "UPDATE head SET seq = ?, chain = ? WHERE id = 1"
# One statement is one moment, so that the last line is that of this head.
_HEAD = "SELECT seq, chain, (SELECT coalesce(max(seq), -1) FROM lines) FROM head WHERE id = 1"
_LINES = (
    "SELECT seq, run, kind, payload, hash FROM lines"
    " WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)
_BLOB = "SELECT bytes FROM blobs WHERE sha256 = ?"
_FIRST_BLOBS = "SELECT sha256, bytes FROM blobs ORDER BY sha256 LIMIT ?"
_NEXT_BLOBS = "SELECT sha256, bytes FROM blobs WHERE sha256 > ? ORDER BY sha256 LIMIT ?"


class LedgerRows:
    """The rows of a ledger in its database, as they are stored."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def asked(self) -> bytes:
        """Give what was asked, as canonical JSON.

        Raises:
            DamagedRecordError: it is not bytes.

        """
        (payload,) = self.database.fetch_one("SELECT payload FROM asked WHERE id = 1")
        if not isinstance(payload, bytes):
            raise DamagedRecordError("What was asked is not bytes.", where=self.where)
        return payload

    @property
    def where(self) -> str:
        """The file, for whoever is told that something in it is wrong."""
        return str(self.database.path)

    def head(self) -> LedgerHead:
        """Give where the ledger says that it ends.

        Raises:
            DamagedRecordError: it is not of its types, or its lines end elsewhere.

        """
        seq, chain, last = self.database.fetch_one(_HEAD)
        if not isinstance(seq, int) or not isinstance(chain, bytes):
            raise DamagedRecordError("The head is not of its types.", where=self.where)
        if last != seq:
            raise DamagedRecordError(
                f"The ledger says that it ends with line {seq}, and its lines end with {last}.",
                where=f"{self.where}: line {min(last, seq) + 1}",
            )
        return LedgerHead(seq=seq, chain=chain.hex())

    def rows(self, last: int) -> Iterator[tuple[Any, ...]]:
        """Go through the lines up to a number, in order."""
        after = -1
        while page := self.database.fetch(_LINES, (after, last, _PAGE)):
            yield from page
            after = page[-1][0]

    def blob(self, key: bytes) -> Any:
        """Give the bytes with this hash; None if there are none."""
        rows = self.database.fetch(_BLOB, (key,))
        return rows[0][0] if rows else None

    def blobs(self) -> Iterator[tuple[Any, ...]]:
        """Go through all bytes that are kept, each with the hash that it is kept under."""
        page = self.database.fetch(_FIRST_BLOBS, (_PAGE_OF_BLOBS,))
        while page:
            yield from page
            page = self.database.fetch(_NEXT_BLOBS, (page[-1][0], _PAGE_OF_BLOBS))


class DriveFile:
    """Writes the ledger of a drive, and of what it hands down, under one epoch."""

    def __init__(self, database: Database, head: LedgerHead, epoch: int) -> None:
        self._database = database
        self.head = head
        self.epoch = epoch

    @classmethod
    def create(cls, folder: Path, asked: Record) -> Self:
        """Give birth to the ledger of a drive, with what was asked of it, and open it.

        Raises:
            HeldError: the folder holds one already.
            StorageError: storage failed.

        """
        payload = encode(asked)
        head = first_ledger_head(payload)

        def fill(database: Database) -> None:
            database.execute("INSERT INTO asked VALUES (1, ?)", (payload,))
            database.execute("INSERT INTO lease VALUES (1, ?)", (_FIRST_EPOCH,))
            database.execute(
                "INSERT INTO head VALUES (1, ?, ?)", (head.seq, bytes.fromhex(head.chain))
            )

        path = folder / DRIVE_NAME
        give_birth(path, DRIVE, fill, lambda: crashpoint("drive.before-rename"))
        return cls(open_writer(path, DRIVE), head, _FIRST_EPOCH)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Claim a ledger under the next epoch, and check all of it against its chain.

        Raises:
            DamagedRecordError: it does not hold what was written; names the first bad line.
            StorageError: storage failed.

        """
        database = open_writer(folder / DRIVE_NAME, DRIVE)
        try:
            with database.transaction():
                (stored,) = database.fetch_one("SELECT epoch FROM lease WHERE id = 1")
                epoch = stored + 1
                database.execute("UPDATE lease SET epoch = ? WHERE id = 1", (epoch,))
            # No other writer from here on.
            rows = LedgerRows(database)
            head = rows.head()
            walker = LineWalker(rows.asked(), rows.blob, rows.where)
            deque(walk_lines(walker, rows.rows(head.seq), head), maxlen=0)
        except BaseException:
            database.close()
            raise
        return cls(database, head, epoch)

    def append(self, lines: Sequence[DriveLine], blobs: Mapping[str, bytes]) -> LedgerHead:
        """Write lines in order with the bytes that they cite, durably and at once.

        Raises:
            InternalError: a line cannot be recorded, or bytes are not those of their hash.
            StaleWriterError: a later epoch has claimed the ledger.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed; this ledger is not written again by this process.

        """
        sealed = seal_lines(self.head, lines, blobs)
        crashpoint("drive.before-append")
        with self._database.transaction():
            require_epoch(self._database, self.epoch)
            self._write(sealed.rows, sealed.blobs, sealed.head)
        crashpoint("drive.after-append")
        self.head = sealed.head
        self._database.checkpoint_if_due()
        return sealed.head

    def finish(self) -> bool:
        """Put the ledger into its one file.

        False if a reader or a full disk was in the way; nothing is lost.

        Raises:
            StorageError: storage failed.

        """
        return self._database.leave_wal()

    def close(self) -> None:
        """Close the file.

        Raises:
            StorageError: storage failed.

        """
        self._database.close()

    def _write(
        self, rows: list[LineRow], blobs: list[tuple[bytes, bytes]], head: LedgerHead
    ) -> None:
        if blobs:
            self._database.execute_many(_INSERT_BLOB, blobs)
        self._database.execute_many(_INSERT_LINE, rows)
        self._database.execute(_UPDATE_HEAD, (head.seq, bytes.fromhex(head.chain)))
