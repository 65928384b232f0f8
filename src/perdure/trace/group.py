"""Group commit: changes that wait at the same time are made durable together.

Everybody waits for the durability of their own change only. While one group is being written, the
next one gathers; so the busier it is, the larger the groups, and the fewer the syncs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from perdure.trace.off_loop import off_loop

C = TypeVar("C")
T = TypeVar("T")

# The longest transaction: what waits beyond it goes into the next one.
_GROUP_MAX = 4_096


class GroupCommit(Generic[C]):
    """Writes changes in the order in which they come, off the loop, one group at a time."""

    def __init__(self, write: Callable[[Sequence[C]], None]) -> None:
        self._write = write
        # Each with what comes true when it is durable, unless nobody waits for it.
        self._waiting: list[tuple[C | None, asyncio.Future[None] | None]] = []
        self._awaited = False
        self._writer: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    def durably(self, change: C | None = None) -> asyncio.Future[None]:
        """Write a change, and give what comes true when it is durable, with all before it.

        The change is written whatever becomes of its caller: who stops waiting does not undo it.
        It fails with what writing raised; nothing of its group is written then.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((change, done))
        self._awaited = True
        if self._writer is None:
            self._writer = asyncio.ensure_future(self._write_all())
        return done

    def later(self, change: C) -> None:
        """Write a change with the next group that is written, whenever that is."""
        self._waiting.append((change, None))

    async def alone(self, work: Callable[[], T]) -> T:
        """Write everything that waits, then do some blocking work while nothing is written.

        Raises:
            PerdureError: what waited could not be written, or what the work raises.

        """
        if self._waiting or self._writer is not None:
            await self.durably()
        async with self._turn:
            return await off_loop(work)

    async def _write_all(self) -> None:
        group: list[tuple[C | None, asyncio.Future[None] | None]] = []
        try:
            while self._awaited:
                # Whoever is ready at this instant comes along.
                await asyncio.sleep(0)
                group, self._waiting = self._waiting[:_GROUP_MAX], self._waiting[_GROUP_MAX:]
                self._awaited = bool(self._waiting)
                await self._write_group(group)
        finally:
            self._writer = None
            # Only where the loop itself is being closed does anybody still wait.
            for _, done in (*group, *self._waiting):
                if done is not None:
                    done.cancel()

    async def _write_group(
        self, group: Sequence[tuple[C | None, asyncio.Future[None] | None]]
    ) -> None:
        changes = [change for change, _ in group if change is not None]
        failure: Exception | None = None
        async with self._turn:
            try:
                if changes:
                    await off_loop(lambda: self._write(changes))
            except Exception as error:  # noqa: BLE001 - each of those who wait meets it
                failure = error
        if failure is not None:
            self._waiting[:0] = [pair for pair in group if pair[1] is None]
        for _, done in group:
            if done is None or done.done():
                continue
            if failure is None:
                done.set_result(None)
            else:
                done.set_exception(failure)
