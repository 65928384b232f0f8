"""The event loop of a process that runs worlds."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

# Threads are made as they are needed, and each world has one piece of work at a time. Fewer than
# worlds would have some wait for others that are busy, or hang.
_THREADS_MAX = 512


def event_loop() -> asyncio.AbstractEventLoop:
    """Make the fastest event loop that there is: uvloop does not exist for every system."""
    try:
        import uvloop  # noqa: PLC0415 - heavy, and not always there
    except ImportError:
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS_MAX, thread_name_prefix="perdure"))
    return loop
