"""A real HTTP server on loopback that answers like an OpenAI-compatible endpoint, or misbehaves.

It runs in a thread of its own, so that any test can use it::

    with MisbehavingServer() as server:
        server.play({0: "reset_mid_body", 2: "status_429"})
        ...                     # point a provider at server.base_url
    assert server.calls == 4    # two of three calls needed a second attempt

Faults are named in `perdure.testing.FAULTS` and `STREAM_FAULTS`. Without one, a call gets a
well-formed reply with the asked model's name and its usage, as a stream if it asked for one. The
server keeps every key it sees: give it no real one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec

from perdure.base.clock import SystemClock
from perdure.records.tools import ToolCall
from perdure.testing import replies
from perdure.testing.exchange import Exchange, SeenRequest
from perdure.testing.faults import ENDPOINT_FAULTS, FAULTS, STREAM_FAULTS

# What the model says to a parsed request: a text, or the tools that it asks for.
Responder = Callable[[dict[str, Any]], str | tuple[ToolCall, ...]]
Faults = Mapping[int, str] | Callable[[SeenRequest], str | None] | str

_CLOCK = SystemClock()
_STREAM_LIMIT = 1 << 26
_STALL_FILLERS = 4
_OK = 200
_TLS_HANDSHAKE = b"\x16"


def default_responder(request: dict[str, Any]) -> str:
    """Answer any request with one sentence that says how much was asked."""
    messages = request.get("messages") or []
    return f"I have read {len(messages)} messages and have nothing to add."


class MisbehavingServer:
    """A loopback endpoint under a test's control; a context manager."""

    def __init__(
        self,
        *,
        responder: Responder = default_responder,
        models: tuple[str, ...] | None = None,
        key: str | None = None,
        latency_s: float = 0.0,
        hang_s: float = 60.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Prepare a server; it listens from `__enter__` on.

        `responder` turns a parsed chat request into text, or into calls of tools. `models` are the
        known models (all, if absent), `key` the accepted key (any, if absent). `hang_s` is how
        long a fault that stalls or drips goes on for a client that waits.
        """
        self.responder = responder
        self.latency_s = latency_s
        self.requests: list[SeenRequest] = []
        self._models = models
        self._key = key
        self._hang_s = hang_s
        self._tls = tls
        self._faults: Faults = {}
        self._calls = 0
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listener: asyncio.Server | None = None
        self._exchanges: set[asyncio.Task[None]] = set()
        self._sockets: list[socket.socket] = []
        self._port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(self, *_exception: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for held in self._sockets:
            held.close()

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        scheme = "https" if self._tls else "http"
        return f"{scheme}://127.0.0.1:{self._port}/v1"

    @property
    def calls(self) -> int:
        """How many calls (POST) reached the server."""
        return self._calls

    @property
    def keys(self) -> set[str]:
        """Every key that came with a request."""
        return {seen.key for seen in self.requests}

    def play(self, faults: Faults) -> None:
        """Choose the faults from here on.

        A mapping names them by the index of the call, a function by the request; one name alone is
        played for every call. Indices count from 0 over the server's whole life.
        """
        self._faults = faults

    def endpoint(self, fault: str) -> str:
        """Give the address of an endpoint that cannot be reached, in one of `ENDPOINT_FAULTS`.

        Raises:
            KeyError: there is no such fault.

        """
        if fault not in ENDPOINT_FAULTS:
            raise KeyError(fault)
        if fault == "unknown_host":
            return "http://nowhere.invalid/v1"
        if fault == "no_tls":
            return f"https://127.0.0.1:{self._port}/v1"
        held = socket.socket()
        held.bind(("127.0.0.1", 0))
        self._sockets.append(held)
        if fault == "connect_stall":
            self._fill_backlog(held)
        return f"http://127.0.0.1:{held.getsockname()[1]}/v1"

    def _fill_backlog(self, listener: socket.socket) -> None:
        listener.listen(0)
        for _ in range(_STALL_FILLERS):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            self._sockets.append(filler)

    async def _open(self) -> None:
        self._listener = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, ssl=self._tls, limit=_STREAM_LIMIT, backlog=1024
        )
        self._port = self._listener.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for task in list(self._exchanges):
            task.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._exchanges.add(task)
            task.add_done_callback(self._exchanges.discard)
        try:
            while not writer.transport.is_closing():
                await self._exchange(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.transport.abort()  # the client left, or does not speak HTTP
        except asyncio.CancelledError:
            writer.transport.abort()  # the server is closed; nobody awaits this task's result
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen = self._see(*await _read_request(reader))
        fault = self._fault_for(seen)
        if self.latency_s:
            await _CLOCK.sleep(self.latency_s)
        status, tree = self._answer(seen)
        exchange = Exchange(seen, replies.to_bytes(tree), reader, writer)
        exchange.hang_s = self._hang_s
        if fault is not None:
            await (FAULTS.get(fault) or STREAM_FAULTS[fault]).play(exchange)
        elif status == _OK and (chunks := _streamed(seen, tree)):
            await exchange.stream(replies.to_stream(chunks))
        else:
            await exchange.reply(exchange.good_body, status=status)

    def _see(self, method: str, path: str, headers: dict[str, str], body: bytes) -> SeenRequest:
        scheme, _, key = headers.pop("authorization", "").partition(" ")
        with self._lock:
            index = -1
            if method == "POST":
                index = self._calls
                self._calls += 1
            seen = SeenRequest(
                index=index,
                method=method,
                path=path,
                key=key if scheme.lower() == "bearer" else "",
                headers=headers,
                body=_parsed(body),
            )
            self.requests.append(seen)
        return seen

    def _fault_for(self, seen: SeenRequest) -> str | None:
        if seen.index < 0:
            return None
        if isinstance(self._faults, str):
            return self._faults
        if isinstance(self._faults, Mapping):
            return self._faults.get(seen.index)
        return self._faults(seen)

    def _answer(self, seen: SeenRequest) -> tuple[int, Any]:
        if self._key is not None and seen.key != self._key:
            return 401, replies.error_tree("Incorrect API key provided.", "invalid_api_key")
        if seen.method == "GET" and seen.path.endswith("/models"):
            return 200, replies.models_tree(self._models or ("test-model",))
        if seen.index < 0 or not isinstance(seen.body, dict):
            return 400, replies.error_tree("There is nothing here.", None)
        model = str(seen.body.get("model", ""))
        if self._models is not None and model not in self._models:
            return 404, replies.error_tree("The model does not exist.", "model_not_found")
        if seen.path.endswith("/embeddings"):
            return 200, replies.embedding_tree(_texts(seen.body), model)
        said = self.responder(seen.body)
        text, calls = (said, ()) if isinstance(said, str) else ("", said)
        return 200, replies.chat_tree(text, model, seen.body, seen.index, calls)


def _streamed(seen: SeenRequest, tree: Any) -> list[dict[str, Any]]:
    """Give the chunks of a reply, if it was asked for as a stream."""
    body = seen.body
    if not isinstance(body, dict) or not body.get("stream") or "choices" not in tree:
        return []
    options = body.get("stream_options") or {}
    return replies.chat_events(tree, with_usage=bool(options.get("include_usage")))


def _texts(body: dict[str, Any]) -> list[str]:
    given = body.get("input", [])
    return [given] if isinstance(given, str) else [str(text) for text in given]


def _parsed(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body) if body else None
    except msgspec.DecodeError:
        return None  # kept as a request without a readable body, and answered with 400


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes]:
    start = await reader.readexactly(1)
    if start == _TLS_HANDSHAKE:
        raise ConnectionAbortedError
    raw = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = raw.split("\r\n")
    method, path, *_ = [*first.split(" "), "", ""]
    pairs = (line.partition(":") for line in lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return method, path, headers, body
