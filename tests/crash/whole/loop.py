"""An event loop of one thread on which no time passes but by waiting: a run on it has one order.

Blocking work that a run puts beside its loop is done on it, a moment later and whole. Two runs of
the same study then meet the same boundaries in the same order, so that the k-th of one is the k-th
of the other, and an hour of waiting takes no time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

# What blocking work takes: others go on meanwhile, as they do beside a thread.
_WORK_S = 0.0002


class _Skipping(selectors.DefaultSelector):
    """Waits for nothing but what is ready; what the loop would have waited has then passed."""

    def __init__(self, passed: Callable[[float], None]) -> None:
        super().__init__()
        self._passed = passed

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if not ready:
            self._passed(max(timeout, 0.0))
        return ready


class OneOrderLoop(asyncio.SelectorEventLoop):
    """See the top of this file."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Skipping(self._pass))

    def time(self) -> float:
        """Give the seconds that were waited so far."""
        return self._now_s

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Do some work a moment later, on this thread."""
        assert executor is None
        done = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                if not done.cancelled():
                    done.set_exception(error)
            else:
                if not done.cancelled():
                    done.set_result(result)

        self.call_later(_WORK_S, work)
        return done

    def _pass(self, seconds: float) -> None:
        self._now_s += seconds


class LoopClock:
    """The clock of whatever loop runs."""

    def wall_s(self) -> float:
        """Give a wall time that is the same in every run."""
        return 1_700_000_000.0 + self.now_s()

    def now_s(self) -> float:
        """Give the loop's own time."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait on the loop."""
        await asyncio.sleep(max(seconds, 0.0))
