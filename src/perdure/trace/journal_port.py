"""What the inference host needs of a call journal. Another store can stand behind it."""

from __future__ import annotations

from typing import Protocol

from perdure.records.journal import Intent, OpenTick, Settled, TickOpening
from perdure.records.request import CallKey


class CallJournal(Protocol):
    """A run's call journal, open to be written by its one inference host."""

    @property
    def epoch(self) -> int:
        """The epoch under which the journal was claimed."""
        ...

    @property
    def open_ticks(self) -> tuple[TickOpening, ...]:
        """The ticks that are open, in the order of their opening."""
        ...

    def is_open(self, world: str, tick: int) -> bool:
        """Say whether a tick is open."""
        ...

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open a tick durably, before its first call; one that is open already stays as it was.

        Gives the opening that holds: its plan is the one to run the tick under.

        Raises:
            InternalError: the tick was opened with another input.
            StaleWriterError: another epoch has claimed the journal.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed.

        """
        ...

    async def intend(self, intent: Intent) -> None:
        """Note durably that an attempt is about to be sent.

        Raises:
            InternalError: the tick is not open.
            StaleWriterError: another epoch has claimed the journal.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed.

        """
        ...

    async def settle(self, key: CallKey, attempt: int, settled: Settled) -> None:
        """Note durably what an attempt came to. Once begun it is written, even if cancelled.

        Raises:
            InternalError: this epoch did not intend it, or it is settled, or cannot be recorded.
            StaleWriterError: another epoch has claimed the journal.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed.

        """
        ...

    async def close_tick(self, world: str, tick: int) -> None:
        """Give a tick up: it is in the record, or is opened afresh. Durable with a later write.

        A tick that is not open is left alone.
        """
        ...

    async def calls(self, world: str, tick: int) -> OpenTick | None:
        """Read an open tick with all its attempts, in the order in which they were made.

        Raises:
            DamagedRecordError: they are not what was written.
            StorageError: storage failed.

        """
        ...

    async def finish(self) -> bool:
        """Put the journal into its final form. False if a reader or a full disk was in the way."""
        ...

    async def close(self) -> None:
        """Write what waits, and let go of the journal."""
        ...
