"""The statements of a partition: how its rows are read, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.records.registry import LogHead
from perdure.records.scenario import Header
from perdure.trace.database import Database
from perdure.trace.decoding import decode
from perdure.trace.sealing import Row

# A page is one short query: no reader keeps a log from being emptied, none needs much memory.
_PAGE = 1_000

_PAGE_OF_EVENTS = (
    "SELECT seq, tick, kind, persona, content, payload, hash FROM events"
    " WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)
# One statement is one moment, so that the last event is that of this head.
_HEAD = (
    "SELECT seq, chain, content, digest, tick, log_seq, log_chain,"
    " (SELECT coalesce(max(seq), -1) FROM events) FROM head WHERE id = 1"
)
_TYPES = (int, bytes, int, bytes, int, int, bytes, int)


def read_header(database: Database) -> bytes:
    """Read the header's bytes.

    Raises:
        DamagedRecordError: there is none.

    """
    (payload,) = database.fetch_one("SELECT payload FROM header WHERE id = 1")
    if not isinstance(payload, bytes):
        raise DamagedRecordError("The header is not bytes.", where=str(database.path))
    return payload


def decode_header(payload: bytes, world_id: str, where: str) -> Header:
    """Decode a header, which must be that of the world whose file it is in.

    Raises:
        DamagedRecordError: it is not.

    """
    header = decode(payload, Header, where)
    if header.world_id != world_id:
        raise DamagedRecordError(f"This is the record of world {header.world_id}.", where=where)
    return header


def read_head(database: Database) -> tuple[Head, LogHead]:
    """Read where the partition says that it ends, and the run log's head that it witnesses.

    Raises:
        DamagedRecordError: there is no such row, or it is not what it should be.

    """
    row = database.fetch_one(_HEAD)
    if not all(isinstance(value, kind) for value, kind in zip(row, _TYPES, strict=True)):
        raise DamagedRecordError("The head is not of its types.", where=str(database.path))
    seq, chain, content, digest, tick, log_seq, log_chain, last = row
    if last != seq:
        raise DamagedRecordError(
            f"The partition says that it ends at seq {seq}, and its events end at {last}.",
            where=f"{database.path.stem}:{min(last, seq) + 1}",
        )
    head = Head(seq=seq, chain=chain.hex(), content=content, digest=digest.hex(), tick=tick)
    return head, LogHead(seq=log_seq, chain=log_chain.hex())


def read_rows(database: Database, last: int) -> Iterator[Row]:
    """Read the stored events up to a seq, in order, unchecked.

    Raises:
        DamagedRecordError: SQLite cannot read them.

    """
    after = -1
    while page := database.fetch(_PAGE_OF_EVENTS, (after, last, _PAGE)):
        yield from page
        after = page[-1][0]
