"""CPU per call of HTTP clients, at many calls in flight, as ratios to a floor in the same run.

The floor is a bare asyncio protocol: it writes a request and cuts a reply of known shape from the
stream, on connections that are kept open. The server is another process, so that what is measured
is the client's own CPU (all of its threads). Run it with `python benchmarks/http_client.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import msgspec
from pyreqwest.client import ClientBuilder

from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.limits import Limits
from perdure.records.request import CallKey, ChatRequest, Message, Reply
from perdure.records.scenario import ModelPin
from perdure.records.usage import Price
from perdure.testing import replies

Call = Callable[[], Awaitable[bytes]]
Client = Callable[[int, int], contextlib.AbstractAsyncContextManager[Call]]

_MESSAGES = [
    {"role": "system", "content": "You answer as a person from a survey. " * 20},
    {"role": "user", "content": "Which of the candidates would you vote for, and why? " * 4},
]
_REQUEST = msgspec.json.encode(
    {
        "model": "test-model",
        "messages": _MESSAGES,
        "max_tokens": 120,
        "temperature": 0.7,
        "seed": 12345,
    }
)
_SERVER = r"""
import asyncio, sys
body = sys.stdin.buffer.read()
reply = (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
         % len(body)) + body
latency = float(sys.argv[1])

class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(rest) >= length:
            self.buffer = rest[length:]
            loop.call_later(latency, self.answer)

    def answer(self):
        if not self.transport.is_closing():
            self.transport.write(reply)

async def main():
    global loop
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class _Floor(asyncio.Protocol):
    """One connection of the floor: one request at a time, the reply found by its length."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.waiter: asyncio.Future[bytes] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self.buffer.find(b"content-length: ") + 16
        length = int(self.buffer[start : self.buffer.find(b"\r", start)])
        if len(self.buffer) >= end + 4 + length and self.waiter is not None:
            self.waiter.set_result(bytes(self.buffer[end + 4 : end + 4 + length]))
            self.buffer.clear()


@contextlib.asynccontextmanager
async def floor(port: int, flight: int) -> AsyncIterator[Call]:
    """Open the floor: `flight` connections, each a bare protocol."""
    loop = asyncio.get_running_loop()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(_REQUEST)}\r\n\r\n"
    ).encode()
    idle = [(await loop.create_connection(_Floor, "127.0.0.1", port))[1] for _ in range(flight)]
    every = list(idle)

    async def call() -> bytes:
        connection = idle.pop()
        connection.waiter = loop.create_future()
        assert connection.transport is not None
        connection.transport.write(head + _REQUEST)
        body = await connection.waiter
        idle.append(connection)
        return body

    yield call
    for connection in every:
        if connection.transport is not None:
            connection.transport.close()


@contextlib.asynccontextmanager
async def pyreqwest(port: int, _flight: int) -> AsyncIterator[Call]:
    """Open a pyreqwest client that reads bodies with a cap and a deadline, as ours does."""
    builder = ClientBuilder().gzip(enable=False).brotli(enable=False).zstd(enable=False)
    url, headers = (
        f"http://127.0.0.1:{port}/v1/chat/completions",
        {"content-type": "application/json"},
    )
    async with builder.deflate(enable=False).no_proxy().default_headers(headers).build() as client:

        async def call() -> bytes:
            request = client.post(url).body_bytes(_REQUEST).timeout(timedelta(seconds=60))
            async with request.build_streamed() as response:
                assert response.status == 200
                body = await response.body_reader.read(1 << 23)
                return b"" if body is None else bytes(body)

        yield call


@contextlib.asynccontextmanager
async def aiohttp(port: int, _flight: int) -> AsyncIterator[Call]:
    """Open an aiohttp client that reads bodies with a cap and a deadline."""
    import aiohttp as library  # noqa: PLC0415 - compared only if installed

    url, headers = (
        f"http://127.0.0.1:{port}/v1/chat/completions",
        {"content-type": "application/json"},
    )
    async with library.ClientSession(
        connector=library.TCPConnector(limit=0),
        auto_decompress=False,
        skip_auto_headers=["accept-encoding"],
        headers=headers,
        timeout=library.ClientTimeout(total=60),
    ) as session:

        async def call() -> bytes:
            async with session.post(url, data=_REQUEST, allow_redirects=False) as response:
                assert response.status == 200
                return await response.content.read(1 << 23)

        yield call


@contextlib.asynccontextmanager
async def provider(port: int, _flight: int) -> AsyncIterator[Call]:
    """Open our HTTP provider alone: request encoded, reply validated, usage normalised."""
    opened, request = _provider(port)
    await opened.open()

    async def call() -> bytes:
        reply = await opened.chat(request, 60.0)
        assert isinstance(reply, Reply), reply
        return reply.text.encode()

    yield call
    await opened.close()


@contextlib.asynccontextmanager
async def host(port: int, flight: int) -> AsyncIterator[Call]:
    """Open the whole path of a run's call: host, limits, retry policy, settlement, provider."""
    opened, request = _provider(port)
    served = Respondent(opened, Price(input_fresh=150_000_000, output=600_000_000))
    whole = InferenceHost({"tier_a": served}, limits=Limits(in_flight_max=flight))
    await whole.open()
    job = 0

    async def call() -> bytes:
        nonlocal job
        job += 1
        key = CallKey(world="0123456789ab", tick=1, job=job, purpose="turn", ordinal=0)
        result = await whole.call(key, request)
        assert isinstance(result.answer, Reply), result
        return result.answer.text.encode()

    yield call
    await whole.close()


