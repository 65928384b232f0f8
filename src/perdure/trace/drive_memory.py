"""A drive's ledger in memory, under the same contract as the file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from perdure.base.canonical import encode
from perdure.base.errors import StaleWriterError
from perdure.records.drive import DriveLine
from perdure.records.record import Record
from perdure.trace.drive_lines import (
    LedgerHead,
    LineRow,
    LineWalker,
    StoredLine,
    first_ledger_head,
    seal_lines,
    walk_lines,
)

_WHERE = "memory"


class MemoryLines:
    """What a ledger holds, and the epoch that may write."""

    def __init__(self, asked: Record) -> None:
        self.asked = encode(asked)
        self.epoch = 0
        self.rows: list[LineRow] = []
        self.blobs: dict[bytes, bytes] = {}
        self.head = first_ledger_head(self.asked)

    def lines(self) -> Iterator[StoredLine]:
        """Go through all lines in order, each checked.

        Raises:
            DamagedRecordError: names the first line that is not what was written.

        """
        walker = LineWalker(self.asked, self.blobs.get, _WHERE)
        return walk_lines(walker, self.rows, self.head)


class MemoryLedger:
    """The lines of a drive, and of what it hands down, open to be written."""

    def __init__(self, held: MemoryLines) -> None:
        """Claim a ledger under the next epoch, and check all of it.

        Raises:
            DamagedRecordError: names the first line that is not what was written.

        """
        held.epoch += 1
        self.epoch = held.epoch
        self._held = held
        deque(held.lines(), maxlen=0)

    @property
    def head(self) -> LedgerHead:
        """Where the ledger ends."""
        return self._held.head

    async def append(self, lines: Sequence[DriveLine], blobs: Mapping[str, bytes]) -> None:
        """Append lines in order, with the bytes that they cite by their SHA-256 in hex.

        Raises:
            InternalError: a line cannot be recorded, or bytes are not those of their hash.
            StaleWriterError: a later epoch has claimed the ledger.

        """
        sealed = seal_lines(self._held.head, lines, blobs)
        if self._held.epoch != self.epoch:
            raise StaleWriterError(f"Epoch {self._held.epoch} holds this ledger, not {self.epoch}.")
        self._held.rows.extend(sealed.rows)
        self._held.blobs.update(sealed.blobs)
        self._held.head = sealed.head

    async def finish(self) -> bool:
        """Do nothing: the ledger has one form only."""
        return True

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
