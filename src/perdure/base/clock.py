"""Time: the only file that reads a clock or sleeps. Everything else is given a `Clock`."""

from __future__ import annotations

import time
from typing import Protocol

# Read when a program first loads this file, which is among the first that it loads of ours.
_STARTED_S = time.time()  # noqa: TID251 - this file is the one that may


def started_s() -> float:
    """Give the wall-clock time at which this program began, about, in seconds since 1970."""
    return _STARTED_S


class Clock(Protocol):
    """A clock, real or a test's."""

    def wall_s(self) -> float:
        """Seconds since 1970, for people to read. May jump either way."""
        ...

    def now_s(self) -> float:
        """Seconds on a clock that never goes back, for durations and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait. Zero or less only lets others run."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def wall_s(self) -> float:
        """Read the wall clock: seconds since 1970."""
        return time.time()  # noqa: TID251 - this file is the one that may

    def now_s(self) -> float:
        """Read the monotonic clock, in seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the running event loop."""
        import asyncio  # noqa: PLC0415 - a program that never waits here need not load it

        await asyncio.sleep(max(seconds, 0.0))


def suspended_s() -> float:
    """Give the seconds that this machine has slept since it was started; 0 where nobody knows."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
