"""A clock for tests: waits pass at once, and are remembered."""

from __future__ import annotations

from perdure.base.clock import SystemClock

_SYSTEM = SystemClock()


class SkippingClock:
    """A clock on which time passes only by waiting: a wait of an hour takes no time.

    `slept` holds every wait, in order. Others run during a wait, as they would on a real clock.
    """

    def __init__(self, *, wall_s: float = 1_700_000_000.0) -> None:
        """Start at a wall time, in seconds since 1970."""
        self._wall_s = wall_s
        self._now_s = 0.0
        self.slept: list[float] = []

    def wall_s(self) -> float:
        """Give the wall time: the start, and all waits since."""
        return self._wall_s + self._now_s

    def now_s(self) -> float:
        """Give the seconds that were waited so far."""
        return self._now_s

    async def sleep(self, seconds: float) -> None:
        """Let others run once, then be later by so many seconds."""
        self.slept.append(seconds)
        await _SYSTEM.sleep(0)
        self._now_s += max(seconds, 0.0)
