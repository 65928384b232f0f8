"""The wire: the only module that knows the HTTP client. One exchange, an answer or a failure.

What the client is told: no redirects, no content encodings, no proxy for plain http or loopback.
What it is not trusted with: the size of a body, which is counted here, encodings that nobody asked
for, and the deadline from the first packet to the last byte, since its own goes on while this
process is stopped, and comes before the replies that arrived meanwhile.
"""

from __future__ import annotations

import atexit
import functools
import ipaddress
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol
from urllib.parse import urlsplit

import msgspec
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import ConnectError, PyreqwestError, RequestTimeoutError
from pyreqwest.request import RequestBuilder
from pyreqwest.response import Response

from perdure.base.errors import InternalError
from perdure.inference.http.key import Key
from perdure.inference.http.settings import HttpSettings
from perdure.inference.running_clock import RunningClock
from perdure.records.request import Failure, FailureCause

_CHUNK_BYTES = 64 * 1024
_QUIET_S = 0.1
# An endpoint closes connections that are left alone for some seconds. One that it closed while
# nobody looked here still looks open, and would fail the next exchange.
_UNSEEN_MAX_S = 1.0
_FIRST_ERROR = 300
_USER_AGENT = "perdure"
_EVENTS = "text/event-stream"
# How the client marks an error that came before the request was sent.
_BEFORE_SENDING = "client error (Connect)"


class Answer(msgspec.Struct, frozen=True):
    """A whole reply: its status, its `Retry-After` header if there is one, its body."""

    status: int
    retry_after: str | None
    body: bytes


class Taker(Protocol):
    """Who takes the bytes of a stream in while they come."""

    def feed(self, chunk: bytes) -> bool:
        """Take bytes in. True when nothing more is needed."""
        ...


