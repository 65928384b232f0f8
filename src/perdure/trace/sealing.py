"""Sealing a batch: from events to rows with their hashes. Pure; the heart of every store.

A batch is one whole tick, or the one event that stands between ticks: a pause.
A batch that breaks the record's rules is our bug and is refused before anything is written.
"""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from perdure.base.canonical import encode
from perdure.base.errors import InternalError
from perdure.records.events import IS_CONTENT, KIND_OF, Batch, Degraded, Event, Head, TickClosed
from perdure.records.record import Record
from perdure.trace.chain import DIGEST_START, EVENT_PREFIX, NO_CONTENT, chain_start, digest_step
from perdure.trace.rungs import is_pause

Row = tuple[int, int, str, str, int | None, bytes, bytes]

_CLOSING = KIND_OF[TickClosed]
_DEGRADED = KIND_OF[Degraded]
pack = EVENT_PREFIX.pack

_KINDS: dict[type[Record], tuple[str, bytes, bool]] = {
    cls: (kind, kind.encode(), IS_CONTENT[kind]) for cls, kind in KIND_OF.items()
}


class Sealed(NamedTuple):
    """Rows ready to be written (seq, tick, kind, persona, content, payload, hash), and the head."""

    rows: list[Row]
    blobs: list[tuple[bytes, bytes]]
    head: Head


def first_head(header: bytes) -> Head:
    """Give the head of a record that has a header and no event yet."""
    return Head(seq=-1, chain=chain_start(header).hex(), content=0, digest=DIGEST_START.hex())


def seal(head: Head, batch: Batch) -> Sealed:
    """Check a batch against the head that it continues, encode it and hash it.

    Raises:
        InternalError: the batch is neither one whole tick that continues the record without a
            gap, nor a pause that does.

    """
    tick = _check_shape(head, batch.events)
    rows: list[Row] = []
    seq, content = head.seq, head.content
    chain = bytes.fromhex(head.chain)
    persona, persona_bytes = "", b""
    contents: list[bytes] = []
    # The one hot loop of the store: `chain.frame` and `chain_step`, written out.
    for event in batch.events:
        payload, number = event.payload, event.content
        kind, kind_bytes, is_content = _KINDS[type(payload)]
        seq += 1
        wanted = content if is_content else None
        if event.seq != seq or event.tick != tick or number != wanted:
            raise _misnumbered(event, kind, seq=seq, tick=tick)
        if event.persona != persona:
            persona = event.persona
            persona_bytes = persona.encode()
        encoded = encode(payload)
        prefix = pack(
            seq,
            NO_CONTENT if wanted is None else content,
            tick,
            len(kind_bytes),
            len(persona_bytes),
        )
        framed = prefix + kind_bytes + persona_bytes + encoded
        chain = sha256(chain + framed).digest()
        if is_content:
            contents.append(framed)
            content += 1
        rows.append((seq, tick, kind, persona, number, encoded, chain))
    closed = tick if _closes(tick, rows, batch.blobs) else head.tick
    digest = digest_step(bytes.fromhex(head.digest), contents).hex()
    sealed = Head(seq=seq, chain=chain.hex(), content=content, digest=digest, tick=closed)
    return Sealed(rows, _check_blobs(batch.blobs), sealed)


def _check_shape(head: Head, events: tuple[Event, ...]) -> int:
    if not events:
        raise InternalError("A batch without events cannot be written.")
    tick = events[0].tick
    if tick != head.tick + 1:
        raise InternalError(f"Tick {tick} cannot follow tick {head.tick}.")
    return tick


def _closes(tick: int, rows: list[Row], blobs: dict[str, bytes]) -> bool:
    """Say whether a batch is a whole tick, and not a pause before it."""
    kinds = [row[2] for row in rows]
    pauses = _DEGRADED in kinds and any(is_pause(row[2], row[5]) for row in rows)
    if pauses and len(rows) == 1 and not blobs:
        return False
    if pauses:
        raise InternalError(f"The batch of tick {tick} holds a pause, which stands alone.")
    if kinds[-1] != _CLOSING or kinds.count(_CLOSING) != 1:
        raise InternalError(f"The batch of tick {tick} does not end with its one {_CLOSING}.")
    return True


def _check_blobs(blobs: dict[str, bytes]) -> list[tuple[bytes, bytes]]:
    checked = []
    for name, data in blobs.items():
        key = sha256(data).digest()
        if key.hex() != name:
            raise InternalError(f"A blob is filed under {name}, which is not its hash.")
        checked.append((key, data))
    return checked


def _misnumbered(event: Event, kind: str, *, seq: int, tick: int) -> InternalError:
    return InternalError(
        f"The event {event.seq} ({kind}, tick {event.tick}, content {event.content}) does not"
        f" continue the record, whose next event is {seq} of tick {tick}."
    )
