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
        # Place for place: a change, and what comes true when it is durable.
        self._changes: list[C] = []
        self._waits: list[asyncio.Future[None]] = []
        self._writing: list[asyncio.Future[None]] = []
        self._later: list[C] = []
        self._writer: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    def durably(self, change: C) -> asyncio.Future[None]:
        """Write a change, and give what comes true when it is durable.

        Once asked for it is written, whatever becomes of its caller: who stops waiting, or is
        cancelled, does not undo it. It fails with what writing raised; nothing of its group is
        written then.
        """
        done = asyncio.get_running_loop().create_future()
        self._changes.append(change)
        self._waits.append(done)
        if self._writer is None:
            self._writer = asyncio.ensure_future(self._write_all())
            self._writer.add_done_callback(self._let_go)
        return done

    def later(self, change: C) -> None:
        """Write a change after all that waits now, with some group, whenever that is."""
        self._later.append(change)

    async def alone(self, work: Callable[[], T]) -> T:
        """Write everything that waits, then do some blocking work while nothing is written.

        Raises:
            PerdureError: what nobody waits for could not be written, or what the work raises.

        """
        if self._waits:
            await asyncio.wait({self._waits[-1]})
        async with self._turn:
            if self._later:
                later = self._later.copy()
                await off_loop(lambda: self._write(later))
                del self._later[: len(later)]
            return await off_loop(work)

    async def _write_all(self) -> None:
        while self._changes:
            # Whoever is ready at this instant comes along.
            await asyncio.sleep(0)
            changes, self._changes = self._changes[:_GROUP_MAX], self._changes[_GROUP_MAX:]
            self._writing, self._waits = self._waits[:_GROUP_MAX], self._waits[_GROUP_MAX:]
            await self._write_group(changes, self._writing)
        self._writer = None

    def _let_go(self, writer: asyncio.Task[None]) -> None:
        """Let nobody wait for a writer that was cancelled: its loop is being closed."""
        if writer.cancelled():
            self._writer = None
            for wait in (*self._writing, *self._waits):
                wait.cancel()

    async def _write_group(self, changes: list[C], waits: list[asyncio.Future[None]]) -> None:
        # After the last of those that wait, so that none of them comes after it.
        also = 0 if self._changes else len(self._later)
        changes.extend(self._later[:also])
        failure: Exception | None = None
        async with self._turn:
            try:
                await off_loop(lambda: self._write(changes))
            except Exception as error:  # noqa: BLE001 - each of those who wait meets it
                failure = error
        if failure is None:
            del self._later[:also]
        for wait in waits:
            if wait.done():
                continue
            if failure is None:
                wait.set_result(None)
            else:
                wait.set_exception(failure)
