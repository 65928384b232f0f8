"""The rows of one world's record in an export, found by the groups that hold them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from perdure.trace.parquet_table import ParquetTable
from perdure.trace.sealing import Row
from perdure.trace.stored import Linked, Unchecked
from perdure.trace.wanted import Span, Wanted

_EVENT = ("seq", "tick", "kind", "persona", "content", "payload", "hash")
_PAYLOAD = ("payload",)
_KEY_BYTES = 32
# How many groups of events are kept for whoever looks here and there.
_GROUPS_MAX = 4


class ExportedRows:
    """Reads the events and blobs of one world; of either, a group of rows at a time."""

    def __init__(
        self,
        path: Path,
        head: Unchecked,
        header: Callable[[], Any],
        events: ParquetTable,
        blobs: Callable[[], ParquetTable],
    ) -> None:
        self.path = path
        self._stored_head = head
        self._read_header = header
        self._events = events
        self._open_blobs = blobs
        self._groups: dict[int, Any] = {}
        # The number of the first row of every group, and behind the last one their number.
        self._starts = _starts(events)

    def header(self) -> Any:
        """Give the bytes of the header."""
        return self._header

    def head(self) -> Unchecked:
        """Give where the record says that it ends, and its last event."""
        count = self._starts[-1]
        return (*self._stored_head, self._seq_at(count - 1))

    def rows(self, last: int) -> Iterator[Row]:
        """Go through the events up to a number, in order."""
        for row in self._events.rows(_EVENT, _PAYLOAD):
            if row[0] is not None and row[0] > last:
                return
            yield _event(row)

    def count(self, span: Span) -> int:
        """Count the events of a span."""
        first, behind = self._places(span)
        return behind - first

    def linked(self, span: Span, wanted: Wanted) -> list[Linked]:
        """Give the wanted events of a span in order, each with the hash of the one before it."""
        first, behind = self._places(span)
        before = self._at(first - 1, "hash") if first > 0 else None
        found: list[Linked] = []
        last = self._seq_at(first - 1)
        for row in self._between(first, behind):
            if wanted.holds(row[2], row[3], row[5]):
                # The hash before is that of the event before, not of whatever row comes earlier.
                found.append((*row, before if last == row[0] - 1 else None))
            last, before = row[0], row[6]
        return found

    def tick_of(self, seq: int) -> Any:
        """Give the tick of an event."""
        return self._of(seq, "tick")

    def hash_of(self, seq: int) -> Any:
        """Give the hash of an event."""
        return self._of(seq, "hash")

    def content_from(self, seq: int) -> Any:
        """Give the content number of the first content event from here on."""
        place, _ = self._places(Span(seq, seq))
        while place < self._starts[-1]:
            found = self._at(place, "content")
            if found is not None:
                return found
            place += 1
        return None

    def has_blob(self, key: bytes) -> bool:
        """Say whether there are bytes with this hash."""
        return self._blob_place(key) is not None

    def blob(self, key: bytes) -> Any:
        """Give the bytes with this hash."""
        place = self._blob_place(key)
        if place is None:
            return None
        starts = self._blob_starts
        group = bisect_right(starts, place) - 1
        table = self._blobs.group(group, ("bytes",))
        return table.column("bytes")[place - starts[group]].as_py()

    def blobs(self) -> Iterator[Unchecked]:
        """Go through all bytes that events cite, by their hash."""
        return self._blobs.rows(("sha256", "bytes"))

    def close(self) -> None:
        """Close both files."""
        self._events.close()
        if "_blobs" in self.__dict__:
            self._blobs.close()
        self._groups.clear()

    @cached_property
    def _header(self) -> Any:
        return self._read_header()

    @cached_property
    def _blobs(self) -> ParquetTable:
        return self._open_blobs()

    @cached_property
    def _blob_starts(self) -> list[int]:
        return _starts(self._blobs)

    @cached_property
    def _keys(self) -> bytes:
        """All hashes, one behind the other: 32 bytes each is all that is kept of a blob."""
        found = (key for (key,) in self._blobs.rows(("sha256",)))
        return b"".join(key for key in found if key is not None and len(key) == _KEY_BYTES)

    def _blob_place(self, key: bytes) -> int | None:
        keys, low = self._keys, 0
        high = len(keys) // _KEY_BYTES
        if high != self._blobs.count:
            return None  # some are no hashes, so that nothing can be found by them
        while low < high:
            middle = (low + high) // 2
            found = keys[middle * _KEY_BYTES : (middle + 1) * _KEY_BYTES]
            if found == key:
                return middle
            if found < key:
                low = middle + 1
            else:
                high = middle
        return None

    def _of(self, seq: int, column: str) -> Any:
        place, behind = self._places(Span(seq, seq))
        return self._at(place, column) if behind > place else None

    def _places(self, span: Span) -> tuple[int, int]:
        """Give the place of the first row of a span, and that behind its last one."""
        return self._place_from(span.first), self._place_from(span.last + 1)

    def _place_from(self, seq: int) -> int:
        """Give the place of the first row with this number or a later one."""
        low, high = 0, self._starts[-1]
        if 0 <= seq < high and self._seq_at(seq) == seq:
            return seq  # where nothing is missing, an event is at the place of its number
        while low < high:
            middle = (low + high) // 2
            if self._seq_at(middle) >= seq:
                high = middle
            else:
                low = middle + 1
        return low

    def _at(self, place: int, column: str) -> Any:
        group = bisect_right(self._starts, place) - 1
        return self._group(group).column(column)[place - self._starts[group]].as_py()

    def _seq_at(self, place: int) -> int:
        """Give the number of the event at a place; -1 before the first one."""
        found = self._at(place, "seq") if place >= 0 else None
        return -1 if found is None else int(found)

    def _between(self, first: int, behind: int) -> Iterator[Row]:
        place = first
        while place < behind:
            group = bisect_right(self._starts, place) - 1
            start, end = self._starts[group], min(self._starts[group + 1], behind)
            part = self._group(group).slice(place - start, end - place)
            yield from map(_event, self._events.values(part, _EVENT))
            place = end

    def _group(self, number: int) -> Any:
        group = self._groups.pop(number, None)
        if group is None:
            group = self._events.group(number, _EVENT, _PAYLOAD)
        self._groups[number] = group
        if len(self._groups) > _GROUPS_MAX:
            self._groups.pop(next(iter(self._groups)))
        return group


def _event(row: Unchecked) -> Row:
    seq, tick, kind, persona, content, payload, chain = row
    return seq, tick, kind, persona or "", content, payload, chain


def _starts(table: ParquetTable) -> list[int]:
    starts = [0]
    for size in table.sizes():
        starts.append(starts[-1] + size)
    return starts
