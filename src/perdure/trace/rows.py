"""Reading the header and the head of a world's record."""

from __future__ import annotations

from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.records.registry import LogHead
from perdure.records.scenario import Header
from perdure.trace.decoding import decode
from perdure.trace.stored import WorldRows

_TYPES = (int, bytes, int, bytes, int, int, bytes, int)


def read_header(rows: WorldRows) -> bytes:
    """Read the header's bytes.

    Raises:
        DamagedRecordError: there is none.

    """
    payload = rows.header()
    if not isinstance(payload, bytes):
        raise DamagedRecordError("The header is not bytes.", where=str(rows.path))
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


def read_head(rows: WorldRows) -> tuple[Head, LogHead]:
    """Read where the partition says that it ends, and the run log's head that it witnesses.

    Raises:
        DamagedRecordError: there is no such row, or it is not what it should be.

    """
    row = rows.head()
    if not all(isinstance(value, kind) for value, kind in zip(row, _TYPES, strict=True)):
        raise DamagedRecordError("The head is not of its types.", where=str(rows.path))
    seq, chain, content, digest, tick, log_seq, log_chain, last = row
    if last != seq:
        raise DamagedRecordError(
            f"The partition says that it ends at seq {seq}, and its events end at {last}.",
            where=f"{rows.path.stem}:{min(last, seq) + 1}",
        )
    head = Head(seq=seq, chain=chain.hex(), content=content, digest=digest.hex(), tick=tick)
    return head, LogHead(seq=log_seq, chain=log_chain.hex())
