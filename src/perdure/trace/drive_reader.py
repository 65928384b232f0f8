"""Reading the ledger of a drive, live or finished, without ever writing to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self, TypeVar

from perdure.base.canonical import sha256
from perdure.base.errors import DamagedRecordError
from perdure.records.record import Record
from perdure.trace.decoding import decode
from perdure.trace.drive_evidence import Evidence
from perdure.trace.drive_file import DRIVE_NAME, LedgerRows
from perdure.trace.drive_lines import LedgerHead, LineWalker, StoredLine, walk_lines
from perdure.trace.opening import open_reader
from perdure.trace.schema import DRIVE

R = TypeVar("R", bound=Record)


class DriveReader:
    """Reads a ledger. What it says of a live drive is true of the moment of the question."""

    def __init__(self, rows: LedgerRows) -> None:
        self._rows = rows

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the ledger in a folder.

        Raises:
            DamagedRecordError: there is none, or it is not one.
            StorageError: storage failed.

        """
        return cls(LedgerRows(open_reader(folder / DRIVE_NAME, DRIVE)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file.

        Raises:
            StorageError: SQLite could not close it.

        """
        self._rows.database.close()

    def asked(self, cls: type[R]) -> R:
        """Give what was asked of the drive.

        Raises:
            DamagedRecordError: it is no such record.

        """
        return decode(self._rows.asked(), cls, self._rows.where)

    @property
    def head(self) -> LedgerHead:
        """Where the ledger says that it ends.

        Raises:
            DamagedRecordError: its lines end elsewhere.

        """
        return self._rows.head()

    def lines(self) -> Iterator[StoredLine]:
        """Go through all lines in order. Each was checked when it is handed out, and the end last.

        Raises:
            DamagedRecordError: names the first line that is not what was written.

        """
        head = self.head
        walker = LineWalker(self._rows.asked(), self._rows.blob, self._rows.where)
        yield from walk_lines(walker, self._rows.rows(head.seq), head)

    def blob(self, name: str) -> bytes:
        """Give the bytes that a line cites by their hash.

        Raises:
            DamagedRecordError: they are not there, or not those of this hash.

        """
        return self._sound(bytes.fromhex(name), self._rows.blob(bytes.fromhex(name)))

    def verify(self) -> LedgerHead:
        """Check everything that the ledger holds; give where it ends.

        Raises:
            DamagedRecordError: names the first thing that is not what was written.

        """
        head, evidence = LedgerHead(seq=-1, chain=""), Evidence()
        for stored in self.lines():
            head = LedgerHead(seq=stored.seq, chain=stored.chain)
            if wrong := evidence.take(stored.seq, stored.line):
                raise DamagedRecordError(f"Line {stored.seq}: {wrong}.", where=self._rows.where)
        for key, data in self._rows.blobs():
            self._sound(key, data)
        return head if head.seq >= 0 else self.head

    def _sound(self, key: object, data: object) -> bytes:
        if isinstance(key, bytes) and isinstance(data, bytes) and sha256(data) == key:
            return data
        name = key.hex()[:12] if isinstance(key, bytes) else repr(key)[:40]
        wrong = "are missing" if data is None else "have another hash"
        raise DamagedRecordError(f"The bytes {name} {wrong}.", where=self._rows.where)
