"""Ctrl-C, once and twice: finish the open ticks and pause; stop at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping(first: Callable[[], None], second: Callable[[], None]) -> Iterator[None]:
    """Call `first` on the first stop signal and `second` on any later one, inside the block.

    Elsewhere than in the main thread, signals are left alone.
    """
    seen = 0

    def handle() -> None:
        nonlocal seen
        seen += 1
        (first if seen == 1 else second)()

    with hearing(dict.fromkeys(STOP_SIGNALS, handle)):
        yield


@contextmanager
def hearing(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Call a function on each signal, on the event loop, inside the block.

    Elsewhere than in the main thread, signals are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def heard(number: int, _: FrameType | None) -> None:
        loop.call_soon_threadsafe(handlers[signal.Signals(number)])

    # Not by way of the loop: what that leaves behind is never what was there before.
    before = {number: signal.signal(number, heard) for number in handlers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is heard:
                signal.signal(number, handler)


def hear_no_more() -> None:
    """Hear no stop signal any more, to the end of the process: what could be stopped is over.

    It would only spoil how that is told. Called within `hearing`, it leaves no moment in between.
    Elsewhere than in the main thread, signals are left alone.
    """
    if threading.current_thread() is threading.main_thread():
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
