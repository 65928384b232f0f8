"""The call journal in one SQLite file. Blocking; one thread at a time.

Changes are written in groups, a group in one transaction. The calls of a closed tick are dead: the
record has them. They are deleted little by little, in the transactions of later groups, always
faster than new ones come; the pages that become free are used again, so the file does not grow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Self, TypeAlias

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError
from perdure.records.journal import Intent, OpenTick, TickOpening
from perdure.trace import journal_rows as rows
from perdure.trace.birth import give_birth
from perdure.trace.database import Database
from perdure.trace.journal_note import JournalNote, Noted, read_note
from perdure.trace.journal_rows import Encoded, StoredHead, StoredTick, first_row
from perdure.trace.opening import open_writer
from perdure.trace.partition_file import claim, require_epoch
from perdure.trace.schema import CALLS

JOURNAL_NAME = "calls.db"

Place: TypeAlias = tuple[int, str, int, int]
"""Which attempt of a tick: job, purpose, ordinal, attempt."""

# The dead are deleted in pieces of at least so many, and twice as fast as new ones come.
_DELETE_MIN = 256
_DELETE_SHARE = 2
# An opened file gives its free space back if that is more than this and most of the file.
_FREE_BYTES_MAX = 64 * 1024 * 1024


class Slot:
    """A tick that is open: where its rows are, how many, and which attempts are in flight."""

    __slots__ = ("encoded", "epoch", "id", "in_flight", "intents", "opening", "results")

    def __init__(self, opening: TickOpening, encoded: bytes) -> None:
        self.id = -1
        self.epoch = -1
        self.opening = opening
        self.encoded = encoded
        self.intents = 0
        self.results = 0
        self.in_flight: dict[Place, int] = {}


class Opened:
    """A tick is opened."""

    __slots__ = ("slot",)

    def __init__(self, slot: Slot) -> None:
        self.slot = slot


class Intended:
    """An attempt is about to be sent."""

    __slots__ = ("payload", "place", "slot")

    def __init__(self, slot: Slot, intent: Intent) -> None:
        """Encode an intent.

        Raises:
            InternalError: it holds what cannot be recorded.

        """
        key = intent.key
        self.slot = slot
        self.place: Place = (key.job, key.purpose, key.ordinal, intent.attempt)
        self.payload = encode(intent)


class Resulted:
    """An attempt has come to something."""

    __slots__ = ("encoded", "row", "slot")

    def __init__(self, slot: Slot, row: int, encoded: Encoded) -> None:
        self.slot = slot
        self.row = row
        self.encoded = encoded


class Closed:
    """A tick is closed: the record has it."""

    __slots__ = ("slot",)

    def __init__(self, slot: Slot) -> None:
        self.slot = slot


Change: TypeAlias = Opened | Intended | Resulted | Closed


class JournalFile:
    """Writes a run's call journal under one epoch."""

    def __init__(
        self, database: Database, head: StoredHead, note: JournalNote, ticks: Sequence[StoredTick]
    ) -> None:
        self._database = database
        self._head = head
        self._note = note
        self.slots: dict[tuple[str, int], Slot] = {}
        self._dead: deque[tuple[int, int, int]] = deque()
        self._next_id = max((tick.id for tick in ticks), default=0) + 1
        for tick in ticks:
            if tick.closed:
                self._dead.append((tick.id, 0, tick.intents))
                continue
            slot = Slot(tick.opening, encode(tick.opening))
            slot.id, slot.epoch = tick.id, tick.epoch
            slot.intents, slot.results = tick.intents, tick.results
            self.slots[tick.opening.world, tick.opening.tick] = slot

    @classmethod
    def create(cls, folder: Path, epoch: int, *, run: str = "", since: int = 1) -> Self:
        """Give birth to the call journal of a run and open it.

        It holds every call of the run since the epoch `since`.

        Raises:
            HeldError: there is one already.
            StorageError: storage failed.

        """
        path = folder / JOURNAL_NAME
        head = StoredHead(run=run, since=since, writes=0, epoch=epoch)

        def fill(database: Database) -> None:
            database.execute("INSERT INTO lease VALUES (1, ?)", (epoch,))
            database.execute(rows.INSERT_HEAD, (run, since, 0, rows.head_sum(head)))

        give_birth(path, CALLS, fill, lambda: None)
        return cls(_opened(path), head, _note(path, head), ())

    @classmethod
    def open(cls, folder: Path, epoch: int, *, run: str = "") -> Self:
        """Claim the call journal of a run for an epoch, and check all of it.

        Raises:
            StaleWriterError: a later epoch has claimed it.
            DamagedRecordError: there is none, it is another run's, or it does not hold what was
                written.
            StorageError: storage failed.

        """
        path = folder / JOURNAL_NAME
        database = _opened(path)
        try:
            rows.require_whole(database)
            head = rows.read_head(database, run)
            require_noted(path, head, read_note(path, run))
            ticks = rows.read_ticks(database)
            for tick in ticks:
                if not tick.closed:
                    rows.read_calls(database, tick)
            head = head._replace(epoch=epoch)
            with database.transaction():
                claim(database, epoch)
                database.execute(rows.UPDATE_HEAD, (head.writes, rows.head_sum(head)))
            _trim(database)
            note = _note(path, head)
        except BaseException as error:
            # What is damaged is kept as it was found: its log may hold what can still be rescued.
            database.close(keep_log=isinstance(error, DamagedRecordError))
            raise
        return cls(database, head, note, ticks)

    @property
    def epoch(self) -> int:
        """The epoch under which the journal was claimed."""
        return self._head.epoch

    @property
    def since(self) -> int:
        """The epoch since which it holds every call of the run."""
        return self._head.since

    def write(self, changes: Sequence[Change]) -> None:
        """Write a group of changes durably, all of them or none.

        Raises:
            StaleWriterError: another epoch has claimed the journal.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed; this journal is not written again by this process.

        """
        group = _Group(self.epoch, self._next_id)
        for change in changes:
            group.add(change)
        database = self._database
        head = self._head._replace(writes=self._head.writes + 1)
        with database.transaction():
            require_epoch(database, self.epoch)
            database.execute(rows.UPDATE_HEAD, (head.writes, rows.head_sum(head)))
            if group.intents:
                database.execute_many(rows.INSERT_INTENT, group.intents)
            if group.results:
                database.execute_many(rows.INSERT_RESULT, group.results)
            if group.opened:
                database.execute_many(rows.INSERT_TICK, group.new_ticks())
            if group.counts:
                database.execute_many(rows.UPDATE_TICK, group.changed_ticks())
            dead = self._delete_some(max(_DELETE_MIN, _DELETE_SHARE * len(group.intents)))
        self._head = head
        self._note.write(head.writes)
        group.keep()
        self._next_id += len(group.opened)
        self._dead = dead
        for slot in group.closed:
            self._dead.append((slot.id, 0, slot.intents))
        database.checkpoint_if_due()

    def read(self, slot: Slot) -> OpenTick:
        """Read the attempts of an open tick.

        Raises:
            DamagedRecordError: they are not what was written.
            StorageError: storage failed.

        """
        calls = rows.read_calls(self._database, _stored(slot))
        return OpenTick(epoch=slot.epoch, opening=slot.opening, calls=calls)

    def finish(self) -> bool:
        """Delete all that is dead, and put the rest into the one file.

        False if a reader or a full disk was in the way.

        Raises:
            StorageError: storage failed.

        """
        while self._dead:
            with self._database.transaction():
                require_epoch(self._database, self.epoch)
                dead = self._delete_some(_DELETE_MIN * 16)
            self._dead = dead
            self._database.checkpoint_if_due()
        if self._database.fetch_one("PRAGMA freelist_count") != (0,):
            self._database.execute("VACUUM")
        return self._database.leave_wal()

    def close(self) -> None:
        """Close the file.

        Raises:
            StorageError: storage failed.

        """
        self._note.close()
        self._database.close()

    def _delete_some(self, count: int) -> deque[tuple[int, int, int]]:
        """Delete some dead rows inside an open transaction; give what is dead then."""
        dead = self._dead.copy()
        while dead and count > 0:
            tick, first, end = dead.popleft()
            last = min(first + count, end)
            span = (first_row(tick) + first, first_row(tick) + last)
            self._database.execute(rows.DELETE_INTENTS, span)
            self._database.execute(rows.DELETE_RESULTS, span)
            count -= last - first
            if last < end:
                dead.appendleft((tick, last, end))
            else:
                self._database.execute(rows.DELETE_TICK, (tick,))
                count -= 1
        return dead


