"""That the limits of an exchange are spent by the endpoint, never by a loop that stood still."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from tests.support.gate import Gate, gate

from perdure.inference.http.key import load_key
from perdure.inference.http.settings import HttpSettings
from perdure.inference.http.transport import Answer, Transport
from perdure.records.request import Failure, FailureCause
from perdure.testing import MisbehavingServer

REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Crowded:
    """An endpoint whose queue of connections is full, until `let_in`."""

    def __init__(self) -> None:
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self._fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(self.listener.getsockname())
            self._fillers.append(filler)

    @property
    def base_url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def let_in(self) -> None:
        """Make room, and answer the first request that comes."""
        for filler in self._fillers:
            filler.close()
        while True:
            connection, _ = self.listener.accept()
            with connection:
                if connection.recv(65_536):
                    connection.sendall(REPLY)
                    return

    def close(self) -> None:
        """Let go of all connections."""
        for held in (self.listener, *self._fillers):
            held.close()


@pytest.fixture
def crowded() -> Iterator[Crowded]:
    """Give an endpoint that accepts nobody yet."""
    endpoint = Crowded()
    yield endpoint
    endpoint.close()


async def ask(base_url: str, *, connect_s: float, timeout_s: float) -> asyncio.Task[object]:
    """Begin an exchange, and give it some moments."""
    settings = HttpSettings(base_url=base_url, connect_s=connect_s)
    transport = Transport(settings, base_url, load_key({}, key_env="", key_file=""))
    transport.open()

    async def post() -> object:
        try:
            return await transport.post("/", b"{}", timeout_s)
        finally:
            await transport.close()

    asked = asyncio.ensure_future(post())
    await asyncio.sleep(0.1)
    return asked


def test_a_reply_that_came_while_the_loop_stood_still_is_read() -> None:
    """The limit passes while nobody could read; what is there by then is taken."""

    async def main(server: MisbehavingServer, shut: Gate) -> object:
        asked = await ask(server.base_url, connect_s=30.0, timeout_s=2.0)
        while not server.calls:  # noqa: ASYNC110 - the other side is a thread, and sets no event
            await asyncio.sleep(0.01)
        shut.open()
        time.sleep(2.5)  # noqa: ASYNC251, TID251 - standing still is what is tested
        return await asked

    with MisbehavingServer() as server, gate(server, 0) as shut:
        assert isinstance(asyncio.run(main(server, shut)), Answer)


def test_a_connection_that_ended_while_the_loop_stood_still_is_made_again(crowded: Crowded) -> None:
    """The client gives up connecting while the loop stands still; nothing was sent, so it may."""
    host = threading.Thread(target=crowded.let_in, daemon=True)

    async def main() -> object:
        # Of the time before it stands still, and of that itself, a quarter of a second may count.
        asked = await ask(crowded.base_url, connect_s=2.0, timeout_s=60.0)
        time.sleep(3.0)  # noqa: ASYNC251, TID251 - standing still is what is tested
        host.start()
        return await asked

    assert asyncio.run(main()) == Answer(200, None, b"{}")
    host.join()


@pytest.mark.parametrize(
    ("connect_s", "timeout_s", "cause"), [(0.2, 60.0, "connect"), (60.0, 1.0, "timeout")]
)
def test_a_loop_that_runs_gives_up_on_time(
    crowded: Crowded, connect_s: float, timeout_s: float, cause: str
) -> None:
    """Where nobody accepts, an exchange ends by the shorter of the two limits."""

    async def main() -> object:
        return await (await ask(crowded.base_url, connect_s=connect_s, timeout_s=timeout_s))

    assert asyncio.run(main()) == Failure(cause=FailureCause(cause))
