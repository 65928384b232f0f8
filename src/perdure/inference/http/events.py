"""Server-sent events out of bytes as they come: from values to values.

Bytes may be cut anywhere, inside a character or a line ending too. Comments, which keep a
connection alive, and fields that nobody reads are left out. An event ends with an empty line: one
that the end of the stream cuts off is none.
"""

from __future__ import annotations

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"
# What a line of a stream begins with: a comment with nothing.
_FIELDS = (b"data", b"event", b"id", b"retry", b"")


class ServerEvent(NamedTuple):
    """One event: its name, empty where it has none, and its data."""

    name: bytes
    data: bytes


class EventReader:
    """Takes bytes in and gives the events that they end."""

    def __init__(self) -> None:
        self._left: list[bytes] = []
        self._name = b""
        self._data: list[bytes] = []
        self._is_begun = False
        self._has_events = self._has_others = False
        self.pending = 0

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take bytes in; give the events that ended. `pending` bytes are held of the next one."""
        self.pending += len(chunk)
        self._left.append(chunk)
        # What has no end yet is not gone through again and again.
        if b"\n" not in chunk and b"\r" not in chunk and self._left[0][-1:] != b"\r":
            return []
        return [event for line in self._lines() if (event := self._take(line)) is not None]

    @property
    def is_foreign(self) -> bool:
        """Whether what came is no stream: there was no event in it, and what is none."""
        return not self._has_events and (
            self._has_others or not _may_begin(b"".join(self._left).removeprefix(_BOM).strip())
        )

    def ended_with(self, data: bytes) -> bool:
        """Say whether what is left at the end of the stream is an event with this data, unended."""
        last = b"".join(self._left)
        parts = [*self._data, *([_value(last)] if last.startswith(b"data") else [])]
        return parts == [data]

    def _lines(self) -> list[bytes]:
        left = b"".join(self._left)
        if not self._is_begun:
            left = left.removeprefix(_BOM)
            self._is_begun = True
        # A carriage return at the very end may be the first half of one line ending.
        held = b"\r" if left.endswith(b"\r") else b""
        text = left.removesuffix(held).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        self._left = [rest + held]
        return lines

    def _take(self, line: bytes) -> ServerEvent | None:
        if not line:
            name, data = self._name, self._data
            self._name, self._data = b"", []
            self.pending = sum(map(len, self._left))
            self._has_events = self._has_events or bool(data)
            return ServerEvent(name, b"\n".join(data)) if data else None
        field, _, _ = line.partition(b":")
        if field == b"data":
            self._data.append(_value(line))
        elif field == b"event":
            self._name = _value(line)
        elif field not in _FIELDS:
            self._has_others = True
        return None


def _may_begin(line: bytes) -> bool:
    """Say whether a line that was cut off may have become one of a stream."""
    field, is_named, _ = line.partition(b":")
    if is_named:
        return field in _FIELDS
    return any(known.startswith(field) for known in _FIELDS)


def _value(line: bytes) -> bytes:
    return line.partition(b":")[2].removeprefix(b" ").rstrip(b"\r")