class _Group:
    """The rows of one transaction, and what is true of the open ticks once it is durable."""

    def __init__(self, epoch: int, next_id: int) -> None:
        self._epoch = epoch
        self._next_id = next_id
        self.intents: list[tuple[int | bytes, ...]] = []
        self.results: list[tuple[int | bytes | None, ...]] = []
        self.opened: dict[Slot, int] = {}
        self.closed: list[Slot] = []
        self.counts: dict[Slot, list[int]] = {}
        self._sent: list[tuple[Slot, Place, int]] = []

    def add(self, change: Change) -> None:
        """Take a change in, after those before it."""
        slot = change.slot
        counts = self.counts.get(slot)
        if counts is None:
            counts = self.counts[slot] = [slot.intents, slot.results]
        if isinstance(change, Intended):
            row = first_row(self.opened.get(slot, slot.id)) + counts[0]
            counts[0] += 1
            self.intents.append(rows.intent_values(row, self._epoch, change.payload))
            self._sent.append((slot, change.place, row))
        elif isinstance(change, Resulted):
            counts[1] += 1
            self.results.append(rows.result_values(change.row, change.encoded))
        elif isinstance(change, Opened):
            self.opened[slot] = self._next_id + len(self.opened)
        else:
            self.closed.append(slot)

    def new_ticks(self) -> list[tuple[int | bytes, ...]]:
        """Make the rows of the ticks that are opened."""
        return [
            rows.tick_values(
                StoredTick(number, self._epoch, slot.opening, False, 0, 0), slot.encoded
            )
            for slot, number in self.opened.items()
        ]

    def changed_ticks(self) -> list[tuple[int, int, int, int, int]]:
        """Make the new states of the ticks that have more rows, or are closed."""
        changed = []
        for slot, (intents, results) in self.counts.items():
            number = self.opened.get(slot, slot.id)
            epoch = self._epoch if slot in self.opened else slot.epoch
            closed = slot in self.closed
            tick = StoredTick(number, epoch, slot.opening, closed, intents, results)
            *_, found = rows.tick_values(tick, slot.encoded)
            changed.append((int(closed), intents, results, int(found), number))
        return changed

    def keep(self) -> None:
        """Note what is true now that it is durable."""
        for slot, number in self.opened.items():
            slot.id, slot.epoch = number, self._epoch
        for slot, (intents, results) in self.counts.items():
            slot.intents, slot.results = intents, results
        for slot, place, row in self._sent:
            slot.in_flight[place] = row


