"""A run's call journal as its inference host sees it: the same file, off the event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Self

from perdure.base.canonical import encode
from perdure.base.errors import InternalError, StorageFullError
from perdure.records.journal import Intent, OpenTick, Settled, TickOpening
from perdure.records.request import CallKey
from perdure.trace.files import exists
from perdure.trace.group import GroupCommit
from perdure.trace.journal_file import (
    JOURNAL_NAME,
    Change,
    Closed,
    Intended,
    JournalFile,
    Opened,
    Resulted,
    Slot,
)
from perdure.trace.journal_rows import encode_settled
from perdure.trace.off_loop import off_loop
from perdure.trace.set_aside import set_aside


class Journal:
    """Writes a run's call journal. What waits at the same time shares one commit."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._slots = dict(file.slots)
        self._group: GroupCommit[Change] = GroupCommit(file.write)

    @classmethod
    async def create(cls, folder: Path, epoch: int, *, run: str = "", since: int = 1) -> Self:
        """Give birth to the call journal of a run and open it.

        It holds every call of the run since the epoch `since`.

        Raises:
            HeldError: there is one already.
            StorageError: storage failed.

        """
        return cls(await off_loop(lambda: JournalFile.create(folder, epoch, run=run, since=since)))

    @classmethod
    async def open(cls, folder: Path, epoch: int, *, run: str = "") -> Self:
        """Claim the call journal of a run for an epoch, and check all of it.

        Raises:
            StaleWriterError: a later epoch has claimed it.
            DamagedRecordError: there is none, it is another run's, or it does not hold what was
                written.
            StorageError: storage failed.

        """
        return cls(await off_loop(lambda: JournalFile.open(folder, epoch, run=run)))

    @staticmethod
    async def has(folder: Path) -> bool:
        """Say whether a run has a call journal."""
        return await off_loop(lambda: exists(folder / JOURNAL_NAME))

    @staticmethod
    async def set_aside(folder: Path, epoch: int) -> None:
        """Take whatever has the journal's name out of the way, under a name that says so.

        Raises:
            StorageError: the system refused.

        """
        await off_loop(lambda: set_aside(folder, epoch))

    @property
    def epoch(self) -> int:
        """The epoch under which the journal was claimed."""
        return self._file.epoch

    @property
    def since(self) -> int:
        """The epoch since which it holds every call of the run."""
        return self._file.since

    @property
    def open_ticks(self) -> tuple[TickOpening, ...]:
        """The ticks that are open, in the order of their opening."""
        return tuple(slot.opening for slot in self._slots.values())

    def is_open(self, world: str, tick: int) -> bool:
        """Say whether a tick is open."""
        return (world, tick) in self._slots

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open a tick durably, before its first call; one that is open already stays as it was.

        Gives the opening that holds: its plan is the one to run the tick under.

        Raises:
            InternalError: the tick was opened with another input.
            StaleWriterError: another epoch has claimed the journal.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed.

        """
        place = opening.world, opening.tick
        known = self._slots.get(place)
        if known is not None:
            return same_input(known.opening, opening)
        slot = Slot(opening, encode(opening))

        def note(written: asyncio.Future[None]) -> None:
            if not written.cancelled() and written.exception() is None:
                self._slots[place] = slot

        written = self._group.durably(Opened(slot))
        written.add_done_callback(note)
        try:
            await asyncio.shield(written)
        except asyncio.CancelledError:
            # It is written all the same. Whoever opens the tick next has to find it open.
            await asyncio.wait({written})
            raise
        return opening

    async def intend(self, intent: Intent) -> None:
        """Note durably that an attempt is about to be sent.

        Raises:
            InternalError: the tick is not open.
            StaleWriterError: another epoch has claimed the journal.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed.

        """
        slot = self._slots.get((intent.key.world, intent.key.tick))
        if slot is None:
            raise not_open(intent.key)
        await self._group.durably(Intended(slot, intent))

    async def settle(self, key: CallKey, attempt: int, settled: Settled) -> None:
        """Note durably what an attempt came to. Once begun it is written, even if cancelled.

        Raises:
            InternalError: this epoch did not intend it, or it is settled, or cannot be recorded.
            StaleWriterError: another epoch has claimed the journal.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed.

        """
        slot = self._slots.get((key.world, key.tick))
        if slot is None:
            raise not_open(key)
        place = key.job, key.purpose, key.ordinal, attempt
        row = slot.in_flight.get(place)
        if row is None:
            raise not_intended(key, attempt)
        result = Resulted(slot, row, encode_settled(settled))
        try:
            await self._group.durably(result)
        except asyncio.CancelledError:
            del slot.in_flight[place]
            raise
        del slot.in_flight[place]

    async def close_tick(self, world: str, tick: int) -> None:
        """Give a tick up: it is in the record, or is opened afresh. Durable with a later write.

        A tick that is not open is left alone.
        """
        slot = self._slots.pop((world, tick), None)
        if slot is not None:
            self._group.later(Closed(slot))

    async def calls(self, world: str, tick: int) -> OpenTick | None:
        """Read an open tick with all its attempts, in the order in which they were made.

        Raises:
            DamagedRecordError: they are not what was written.
            StorageError: storage failed.

        """
        slot = self._slots.get((world, tick))
        if slot is None:
            return None
        return await self._group.alone(lambda: self._file.read(slot))

    async def finish(self) -> bool:
        """Delete what is dead and put the journal into its one file.

        False if a reader or a full disk was in the way: the next process to open it does it.

        Raises:
            StorageError: storage failed.

        """
        try:
            return await self._group.alone(self._file.finish)
        except StorageFullError:
            return False

    async def close(self) -> None:
        """Write what waits, and close the file.

        On a full disk a tick that was given up stays: the record has it, which the next process
        finds out.

        Raises:
            StorageError: storage failed.

        """
        try:
            with suppress(StorageFullError):
                await self._group.alone(lambda: None)
        finally:
            await off_loop(self._file.close)


def same_input(known: TickOpening, asked: TickOpening) -> TickOpening:
    """Give the opening that holds, of a tick that is opened once more.

    Raises:
        InternalError: it was opened with another input.

    """
    if known.input_hash != asked.input_hash:
        raise InternalError(
            f"The tick starts from {asked.input_hash}; when it was opened first, it started from"
            f" {known.input_hash}.",
            where=f"world {known.world}, tick {known.tick}",
        )
    return known


def not_open(key: CallKey) -> InternalError:
    """Say that a call is of a tick that is not open."""
    return InternalError(
        f"World {key.world} makes a call of tick {key.tick}, which the call journal has not open."
    )


def not_intended(key: CallKey, attempt: int) -> InternalError:
    """Say that an attempt is settled that was not intended, or is settled already."""
    return InternalError(
        f"Attempt {attempt} of the call {key.job}/{key.purpose}/{key.ordinal} is not in flight.",
        where=f"world {key.world}, tick {key.tick}",
    )
