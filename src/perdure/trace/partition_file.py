"""One partition in one SQLite file: header, events, blobs, head. Blocking; one thread at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from perdure.base.canonical import encode
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import InternalError, StaleWriterError
from perdure.records.events import Batch, Head
from perdure.records.registry import LogHead
from perdure.records.scenario import Header
from perdure.trace.birth import give_birth
from perdure.trace.database import Database
from perdure.trace.opening import open_writer
from perdure.trace.rows import decode_header, read_head, read_header
from perdure.trace.schema import PARTITION
from perdure.trace.sealing import Sealed, first_head, seal
from perdure.trace.sql_rows import SqlWorld
from perdure.trace.walk import Walker, walked

_NO_LOG = LogHead(seq=-1, chain="")
_INSERT_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_BLOB = "INSERT OR IGNORE INTO blobs VALUES (?, ?)"
_INSERT_HEAD = "INSERT INTO head VALUES (1, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE_HEAD = (
    "UPDATE head SET seq = ?, chain = ?, content = ?, digest = ?, tick = ?, log_seq = ?,"
    " log_chain = ? WHERE id = 1"
)


class PartitionFile:
    """Writes one world's record under one epoch."""

    def __init__(self, database: Database, head: Head, epoch: int) -> None:
        self._database = database
        self.head = head
        self.epoch = epoch

    @classmethod
    def create(cls, path: Path, header: Header, epoch: int) -> Self:
        """Give birth to the partition of a world and open it.

        Raises:
            InternalError: the file does not have the world's name.
            HeldError: there is a file of this name.
            StorageError: storage failed.

        """
        if path.stem != header.world_id:
            raise InternalError(f"World {header.world_id} cannot be kept in {path.name}.")
        payload = encode(header)
        head = first_head(payload)

        def fill(database: Database) -> None:
            database.execute("INSERT INTO header VALUES (1, ?)", (payload,))
            database.execute("INSERT INTO lease VALUES (1, ?)", (epoch,))
            database.execute(_INSERT_HEAD, _head_values(head, _NO_LOG))

        give_birth(path, PARTITION, fill, lambda: crashpoint("partition.before-rename"))
        return cls(open_writer(path, PARTITION), head, epoch)

    @classmethod
    def open(cls, path: Path, epoch: int, witness: Head | None = None) -> Self:
        """Claim a partition for an epoch, and check all of it against its chain and its witness.

        Raises:
            StaleWriterError: a later epoch has claimed it.
            DamagedRecordError: it does not hold what was written; names the first bad event.
            StorageError: storage failed.

        """
        database = open_writer(path, PARTITION)
        try:
            rows = SqlWorld(database)
            stored, _ = read_head(rows)
            payload = read_header(rows)
            decode_header(payload, path.stem, str(path))
            walker = Walker(path.stem, payload)
            for _ in walked(walker, rows.rows(stored.seq), stored, witness):
                pass
            with database.transaction():
                claim(database, epoch)
        except BaseException:
            database.close()
            raise
        return cls(database, walker.head, epoch)

    def append(self, batch: Batch, *, epoch: int, log_head: LogHead) -> Head:
        """Write one whole tick, or a pause, with its blobs and the run log's head, durably.

        Raises:
            InternalError: the batch is neither of these, or does not continue the record.
            StaleWriterError: another epoch has claimed the partition.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed; this partition is not written again by this process.

        """
        sealed = seal(self.head, batch)
        with self._database.transaction():
            require_epoch(self._database, epoch)
            self._write(sealed, log_head)
        self.head = sealed.head
        self._database.checkpoint_if_due()
        return sealed.head

    def finish(self) -> bool:
        """Put the record into its one file.

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

    def _write(self, sealed: Sealed, log_head: LogHead) -> None:
        self._database.execute_many(_INSERT_EVENT, sealed.rows)
        if sealed.blobs:
            self._database.execute_many(_INSERT_BLOB, sealed.blobs)
        self._database.execute(_UPDATE_HEAD, _head_values(sealed.head, log_head))


def claim(database: Database, epoch: int) -> None:
    """Put an epoch into the lease of an open transaction's database.

    Raises:
        StaleWriterError: a later epoch is there.

    """
    (stored,) = database.fetch_one("SELECT epoch FROM lease WHERE id = 1")
    if stored > epoch:
        raise _stale(database, epoch, stored)
    database.execute("UPDATE lease SET epoch = ? WHERE id = 1", (epoch,))


def require_epoch(database: Database, epoch: int) -> None:
    """Check an epoch against the lease, inside an open transaction.

    Raises:
        StaleWriterError: another epoch is there.

    """
    (stored,) = database.fetch_one("SELECT epoch FROM lease WHERE id = 1")
    if stored != epoch:
        raise _stale(database, epoch, stored)


def _stale(database: Database, epoch: int, stored: int) -> StaleWriterError:
    return StaleWriterError(
        f"A writer of epoch {epoch} met a record that epoch {stored} holds.",
        where=str(database.path),
        remedy="Another process has taken the run over; let it work.",
    )


def _head_values(head: Head, log_head: LogHead) -> tuple[int | bytes, ...]:
    chain, digest = bytes.fromhex(head.chain), bytes.fromhex(head.digest)
    log_chain = bytes.fromhex(log_head.chain)
    return (head.seq, chain, head.content, digest, head.tick, log_head.seq, log_chain)