def _stored(slot: Slot) -> StoredTick:
    return StoredTick(slot.id, slot.epoch, slot.opening, False, slot.intents, slot.results)


def _opened(path: Path) -> Database:
    database = open_writer(path, CALLS)
    # What is rewritten to give space back is small, and stays in memory.
    database.execute("PRAGMA temp_store = MEMORY")
    return database


def require_noted(path: Path, head: StoredHead, noted: Noted | None) -> None:
    """Refuse a journal that ends before where it is known to have been.

    Raises:
        DamagedRecordError: it does.

    """
    if noted is not None and noted.since == head.since and head.writes < noted.writes:
        raise DamagedRecordError(
            f"The call journal has lost its end: {noted.writes} writes were acknowledged, and it"
            f" holds {head.writes}.",
            where=str(path),
        )


def _note(path: Path, head: StoredHead) -> JournalNote:
    note = JournalNote(path, head.run, head.since)
    note.write(head.writes)
    return note


def _trim(database: Database) -> None:
    (free,) = database.fetch_one("PRAGMA freelist_count")
    (pages,) = database.fetch_one("PRAGMA page_count")
    (size,) = database.fetch_one("PRAGMA page_size")
    if free * size > _FREE_BYTES_MAX and free > pages // 2:
        database.execute("VACUUM")
