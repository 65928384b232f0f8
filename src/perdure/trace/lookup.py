"""Single events of a world: by number, by kind or by persona, without reading all of its record.

Each event that is handed out is checked against the hash of the event before it, and the end of
the record against its own head and its witness. What lies between is looked through where it is
stored and is not checked: for that there is `verify`, which reads everything.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Self

from perdure.base.errors import DamagedRecordError
from perdure.records.events import Event, Head
from perdure.trace.chain import chain_step, frame
from perdure.trace.decoding import decode_event
from perdure.trace.reader import RunReader
from perdure.trace.rows import read_head, read_header
from perdure.trace.sealing import first_head
from perdure.trace.stored import Linked, WorldRows
from perdure.trace.wanted import EVERYTHING, Span, Wanted

# So many numbers are looked through by one short query: no reader keeps a log from being emptied.
_PAGE = 5_000


class Lookup:
    """Looks events of one world up. What it says of a live run is true of the moment it was made.

    `head` is where the record ended then.
    """

    def __init__(self, reader: RunReader, world_id: str, head: Head) -> None:
        self.reader = reader
        self.world_id = world_id
        self.head = head

    @classmethod
    def of(cls, reader: RunReader, world_id: str) -> Self | None:
        """Look at a world; None if it has no record yet.

        Raises:
            DamagedRecordError: its record does not end as it says itself, or as was witnessed.

        """
        # In this order: a world that goes on meanwhile is ahead of its witness, never behind.
        witness = reader.witnesses()[world_id]
        if reader.head(world_id) is None:
            return None
        reader.header(world_id)
        stored, _ = read_head(reader.partition(world_id))
        found = cls(reader, world_id, stored)
        found._check_end(witness)
        return found

    def event(self, seq: int) -> Event:
        """Give the event with this number, which is one of 0 to `head.seq`.

        Raises:
            DamagedRecordError: it is missing, or not what was written.

        """
        for event in self.events(Span(seq, seq)):
            return event
        raise self._damage(seq, "it is missing")

    def by_content(self, number: int) -> Event | None:
        """Give the event with this content number; None if there is none.

        Raises:
            DamagedRecordError: it is not what was written.

        """
        if not 0 <= number < self.head.content:
            return None

        def reached(seq: int) -> bool:
            found = self._rows.content_from(seq)
            return found is None or bool(found > number)

        after = _first(0, self.head.seq + 1, reached)
        found = self.event(after - 1) if after > 0 else None
        return found if found is not None and found.content == number else None

    def span_of(self, tick: int) -> Span:
        """Give the numbers of a tick's events, with a pause before it if there is one.

        Raises:
            DamagedRecordError: an event is missing.

        """
        first = self._first_of(tick)
        return Span(first, self._first_of(tick + 1) - 1)

    def events(self, span: Span, wanted: Wanted = EVERYTHING) -> Iterator[Event]:
        """Go through the wanted events of a span, in order.

        Raises:
            DamagedRecordError: one of them is not what was written, or an event is missing.

        """
        for first in range(span.first, span.last + 1, _PAGE):
            yield from self._page(Span(first, min(first + _PAGE - 1, span.last)), wanted)

    def backwards(self, span: Span, wanted: Wanted) -> Iterator[Event]:
        """Go through the wanted events of a span, the last one first.

        Raises:
            DamagedRecordError: one of them is not what was written, or an event is missing.

        """
        for last in range(span.last, span.first - 1, -_PAGE):
            page = Span(max(last - _PAGE + 1, span.first), last)
            yield from reversed(list(self._page(page, wanted)))

    @property
    def _rows(self) -> WorldRows:
        return self.reader.partition(self.world_id)

    def _page(self, span: Span, wanted: Wanted) -> Iterator[Event]:
        rows = self._rows
        if rows.count(span) != span.last - span.first + 1:
            raise self._damage_in(span)
        for row in rows.linked(span, wanted):
            self._check(row)
            seq, tick, kind, persona, content, payload, _, _ = row
            yield Event(
                seq=seq,
                tick=tick,
                payload=decode_event(kind, payload, self.world_id, seq),
                persona=persona,
                content=content,
            )

    def _check(self, row: Linked) -> None:
        """Check a row against the one before it. Of two that do not fit, the earlier is named."""
        if self._fits(row):
            return
        seq = row[0]
        wrong = "its bytes do not match its hash"
        if seq > 0:
            earlier = self._rows.linked(Span(seq - 1, seq - 1), EVERYTHING)
            if not earlier:
                raise self._damage(seq - 1, "it is missing")
            (before,) = earlier
            if not self._fits(before):
                raise self._damage(seq - 1, wrong)
        raise self._damage(seq, wrong)

    def _fits(self, row: Linked) -> bool:
        seq, tick, kind, persona, content, payload, stored, before = row
        if seq == 0:
            before = bytes.fromhex(first_head(read_header(self._rows)).chain)
        if not isinstance(before, bytes):
            return False
        try:
            framed = frame(
                seq=seq,
                content=content,
                tick=tick,
                kind=kind.encode(),
                persona=persona.encode(),
                payload=payload,
            )
        except (AttributeError, TypeError, struct.error):
            return False
        return chain_step(before, framed) == stored

    def _check_end(self, witness: Head | None) -> None:
        head = self.head
        if witness is not None and head.seq < witness.seq:
            raise self._damage(
                head.seq + 1,
                f"it was acknowledged (up to seq {witness.seq}) and is rolled back",
            )
        if witness is not None and self._chain_at(witness.seq) != witness.chain:
            raise DamagedRecordError(
                "Another event was acknowledged here than the one that is stored.",
                where=f"{self.world_id}:{witness.seq}",
            )
        if self._chain_at(head.seq) != head.chain:
            raise self._damage(head.seq, "the record says that it ends with another one")
        self.reader.check_witness(self.world_id, head)

    def _chain_at(self, seq: int) -> str | None:
        if seq < 0:
            return first_head(read_header(self._rows)).chain
        found = self._rows.hash_of(seq)
        return found.hex() if isinstance(found, bytes) else None

    def _first_of(self, tick: int) -> int:
        """Find the number of the first event of a tick or a later one: ticks only go up."""

        def reached(seq: int) -> bool:
            found = self._rows.tick_of(seq)
            if found is None:
                raise self._damage(seq, "it is missing")
            return bool(found >= tick)

        return _first(0, self.head.seq + 1, reached)

    def _damage_in(self, span: Span) -> DamagedRecordError:
        """Name the first event of a span that is missing."""
        missing = span.first
        for seq, *_ in self._rows.linked(span, EVERYTHING):
            if seq != missing:
                break
            missing += 1
        return self._damage(missing, "it is missing")

    def _damage(self, seq: int, wrong: str) -> DamagedRecordError:
        return DamagedRecordError(f"The event is damaged: {wrong}.", where=f"{self.world_id}:{seq}")


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Find the least number from `low` on for which something holds, `high` if none below it."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