class Transport:
    """Connections to one endpoint."""

    def __init__(self, settings: HttpSettings, base_url: str, key: Key) -> None:
        self._settings = settings
        self._base_url = base_url
        self._key = key
        self._client: Client | None = None
        self._urls: dict[str, str] = {}
        self._bytes_max = settings.reply_bytes_max
        self._clock = RunningClock()
        # A clock of its own: a task has one wait at a time on each.
        self._idle = RunningClock()
        self._skipped_s = 0.0
        self.bytes_read = 0

    def open(self) -> None:
        """Make the client. Nothing is connected yet.

        Raises:
            InternalError: it is open already.

        """
        if self._client is not None:
            raise InternalError("The connection to the model endpoint is open already.")
        _rest_at_exit()
        self._client = self._make()
        self._skipped_s = self._clock.skipped_s

    def _make(self) -> Client:
        builder = (
            ClientBuilder()
            .user_agent(_USER_AGENT)
            .follow_redirects(enable=False)
            .referer(enable=False)
            .gzip(enable=False)
            .brotli(enable=False)
            .zstd(enable=False)
            .deflate(enable=False)
            .http1_only()
            .connect_timeout(timedelta(seconds=self._settings.connect_s))
        )
        if not _may_use_proxy(self._base_url):
            builder = builder.no_proxy()
        headers = {"content-type": "application/json"}
        if self._key.is_given:
            headers["authorization"] = self._key.header()
        if not self._settings.reuse_connections:
            builder = builder.pool_max_idle_per_host(0)
            headers["connection"] = "close"
        return builder.default_headers(headers).build()

    async def close(self) -> None:
        """End what is open. A transport that was never opened is closed already."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def post(self, path: str, body: bytes, timeout_s: float) -> Answer | Failure:
        """Send a JSON body and read the reply, within `timeout_s` seconds."""
        url = self._url(path)
        return _whole(
            await self._exchange(lambda client: client.post(url).body_bytes(body), timeout_s)
        )

    async def stream(
        self, path: str, body: bytes, timeout_s: float, taker: Taker
    ) -> Answer | Failure | None:
        """Send a JSON body and have the reply taken in while it comes, within `timeout_s` seconds.

        None when it was: to its own end, or as far as was needed. An endpoint that answers in one
        piece, or with an error, gives an answer like any other.
        """
        url = self._url(path)
        return await self._exchange(
            lambda client: client.post(url).body_bytes(body), timeout_s, taker
        )

    async def get(self, path: str, timeout_s: float) -> Answer | Failure:
        """Ask for a resource and read it, within `timeout_s` seconds."""
        url = self._url(path)
        return _whole(await self._exchange(lambda client: client.get(url), timeout_s))

    def _trusted(self) -> Client:
        """Give the client; a new one if connections of the old may have been closed unseen.

        What is under way goes on with the old one, and is the last that does.
        """
        if self._client is None:
            raise InternalError("The connection to the model endpoint is not open.")
        skipped_s = self._clock.skipped_s
        if skipped_s - self._skipped_s > _UNSEEN_MAX_S:
            self._client = self._make()
        self._skipped_s = skipped_s
        return self._client

    def _url(self, path: str) -> str:
        if (url := self._urls.get(path)) is None:
            url = self._urls[path] = f"{self._base_url}{path}"
        return url

    async def _exchange(
        self,
        build: Callable[[Client], RequestBuilder],
        timeout_s: float,
        taker: Taker | None = None,
    ) -> Answer | Failure | None:
        begun_s = now_s = self._clock.now_s()
        while True:
            tried_s = now_s
            try:
                once = self._once(build(self._trusted()), taker)
                return await self._clock.within(timeout_s - (now_s - begun_s), once)
            except PyreqwestError as error:
                now_s = self._clock.now_s()
                # The client's own limit on connecting goes on while this process is stopped. Where
                # that is why it ended, nothing was sent, and it may connect again.
                spent = now_s - tried_s >= self._settings.connect_s or now_s - begun_s >= timeout_s
                if spent or not _is_connect_timeout(error):
                    return Failure(cause=_cause(error))
            except TimeoutError:
                return Failure(cause=FailureCause.TIMEOUT)

    async def _once(self, builder: RequestBuilder, taker: Taker | None) -> Answer | Failure | None:
        if taker is not None:
            # Else the client waits for as much as it buffers before it gives anything.
            builder = builder.streamed_read_buffer_limit(0)
        async with builder.build_streamed() as response:
            if taker is not None and response.status < _FIRST_ERROR and _is_stream(response):
                await self._take_in(response, taker)
                return None
            return await self._read(response, response.status)

    async def _take_in(self, response: Response, taker: Taker) -> None:
        reader = response.body_reader
        while True:
            chunk = await self._idle.within(self._settings.idle_s, reader.read_chunk())
            if chunk is None:
                return
            self.bytes_read += len(chunk)
            if taker.feed(bytes(chunk)):
                return

    async def _read(self, response: Response, status: int) -> Answer | Failure:
        encoding = response.get_header("content-encoding")
        cause = FailureCause.BAD_REPLY
        if encoding is None or encoding.strip().lower() in {"", "identity"}:
            cause = FailureCause.REPLY_TOO_LARGE
            body = await self._body(response)
            if body is not None and status < _FIRST_ERROR:
                return Answer(status, None, body)
            if body is not None:
                return Answer(status, response.get_header("retry-after"), body)
        if status >= _FIRST_ERROR:  # an error's status says enough without its body
            return Answer(status, response.get_header("retry-after"), b"")
        return Failure(cause=cause, status=status)

    async def _body(self, response: Response) -> bytes | None:
        """Read the body; None as soon as it is, or promises to be, larger than allowed."""
        reader = response.body_reader
        parts: list[bytes] = []
        size = 0
        while chunk := await reader.read(_CHUNK_BYTES):
            parts.append(bytes(chunk))
            size += len(chunk)
            self.bytes_read += len(chunk)
            if len(chunk) < _CHUNK_BYTES:
                break
            if size > self._bytes_max or self._is_too_long(response):
                return None
        if size > self._bytes_max:
            return None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _is_too_long(self, response: Response) -> bool:
        length = response.get_header("content-length")
        return length is not None and length.isdigit() and int(length) > self._bytes_max


def _whole(answer: Answer | Failure | None) -> Answer | Failure:
    assert answer is not None, "without somebody to take it in, a reply comes whole"
    return answer


def _is_stream(response: Response) -> bool:
    """Say whether a body comes in events. One that is encoded is left to be refused."""
    kind = (response.get_header("content-type") or "").partition(";")[0]
    encoding = (response.get_header("content-encoding") or "identity").strip().lower()
    return kind.strip().lower() == _EVENTS and encoding in {"", "identity"}


@functools.cache
def _rest_at_exit() -> None:
    """Give the client's own thread a moment before the interpreter ends.

    For its last wake-up that thread takes the interpreter's lock, and an interpreter that ends in
    that instant aborts, and the run's exit status is lost: one exit of six right after a refused
    body, and none with this wait, which leaves the lock to whoever needs it.
    """
    atexit.register(threading.Event().wait, _QUIET_S)


def _cause(error: PyreqwestError) -> FailureCause:
    if _is_before_sending(error):
        return FailureCause.CONNECT
    if isinstance(error, RequestTimeoutError):
        return FailureCause.TIMEOUT
    return FailureCause.TRANSPORT


def _is_connect_timeout(error: PyreqwestError) -> bool:
    return isinstance(error, RequestTimeoutError) and _is_before_sending(error)


def _is_before_sending(error: PyreqwestError) -> bool:
    if not isinstance(error, ConnectError | RequestTimeoutError):
        return False
    causes = error.details.get("causes") or []
    return any(cause["message"] == _BEFORE_SENDING for cause in causes)


def _may_use_proxy(base_url: str) -> bool:
    """Say whether the machine's proxy may be used: only where TLS hides the key from it."""
    parts = urlsplit(base_url)
    if parts.scheme != "https" or parts.hostname is None or parts.hostname == "localhost":
        return False
    try:
        return not ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        return True  # a name, not an address
