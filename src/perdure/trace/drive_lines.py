"""The lines of a drive's ledger: sealing them, and walking over them again. Pure.

Every store of lines goes by this: what is appended becomes rows with their hashes here, and rows
that are read are followed here, so that the first one that is not what was written is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from perdure.base.canonical import encode, sha256
from perdure.base.errors import DamagedRecordError, InternalError
from perdure.records.drive import (
    DRIVE_KIND_OF,
    DRIVE_TYPE_OF,
    DriveLine,
    PromptAssembled,
    RunStarted,
)
from perdure.records.record import Record
from perdure.trace.chain import drive_start, drive_step
from perdure.trace.decoding import decode_line

# seq, run, kind, payload, hash
LineRow = tuple[int, str, str, bytes, bytes]
# Gives the bytes that are kept under a hash, None if there are none.
ReadBlob = Callable[[bytes], Any]

_COLUMN_TYPES = (int, str, str, bytes, bytes)


class LedgerHead(Record):
    """Where a ledger ends: the number of its last line, -1 without one, and its chain (hex)."""

    seq: int
    chain: str


class StoredLine(Record):
    """A line as stored: its place in the ledger, what it says, and the chain up to it (hex)."""

    seq: int
    line: DriveLine
    chain: str


class SealedLines(NamedTuple):
    """Rows ready to be written, the blobs that go with them, and the head after them."""

    rows: list[LineRow]
    blobs: list[tuple[bytes, bytes]]
    head: LedgerHead


def first_ledger_head(asked: bytes) -> LedgerHead:
    """Give the head of a ledger without lines."""
    return LedgerHead(seq=-1, chain=drive_start(asked).hex())


def seal_lines(
    head: LedgerHead, lines: Sequence[DriveLine], blobs: Mapping[str, bytes]
) -> SealedLines:
    """Encode and hash the lines that follow a head.

    Raises:
        InternalError: a line is of no known kind or cannot be recorded, or bytes are not those of
            the hash that they are given under.

    """
    rows: list[LineRow] = []
    seq, chain = head.seq, bytes.fromhex(head.chain)
    for line in lines:
        kind = DRIVE_KIND_OF.get(type(line))
        if kind is None:
            raise InternalError(f"A ledger keeps no lines of the kind {type(line).__name__}.")
        seq, payload = seq + 1, encode(line)
        chain = drive_step(
            chain, seq=seq, run=line.run.encode(), kind=kind.encode(), payload=payload
        )
        rows.append((seq, line.run, kind, payload, chain))
    kept = [(sha256(data), data) for data in blobs.values()]
    for name, (key, _) in zip(blobs, kept, strict=True):
        if key.hex() != name:
            raise InternalError(f"The bytes that are kept under {name!r} have another hash.")
    return SealedLines(rows, kept, LedgerHead(seq=seq, chain=chain.hex()))


def cited_by(line: DriveLine) -> tuple[str, ...]:
    """Give the hashes of the blobs that a line cites. Of nothing there is no blob."""
    if isinstance(line, PromptAssembled):
        return tuple(segment.sha256 for segment in line.segments if segment.size)
    if isinstance(line, RunStarted) and line.inherited:
        return (line.inherited,)
    return ()


class LineWalker:
    """Follows the chain of one ledger over its stored rows."""

    def __init__(self, asked: bytes, blob: ReadBlob, where: str) -> None:
        """Begin before the first line. `where` is what the ledger is called in errors."""
        self.head = first_ledger_head(asked)
        self._blob = blob
        self._where = where
        self._seen: set[str] = set()

    def step(self, row: tuple[Any, ...]) -> StoredLine:
        """Check the next row and follow it.

        Raises:
            DamagedRecordError: it is not what was written, or bytes that it cites are not.

        """
        if tuple(map(type, row)) != _COLUMN_TYPES:
            raise self.damage("its columns are not of their types")
        seq, run, kind, payload, stored = row
        if seq != self.head.seq + 1:
            raise self.damage(f"it is missing; the next line that is there is {seq}")
        if kind not in DRIVE_TYPE_OF:
            raise self.damage(f"no line is of the kind {kind!r}")
        chain = drive_step(
            bytes.fromhex(self.head.chain),
            seq=seq,
            run=run.encode(),
            kind=kind.encode(),
            payload=payload,
        )
        if chain != stored:
            raise self.damage("its bytes do not match its hash")
        line = decode_line(kind, payload, self._place(seq))
        if line.run != run:
            raise self.damage(f"it is kept as one of {run!r}, and says that it is not")
        for name in cited_by(line):
            self._require_blob(name)
        self.head = LedgerHead(seq=seq, chain=chain.hex())
        return StoredLine(seq=seq, line=line, chain=self.head.chain)

    def finish(self, stored: LedgerHead) -> None:
        """Check the end of the ledger: as its own head says.

        Raises:
            DamagedRecordError: lines are missing at the end.

        """
        if stored != self.head:
            raise self.damage(
                f"the ledger says that it ends with line {stored.seq} and chain"
                f" {stored.chain[:12]}, and does not"
            )

    def damage(self, wrong: str) -> DamagedRecordError:
        """Name the next line, and say what is wrong with it."""
        return DamagedRecordError(
            f"The line is damaged: {wrong}.", where=self._place(self.head.seq + 1)
        )

    def _place(self, seq: int) -> str:
        return f"{self._where}: line {seq}"

    def _require_blob(self, name: str) -> None:
        if name in self._seen:
            return
        try:
            data = self._blob(bytes.fromhex(name))
        except ValueError:
            raise self.damage(f"it cites {name[:80]!r}, which is no hash") from None
        if data is None:
            raise self.damage(f"the bytes {name[:12]} that it cites are missing")
        if not isinstance(data, bytes) or sha256(data).hex() != name:
            raise self.damage(f"the bytes {name[:12]} that it cites have another hash")
        self._seen.add(name)


def walk_lines(
    walker: LineWalker, rows: Iterable[tuple[Any, ...]], stored: LedgerHead
) -> Iterator[StoredLine]:
    """Go through a whole ledger, handing out each line once it is checked; the end comes last.

    Raises:
        DamagedRecordError: names the first line that is wrong.

    """
    for row in rows:
        yield walker.step(row)
    walker.finish(stored)
