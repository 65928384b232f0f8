"""A few open readings of a run's record, lent to whoever has a world to recall.

To open one takes the run's whole entry in, the source of its code included; and each holds files
and memory. So there are as many as there are threads to use them, however many worlds there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from perdure.trace.port import Partitions, Reading

AT_ONCE = 8


class Readings:
    """Lends readings, and opens one only where none is free. On one event loop."""

    def __init__(self, partitions: Partitions, at_once: int = AT_ONCE) -> None:
        self._partitions = partitions
        self._places = asyncio.Semaphore(at_once)
        self._free: list[Reading] = []

    @asynccontextmanager
    async def lent(self, world_id: str) -> AsyncIterator[Reading]:
        """Lend a reading for one world, whose record is let go of at the end.

        Raises:
            DamagedRecordError: the registry cannot be read.
            StorageError: storage failed.

        """
        async with self._places:
            reading = self._free.pop() if self._free else self._partitions.read()
            try:
                yield reading
            except BaseException:
                reading.close()
                raise
            reading.let_go(world_id)
            self._free.append(reading)

    def close(self) -> None:
        """Close every reading that is free.

        Raises:
            StorageError: storage failed.

        """
        while self._free:
            self._free.pop().close()
