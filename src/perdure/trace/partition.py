"""A partition as the runner sees it: the same file, off the event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self

from perdure.records.events import Batch, Head
from perdure.records.registry import LogHead
from perdure.records.scenario import Header
from perdure.trace.off_loop import off_loop
from perdure.trace.partition_file import PartitionFile


class PartitionWriter:
    """Writes one world's record. Appends are made one after another."""

    def __init__(self, file: PartitionFile) -> None:
        self._file = file
        self._turn = asyncio.Lock()

    @classmethod
    async def create(cls, path: Path, header: Header, epoch: int) -> Self:
        """Give birth to the partition of a world and open it.

        Raises:
            HeldError: there is a file of this name.
            StorageError: storage failed.

        """
        return cls(await off_loop(lambda: PartitionFile.create(path, header, epoch)))

    @classmethod
    async def open(cls, path: Path, epoch: int, witness: Head | None = None) -> Self:
        """Claim a partition for an epoch, and check all of it against its chain and its witness.

        Raises:
            StaleWriterError: a later epoch has claimed it.
            DamagedRecordError: it does not hold what was written; names the first bad event.
            StorageError: storage failed.

        """
        return cls(await off_loop(lambda: PartitionFile.open(path, epoch, witness)))

    @property
    def head(self) -> Head:
        """Where the record ends."""
        return self._file.head

    @property
    def epoch(self) -> int:
        """The epoch under which this partition was claimed."""
        return self._file.epoch

    async def append(self, batch: Batch, *, epoch: int, log_head: LogHead) -> Head:
        """Write one whole tick, with its blobs and the run log's head, durably and at once.

        Raises:
            InternalError: the batch is not one whole tick that continues the record.
            StaleWriterError: another epoch has claimed the partition.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed; this partition is not written again by this process.

        """
        async with self._turn:
            return await off_loop(lambda: self._file.append(batch, epoch=epoch, log_head=log_head))

    async def finish(self) -> bool:
        """Put the record into its one file.

        False if a reader or a full disk was in the way; nothing is lost.

        Raises:
            StorageError: storage failed.

        """
        async with self._turn:
            return await off_loop(self._file.finish)

    async def close(self) -> None:
        """Close the file.

        Raises:
            StorageError: storage failed.

        """
        async with self._turn:
            await off_loop(self._file.close)
