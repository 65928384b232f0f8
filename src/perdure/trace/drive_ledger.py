"""The ledger of a drive as the driver sees it: the same file, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from perdure.records.drive import DriveLine
from perdure.records.record import Record
from perdure.trace.drive_file import DriveFile
from perdure.trace.drive_lines import LedgerHead
from perdure.trace.off_loop import off_loop


class DriveLedger:
    """The lines of a drive, and of what it hands down, in a folder of its own."""

    def __init__(self, file: DriveFile) -> None:
        self._file = file
        self._turn = asyncio.Lock()

    @classmethod
    async def create(cls, folder: Path, asked: Record) -> Self:
        """Give birth to the ledger of a drive, with what was asked of it, and open it.

        Raises:
            HeldError: the folder holds one already.
            StorageError: storage failed.

        """
        return cls(await off_loop(lambda: DriveFile.create(folder, asked)))

    @classmethod
    async def open(cls, folder: Path) -> Self:
        """Claim a ledger under the next epoch, and check all of it against its chain.

        Whoever had it open before can append nothing more.

        Raises:
            DamagedRecordError: it does not hold what was written; names the first bad line.
            StorageError: storage failed.

        """
        return cls(await off_loop(lambda: DriveFile.open(folder)))

    @property
    def head(self) -> LedgerHead:
        """Where the ledger ends."""
        return self._file.head

    @property
    def epoch(self) -> int:
        """The epoch under which the ledger was claimed."""
        return self._file.epoch

    async def append(self, lines: Sequence[DriveLine], blobs: Mapping[str, bytes]) -> None:
        """Append lines in order, with the bytes that they cite by their SHA-256 in hex.

        All of them are durable when this returns, or none is there. Once begun it is done, even if
        its caller is cancelled.

        Raises:
            InternalError: a line cannot be recorded, or bytes are not those of their hash.
            StaleWriterError: a later epoch has claimed the ledger.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed; this ledger is not written again by this process.

        """
        async with self._turn:
            await off_loop(lambda: self._file.append(lines, blobs))

    async def finish(self) -> bool:
        """Put the ledger into its one file. False if a reader or a full disk was in the way.

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
