"""Group commit: changes that wait at the same time are made durable together.

Everybody waits for the durability of their own change only. While one group is being written, the
next one gathers; so the busier it is, the larger the groups, and the fewer the syncs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from perdure.trace.off_loop import off_loop

C = TypeVar("C")

# The longest transaction: what waits beyond it goes into the next one.
_GROUP_MAX = 4_096


class GroupCommit(Generic[C]):
    """Writes changes in the order in which they come, off the loop, one group at a time."""

    def __init__(self, write: Callable[[Sequence[C]], None]) -> None:
        self._write = write
        self._waiting: list[tuple[C, asyncio.Future[None] | None]] = []
        self._writer: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    def durably(self, change: C) -> asyncio.Future[None]:
        """Write a change, and give what comes true when it is durable.

        The change is written whatever becomes of its caller: who stops waiting does not undo it.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((change, done))
        if self._writer is None:
            self._start()
        return done

    def later(self, change: C) -> None:
        """Write a change with the next group, whenever that is."""
        self._waiting.append((change, None))

    async def alone(self, work: Callable[[], T]) -> T:
        """Write everything that waits, then do some blocking work while nothing is written.

        Raises:
            PerdureError: what the work raises.

        """
        if self._waiting and self._writer is None:
            self._start()
        if self._writer is not None:
            await asyncio.wait({self._writer})
        async with self._turn:
            return await off_loop(work)

    def _start(self) -> None:
        self._writer = asyncio.ensure_future(self._write_all())

    async def _write_all(self) -> None:
        group: list[tuple[C, asyncio.Future[None] | None]] = []
        try:
            while self._waiting:
                # Whoever is ready at this instant comes along.
                await asyncio.sleep(0)
                group, self._waiting = self._waiting[:_GROUP_MAX], self._waiting[_GROUP_MAX:]
                await self._write_group(group)
        finally:
            self._writer = None
            # Only a loop that is being closed gets here with anybody waiting.
            for _, done in (*group, *self._waiting):
                if done is not None:
                    done.cancel()

    async def _write_group(self, group: Sequence[tuple[C, asyncio.Future[None] | None]]) -> None:
        changes = [change for change, _ in group]
        failure: Exception | None = None
        async with self._turn:
            try:
                await off_loop(lambda: self._write(changes))
            except Exception as error:  # noqa: BLE001 - each of those who wait meets it
                failure = error
        for _, done in group:
            if done is None or done.done():
                continue
            if failure is None:
                done.set_result(None)
            else:
                done.set_exception(failure)
