"""Ctrl-C, once and twice: finish the open ticks and pause; stop at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

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
    for number, handle in handlers.items():
        loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
