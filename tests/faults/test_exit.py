"""That a process which talked to a hostile endpoint ends with its own exit status."""

from __future__ import annotations

import subprocess
import sys

from perdure.testing import MisbehavingServer

PROGRAM = """
import asyncio, sys
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.records.request import ChatRequest, Failure, Message
from perdure.records.scenario import ModelPin

async def main():
    pin = ModelPin(provider="http", model="m")
    provider = HttpProvider(HttpSettings(base_url=sys.argv[1]), pin, environment={})
    await provider.open()
    message = Message(role="user", content="hello")
    request = ChatRequest(role="tier_a", messages=(message,), tokens_max=5)
    assert isinstance(await provider.chat(request, 20.0), Failure)
    await provider.close()

asyncio.run(main())
sys.exit(76)
"""


def test_a_process_that_ends_at_once_keeps_its_exit_status() -> None:
    """An exit right behind an abandoned body is an exit, and no abort of the interpreter."""
    with MisbehavingServer() as server:
        server.play("gzip_bomb")
        command = [sys.executable, "-c", PROGRAM, server.base_url]
        ends = [subprocess.run(command, check=False).returncode for _ in range(5)]
    assert ends == [76] * 5
