"""The partitions of a run folder: one file per world under `worlds/`."""

from __future__ import annotations

from pathlib import Path

from perdure.records.events import Head
from perdure.records.scenario import Header
from perdure.trace.files import exists
from perdure.trace.off_loop import off_loop
from perdure.trace.partition import PartitionWriter
from perdure.trace.paths import partition_path
from perdure.trace.reader import RunReader


class FolderPartitions:
    """Keeps every world of a run in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def create(self, header: Header, epoch: int) -> PartitionWriter:
        """Give birth to a world's record and open it.

        Raises:
            HeldError: the world has one already.
            StorageError: storage failed.

        """
        path = partition_path(self._folder, header.world_id)
        return await PartitionWriter.create(path, header, epoch)

    async def open(self, world_id: str, epoch: int, witness: Head | None = None) -> PartitionWriter:
        """Claim a world's record, and check all of it against its chain and its witness.

        Raises:
            StaleWriterError: a later epoch has claimed it.
            DamagedRecordError: it does not hold what was written; names the first bad event.
            StorageError: storage failed.

        """
        return await PartitionWriter.open(partition_path(self._folder, world_id), epoch, witness)

    async def has(self, world_id: str) -> bool:
        """Say whether a world has a record.

        Raises:
            StorageError: the system does not say.

        """
        path = partition_path(self._folder, world_id)
        return await off_loop(lambda: exists(path))

    def read(self) -> RunReader:
        """Open the records to be read, in a connection of their own.

        Raises:
            DamagedRecordError: the registry cannot be read.
            StorageError: storage failed.

        """
        return RunReader.open(self._folder)