def _provider(port: int) -> tuple[HttpProvider, ChatRequest]:
    settings = HttpSettings(base_url=f"http://127.0.0.1:{port}/v1")
    pin = ModelPin(provider="http", model="test-model")
    messages = tuple(msgspec.convert(_MESSAGES, list[Message]))
    request = ChatRequest(
        role="tier_a", messages=messages, tokens_max=120, temperature=0.7, seed=12345
    )
    return HttpProvider(settings, pin, environment={}), request


async def measure(client: Client, port: int, calls: int, flight: int) -> tuple[float, float]:
    """Make the calls; return CPU microseconds per call, and the wall seconds of them all."""
    async with client(port, flight) as call:

        async def worker(count: int) -> None:
            for _ in range(count):
                assert await call()

        await asyncio.gather(*(worker(2) for _ in range(flight)))  # warm: connections are open
        cpu, wall = time.process_time(), time.perf_counter()
        await asyncio.gather(*(worker(calls // flight) for _ in range(flight)))
        done = calls // flight * flight
        return (time.process_time() - cpu) / done * 1e6, time.perf_counter() - wall


def _start_server(latency: float) -> tuple[subprocess.Popen[bytes], int]:
    command = [sys.executable, "-I", "-c", _SERVER, str(latency)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(_reply())
    server.stdin.close()
    return server, int(server.stdout.readline())


def _reply() -> bytes:
    text = "I would vote for the candidate who is nearest to me, because I know where he stands."
    return replies.to_bytes(replies.chat_tree(text, "test-model", msgspec.json.decode(_REQUEST)))


def main() -> None:
    """Measure every installed client and print the medians and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--flight", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    clients: dict[str, Client] = {"floor": floor, "pyreqwest": pyreqwest}
    if importlib.util.find_spec("aiohttp"):
        clients["aiohttp"] = aiohttp
    clients |= {"provider": provider, "host": host}
    server, port = _start_server(options.latency)
    ideal = options.calls / options.flight * options.latency
    try:
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in clients}
        for _ in range(options.rounds):
            for name, client in clients.items():
                result = asyncio.run(measure(client, port, options.calls, options.flight))
                figures[name].append(result)
    finally:
        server.terminate()
        server.wait()
    print(
        f"{options.calls} calls, {options.flight} in flight, {options.latency * 1000:.0f} ms each"
    )
    print(f"{'client':<12}{'CPU us/call':>12}{'ratio':>8}{'makespan/ideal':>16}")
    base = statistics.median(cpu for cpu, _ in figures["floor"])
    for name, results in figures.items():
        cpu = statistics.median(cpu for cpu, _ in results)
        wall = statistics.median(wall for _, wall in results)
        print(f"{name:<12}{cpu:>12.1f}{cpu / base:>8.2f}{wall / ideal:>16.2f}")


if __name__ == "__main__":
    main()
