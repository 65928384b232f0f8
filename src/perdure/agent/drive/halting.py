"""What is in flight, raced against a halt: a halt cuts it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Self, TypeVar

from perdure.agent.drive.ports import Interrupts, Stop

T = TypeVar("T")


class Halt:
    """The one halt that a drive listens for, for as long as it is in this context."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._task: asyncio.Task[Stop] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.ensure_future(self._interrupts.halted())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    @property
    def stop(self) -> Stop | None:
        """The halt, once it is there.

        Raises:
            Exception: whatever the one who listens for it raised.

        """
        task = self._task
        return task.result() if task is not None and task.done() else None

    async def race(self, work: Awaitable[T]) -> T | Stop:
        """Do some work to its end, or until a halt: it is gone when this returns.

        Work that is finished when the halt arrives is finished.
        """
        assert self._task is not None
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if task.cancelled():
            return self._task.result()
        return task.result()
