"""Signals held back while a supervisor is being made, so that none ends it unheard.

What came meanwhile is there as soon as its own handlers are.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

# A request to stop, and what says nothing to a supervisor but would end it.
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
UNHEARD = (signal.SIGUSR1, signal.SIGUSR2)


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold them back within; what is held back still, and has no handler, acts at the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*STOPS, *UNHEARD))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def let_through() -> None:
    """Let them through: there is somebody now who hears them."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*STOPS, *UNHEARD))
