"""One request as a test server saw it, and the means to answer it well or badly."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterable
from typing import Any

import msgspec

from perdure.base.clock import SystemClock
from perdure.records.record import Record

_CLOCK = SystemClock()
_STEP_S = 0.02
_LINGER_RESET = struct.pack("ii", 1, 0)


class SeenRequest(Record):
    """A request that reached the server.

    `index` counts the calls (POST) from 0, over all connections; another request has index -1.
    `key` is the bearer token that came with it, `headers` are all the others by their lower-case
    names, and `body` is its parsed JSON, if it had any.
    """

    index: int
    method: str
    path: str
    key: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: Any = None


class Exchange:
    """One open exchange: what was asked, the good reply to it, and the raw connection."""

    def __init__(
        self,
        seen: SeenRequest,
        good_body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.seen = seen
        self.good_body = good_body
        self.hang_s = 60.0
        self._reader = reader
        self._writer = writer

    @property
    def is_gone(self) -> bool:
        """Whether the connection is over, by either side."""
        return self._writer.transport.is_closing() or self._reader.at_eof()

    async def send(self, data: bytes) -> None:
        """Write raw bytes and wait until they have left."""
        self._writer.write(data)
        await self._writer.drain()

    async def reply(
        self, body: bytes, *, status: int = 200, headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Send a whole, correctly framed JSON reply; `headers` are sent beside the usual ones."""
        await self.send(framed(body, status=status, headers=headers))

    async def stream(self, parts: Iterable[bytes]) -> None:
        """Send a whole, correctly framed stream of events, each of the parts in a chunk."""
        await self.begin_stream()
        for part in parts:
            await self.send_chunk(part)
        await self.send(b"0\r\n\r\n")

    async def begin_stream(self) -> None:
        """Send the head of a stream of events."""
        kind = [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]
        await self.send(head(200, kind))

    async def send_chunk(self, part: bytes) -> None:
        """Send some bytes of a stream."""
        await self.send(b"%x\r\n%s\r\n" % (len(part), part))

    async def pause(self, seconds: float) -> None:
        """Wait, but no longer than the client does."""
        until = _CLOCK.now_s() + seconds
        while not self.is_gone and (left := until - _CLOCK.now_s()) > 0:
            await _CLOCK.sleep(min(left, _STEP_S))

    def close(self) -> None:
        """End the connection in the ordinary way, after what was sent."""
        self._writer.close()

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        raw: socket.socket | None = self._writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
        self._writer.transport.abort()


def head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Write a status line and headers, with the empty line that ends them."""
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def framed(body: bytes, *, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """Write a whole JSON reply with its true length."""
    usual = [("content-type", "application/json"), ("content-length", str(len(body)))]
    return head(status, [*usual, *headers]) + body
