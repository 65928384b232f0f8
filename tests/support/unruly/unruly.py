"""A world and an agent that do at one tick what they may not, as their scenario's name says."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
import time
from typing import Any

from perdure.agent import PersonaAgent
from perdure.world import ChannelWorld

TICK = 3
BUSY_S = 3.0


class UnrulyWorld(ChannelWorld):
    """A survey room that goes wrong at one tick, if it is called so."""

    def reset(self, header: Any) -> None:
        """Build the room."""
        super().reset(header)
        self._wrong = header.scenario.id

    def step(self, tick: int, *rest: Any) -> Any:
        """Step, or go wrong."""
        if tick == TICK:
            self._go_wrong()
        return super().step(tick, *rest)

    def _go_wrong(self) -> None:  # noqa: C901 - a list of what may go wrong
        match self._wrong:
            case "raises":
                raise ZeroDivisionError("the town is gone")
            case "exits":
                os._exit(3)
            case "hangs":
                while True:
                    pass
            case "sleeps":
                threading.Event().wait()
            case "spoils":
                _write_to_every_socket()
            case "busy":
                _be_busy()
            case "eats":
                _eat()
            case "moves":
                os.chdir("/")
            case "forks":
                _leave_a_child()


class UnrulyAgent(PersonaAgent):
    """A persona that goes wrong when it acts after tick 0, if its scenario is called so."""

    def reset(self, header: Any) -> None:
        """Begin."""
        super().reset(header)
        self._wrong = header.scenario.id

    async def act(self, jobs: Any, *rest: Any) -> Any:
        """Act, or go wrong."""
        if jobs and jobs[0].tick > 0:
            match self._wrong:
                case "stops":
                    asyncio.get_running_loop().stop()
                case "cancels":
                    for task in asyncio.all_tasks():
                        task.cancel()
                case "breaks":
                    await asyncio.get_running_loop().shutdown_default_executor()
                case "quits":
                    raise asyncio.CancelledError
        return await super().act(jobs, *rest)


def _leave_a_child() -> None:
    if os.fork() == 0:  # noqa: TID251 - what nobody should do, and somebody does
        threading.Event().wait(100)
        os._exit(0)


def _write_to_every_socket() -> None:
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.write(descriptor, b"\xff" * 64)


def _be_busy() -> None:
    until_s = time.monotonic() + BUSY_S
    while time.monotonic() < until_s:
        pass


def _eat() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(1 << 26))
