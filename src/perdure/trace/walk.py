"""Walking a record row by row: the checks that every reader who must be sure makes. Pure.

A walker is given stored rows in order and says, of the first one that is wrong, what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from perdure.base.errors import DamagedRecordError
from perdure.records.events import IS_CONTENT, Head
from perdure.trace.chain import EVENT_PREFIX, NO_CONTENT, chain_step, digest_step
from perdure.trace.rungs import is_pause
from perdure.trace.sealing import Row, first_head

CLOSING = "tick_closed"
# As SQLite gives them; only an event that is no content has no content number.
_COLUMN_TYPES = frozenset(
    (int, int, str, str, content, bytes, bytes) for content in (int, type(None))
)
_KINDS = {kind: (kind.encode(), is_content) for kind, is_content in IS_CONTENT.items()}
_pack = EVENT_PREFIX.pack


class Walker:
    """Follows the chain and the digest of one world over its stored rows."""

    def __init__(self, world_id: str, header: bytes) -> None:
        start = first_head(header)
        self.world_id = world_id
        self.seq = start.seq
        self.content = start.content
        self.tick = start.tick
        self._chain = bytes.fromhex(start.chain)
        self._digest = bytes.fromhex(start.digest)
        self._contents: list[bytes] = []
        self._whole = True

    @property
    def head(self) -> Head:
        """Where the record stands after the last row walked; the digest is of whole ticks."""
        return Head(
            seq=self.seq,
            chain=self._chain.hex(),
            content=self.content,
            digest=self._digest.hex(),
            tick=self.tick,
        )

    def step(self, row: Row) -> None:
        """Check the next row and follow it.

        Raises:
            DamagedRecordError: the row is not what was written, or not what may follow.

        """
        # Done for every event whenever a record is read, so what is wrong is asked only if need be.
        seq, tick, kind, persona, content, payload, stored = row
        if kind not in _KINDS or seq != self.seq + 1 or tick != self.tick + 1:
            raise self._damage_of(row)
        kind_bytes, is_content = _KINDS[kind]
        if content != (self.content if is_content else None):
            raise self._damage_of(row)
        number = NO_CONTENT if content is None else content
        try:
            persona_bytes = persona.encode()
            prefix = _pack(seq, number, tick, len(kind_bytes), len(persona_bytes))
            framed = prefix + kind_bytes + persona_bytes + payload
        except (AttributeError, TypeError, struct.error):
            raise self._damage_of(row) from None
        chain = chain_step(self._chain, framed)
        if chain != stored:
            raise self._damage_of(row)
        if content is not None:
            self._contents.append(framed)
            self.content += 1
        self._chain, self.seq = chain, seq
        self._whole = kind == CLOSING or (self._whole and is_pause(kind, payload))
        if kind == CLOSING:
            self._digest = digest_step(self._digest, self._contents)
            self._contents.clear()
            self.tick = tick

    def finish(self, stored: Head, witness: Head | None) -> None:
        """Check the end of the record: whole, as its own head says, and as its witness says.

        Raises:
            DamagedRecordError: events are missing at the end.

        """
        if not self._whole:
            raise self.damage(f"it is missing; tick {self.tick + 1} does not end")
        if stored != self.head:
            raise self.damage(
                f"the partition says that it ends at seq {stored.seq} with chain"
                f" {stored.chain[:12]}, and does not"
            )
        if witness is not None and self.seq < witness.seq:
            raise self.damage(f"it was acknowledged (up to seq {witness.seq}) and is rolled back")

    def check_witness(self, witness: Head | None) -> None:
        """Check the row just walked against the witness, if the witness is about it.

        Raises:
            DamagedRecordError: another event was acknowledged at this place.

        """
        if witness is not None and witness.seq == self.seq and witness != self.head:
            raise DamagedRecordError(
                "Another event was acknowledged here than the one that is stored.",
                where=f"{self.world_id}:{self.seq}",
            )

    def _damage_of(self, row: Row) -> DamagedRecordError:
        """Say what is wrong with a row that is."""
        seq, tick, kind, _, content, _, _ = row
        if tuple(map(type, row)) not in _COLUMN_TYPES:
            wrong = "its columns are not of their types"
        elif seq != self.seq + 1:
            wrong = f"it is missing; the next event that is there has seq {seq}"
        elif kind not in _KINDS:
            wrong = f"no event is of the kind {kind!r}"
        elif tick != self.tick + 1:
            wrong = f"it is of tick {tick}, where tick {self.tick + 1} is open"
        elif content != (self.content if IS_CONTENT[kind] else None):
            wrong = f"its content number is {content}"
        else:
            wrong = "its bytes do not match its hash"
        return self.damage(wrong)

    def damage(self, wrong: str, seq: int | None = None) -> DamagedRecordError:
        """Name the next event, or the one at `seq`, and say what is wrong with it."""
        place = self.seq + 1 if seq is None else seq
        return DamagedRecordError(
            f"The event is damaged: {wrong}.",
            where=f"{self.world_id}:{place}",
        )


def walked(
    walker: Walker, rows: Iterable[Row], stored: Head, witness: Head | None
) -> Iterator[Row]:
    """Go through a whole record, handing out each row once it is checked.

    `stored` is where the record says that it ends. The end itself is checked after the last row.

    Raises:
        DamagedRecordError: names the first event that is wrong.

    """
    witnessed = None if witness is None else witness.seq
    walker.check_witness(witness)
    for row in rows:
        walker.step(row)
        if walker.seq == witnessed:
            walker.check_witness(witness)
        yield row
    walker.finish(stored, witness)
