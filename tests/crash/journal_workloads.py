"""What the call journal is made to do while it is killed, and what must be true of what is left."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tests.support.calls import WORLD, intent, key, opening, replied

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError
from perdure.records.journal import OpenTick
from perdure.trace.journal_file import Change, Closed, Intended, JournalFile, Opened, Resulted, Slot
from perdure.trace.journal_rows import encode_settled, read_ticks

OPERATIONS = ("intend", "settle", "both", "large", "next", "checkpoint", "reopen")
GROUP = 3

_OPENED, _INTENDED, _SETTLED, _CLOSED = range(4)


class Fact(NamedTuple):
    """Something acknowledged: of which tick and kind, as a number, and a hash of all of it."""

    seq: int
    chain: str

    @property
    def tick(self) -> int:
        """The tick that it is about."""
        return self.seq // 4

    @property
    def kind(self) -> int:
        """Whether something was opened, intended, settled or closed."""
        return self.seq % 4


Ack = Callable[[Fact], None]


def fact(kind: int, tick: int, what: object) -> Fact:
    """State a fact."""
    return Fact(tick * 4 + kind, hashlib.sha256(repr(what).encode()).hexdigest())


def sequences(length_max: int) -> list[tuple[str, ...]]:
    """Give all sequences of operations up to a length, and some that end the journal."""
    found: list[tuple[str, ...]] = []
    for length in range(1, length_max + 1):
        found += product(OPERATIONS, repeat=length)
    found += [("finish",), ("settle", "next", "finish"), ("large", "next", "intend", "finish")]
    return found


class Life:
    """One life over a journal: it writes, and acknowledges what is durable."""

    def __init__(self, file: JournalFile, folder: Path, ack: Ack) -> None:
        self.file = file
        self.folder = folder
        self.ack = ack
        self.job = 0
        self.slot = Slot(opening(), encode(opening()))

    def begin(self) -> None:
        """Open a tick that no earlier life had, with some calls in flight."""
        ticks = [tick for _, tick in self.file.slots]
        self._open(max([*ticks, 10 * self.file.epoch]) + 1)
        self._write(self._intents())

    def perform(self, operation: str) -> None:
        """Do one operation, and acknowledge what it wrote."""
        if operation == "checkpoint":
            self.file._database.empty_log()
        elif operation == "reopen":
            self.file.close()
            self.file = JournalFile.open(self.folder, self.file.epoch)
            self.slot = self.file.slots[WORLD, self.slot.opening.tick]
            self.job += 1_000
            self._write(self._intents())
        elif operation == "finish":
            self.file.finish()
        elif operation == "next":
            self._write([Closed(self.slot)])
            self._open(self.slot.opening.tick + 1)
            self._write(self._intents())
        else:
            changes: list[Change] = []
            if operation != "intend":
                changes += self._results("x" * 9_000 if operation == "large" else "Yes.")
            if operation != "settle":
                changes += self._intents()
            self._write(changes)

    def _open(self, tick: int) -> None:
        self.slot = Slot(opening(tick), encode(opening(tick)))
        self._write([Opened(self.slot)])

    def _intents(self) -> list[Change]:
        tick = self.slot.opening.tick
        jobs = range(self.job, self.job + GROUP)
        self.job += GROUP
        return [Intended(self.slot, intent(key(job, tick))) for job in jobs]

    def _results(self, text: str) -> list[Change]:
        flying, self.slot.in_flight = self.slot.in_flight, {}
        return [
            Resulted(self.slot, row, encode_settled(replied(f"{row} {text}")))
            for row in flying.values()
        ]

    def _write(self, changes: list[Change]) -> None:
        self.file.write(changes)
        for one in changes:
            self.ack(told(one))


def told(change: Change) -> Fact:
    """State what a change makes true."""
    tick = change.slot.opening.tick
    if isinstance(change, Opened):
        return fact(_OPENED, tick, change.slot.opening)
    if isinstance(change, Intended):
        return fact(_INTENDED, tick, change.payload)
    if isinstance(change, Resulted):
        return fact(_SETTLED, tick, (change.row & 0xFFFF, change.encoded))
    return fact(_CLOSED, tick, "closed")


def found_in(tick: OpenTick) -> Iterable[Fact]:
    """State what a tick as read makes true."""
    number = tick.opening.tick
    yield fact(_OPENED, number, tick.opening)
    for row, call in enumerate(tick.calls):
        yield fact(_INTENDED, number, encode(call.intent))
        if call.settled is not None:
            yield fact(_SETTLED, number, (row, encode_settled(call.settled)))


def closed_in(file: JournalFile) -> list[Fact]:
    """State which ticks the file itself says are closed."""
    ticks = [tick for tick in read_ticks(file._database) if tick.closed]
    return [fact(_CLOSED, tick.opening.tick, "closed") for tick in ticks]


def require_kept(file: JournalFile, acked: Iterable[Fact]) -> None:
    """Check that everything acknowledged is there, and that no group is there in part.

    Raises:
        DamagedRecordError: it is not.

    """
    acked = list(acked)
    ticks = [file.read(slot) for slot in file.slots.values()]
    found = {one for tick in ticks for one in found_in(tick)}
    told_closed = {one.tick for one in acked if one.kind == _CLOSED}
    still_open = {tick.opening.tick for tick in ticks} & told_closed
    if still_open:
        raise DamagedRecordError(f"The ticks {still_open} were closed and are open.")
    closed = told_closed | {one.tick for one in closed_in(file)}
    lost = [one for one in acked if one.tick not in closed and one not in found]
    if lost:
        raise DamagedRecordError(f"{len(lost)} acknowledged facts are not there.")
    for tick in ticks:
        if len(tick.calls) % GROUP or sum(call.settled is not None for call in tick.calls) % GROUP:
            raise DamagedRecordError("A group is there in part.")
