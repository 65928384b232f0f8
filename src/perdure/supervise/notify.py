"""Telling a service manager how it goes, if there is one: the protocol of sd_notify."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from perdure.base.clock import Clock

# What a service manager gives to the supervisor alone. Whatever is started is no service of its.
_FOR_US_ALONE = frozenset({"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
# Beats to a watchdog's time: one that comes late, or gets lost, ends nothing.
_BEATS = 3


class ServiceManager:
    """The socket of whoever started this process as a service; silent if nobody did."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog_s = _watchdog_s(environment)

    def say(self, *lines: str) -> None:
        """Send some assignments, such as `READY=1`."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto("\n".join(lines).encode(), self._address)

    @asynccontextmanager
    async def told_of_life(self, clock: Clock) -> AsyncIterator[None]:
        """Say within, as often as was asked for, that this process lives.

        It is said beside whatever is waited for, so a check that takes its time is no hang; all
        that a supervisor waits for has a deadline of its own.
        """
        beating = asyncio.create_task(self._beat(clock))
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    async def _beat(self, clock: Clock) -> None:
        while self._watchdog_s:
            self.say("WATCHDOG=1")
            await clock.sleep(self._watchdog_s / _BEATS)


def for_others(environment: Mapping[str, str]) -> dict[str, str]:
    """Give the variables for what is started: all but those that a service manager gave to us."""
    return {name: value for name, value in environment.items() if name not in _FOR_US_ALONE}


def _watchdog_s(environment: Mapping[str, str]) -> float:
    text = environment.get("WATCHDOG_USEC", "")
    meant = environment.get("WATCHDOG_PID", "")
    if not text.isdigit() or (meant and meant != str(os.getpid())):
        return 0.0
    return int(text) / 1e6
