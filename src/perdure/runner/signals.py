"""Ctrl-C, once and twice: finish the open ticks and pause; stop at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping(first: Callable[[], None], second: Callable[[], None]) -> Iterator[None]:
    """Call `first` on the first stop signal and `second` on any later one, inside the block.

    Elsewhere than in the main thread, signals are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    seen = 0

    def handle() -> None:
        nonlocal seen
        seen += 1
        (first if seen == 1 else second)()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
