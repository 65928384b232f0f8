"""A call journal in memory, under the same contract as the file."""

from __future__ import annotations

import msgspec

from perdure.base.errors import StaleWriterError
from perdure.records.journal import Intent, JournaledCall, OpenTick, Settled, TickOpening
from perdure.records.request import CallKey
from perdure.trace.journal import not_intended, not_open, same_input
from perdure.trace.journal_rows import encode_settled


class MemoryCalls:
    """What a call journal holds: its open ticks, and the epoch that may write."""

    def __init__(self) -> None:
        self.epoch = 0
        self.ticks: dict[tuple[str, int], OpenTick] = {}


class MemoryJournal:
    """A run's call journal, open to be written by its one inference host."""

    def __init__(self, held: MemoryCalls, epoch: int) -> None:
        """Claim what a journal holds for an epoch.

        Raises:
            StaleWriterError: a later epoch has claimed it.

        """
        if held.epoch > epoch:
            raise StaleWriterError(f"Epoch {held.epoch} holds this journal, not {epoch}.")
        held.epoch = epoch
        self._held = held
        self.epoch = epoch

    @property
    def open_ticks(self) -> tuple[TickOpening, ...]:
        """The ticks that are open, in the order of their opening."""
        return tuple(tick.opening for tick in self._held.ticks.values())

    def is_open(self, world: str, tick: int) -> bool:
        """Say whether a tick is open."""
        return (world, tick) in self._held.ticks

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open a tick; one that is open already stays as it was.

        Raises:
            InternalError: the tick was opened with another input.
            StaleWriterError: another epoch has claimed the journal.

        """
        self._require_epoch()
        place = opening.world, opening.tick
        known = self._held.ticks.get(place)
        if known is not None:
            return same_input(known.opening, opening)
        self._held.ticks[place] = OpenTick(epoch=self.epoch, opening=opening)
        return opening

    async def intend(self, intent: Intent) -> None:
        """Note that an attempt is about to be sent.

        Raises:
            InternalError: the tick is not open.
            StaleWriterError: another epoch has claimed the journal.

        """
        self._require_epoch()
        place = intent.key.world, intent.key.tick
        tick = self._held.ticks.get(place)
        if tick is None:
            raise not_open(intent.key)
        call = JournaledCall(epoch=self.epoch, intent=intent)
        self._held.ticks[place] = msgspec.structs.replace(tick, calls=(*tick.calls, call))

    async def settle(self, key: CallKey, attempt: int, settled: Settled) -> None:
        """Note what an attempt came to.

        Raises:
            InternalError: this epoch did not intend it, or it is settled, or cannot be recorded.
            StaleWriterError: another epoch has claimed the journal.

        """
        self._require_epoch()
        encode_settled(settled)
        tick = self._held.ticks.get((key.world, key.tick))
        if tick is None:
            raise not_open(key)
        calls = list(tick.calls)
        for place, call in enumerate(calls):
            if (call.intent.key, call.intent.attempt) == (key, attempt):
                if call.settled is not None or call.epoch != self.epoch:
                    break
                calls[place] = msgspec.structs.replace(call, settled=settled)
                self._held.ticks[key.world, key.tick] = msgspec.structs.replace(
                    tick, calls=tuple(calls)
                )
                return
        raise not_intended(key, attempt)

    async def close_tick(self, world: str, tick: int) -> None:
        """Give a tick up. A tick that is not open is left alone.

        Raises:
            StaleWriterError: another epoch has claimed the journal.

        """
        self._require_epoch()
        self._held.ticks.pop((world, tick), None)

    async def calls(self, world: str, tick: int) -> OpenTick | None:
        """Read an open tick with all its attempts, in the order in which they were made."""
        return self._held.ticks.get((world, tick))

    async def finish(self) -> bool:
        """Do nothing: the journal has one form only."""
        return True

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def _require_epoch(self) -> None:
        if self._held.epoch != self.epoch:
            raise StaleWriterError(
                f"Epoch {self._held.epoch} holds this journal, not {self.epoch}."
            )
