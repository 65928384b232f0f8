"""Blocking work beside the event loop, never abandoned half-way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def off_loop(work: Callable[[], T]) -> T:
    """Do blocking work on a thread; a cancellation is delivered when the work has ended.

    A database is used by one thread at a time, so whoever waits for the next turn must not get it
    while this work still runs.

    Raises:
        asyncio.CancelledError: the caller was cancelled; the work has ended all the same.

    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
