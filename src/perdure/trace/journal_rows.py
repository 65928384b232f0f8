"""The rows of the call journal: how they are made, summed, read and checked.

A row's id is its tick's id and its own number in the tick: `tick << 32 | number`, numbers from 0
without a gap. So a tick's rows lie together, whatever else is open at the same time. Every row has
a check sum, and every tick the counts of its rows, because SQLite does not see a changed bit.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError, StorageError
from perdure.base.text import one_line
from perdure.records.journal import Intent, JournaledCall, Settled, TickOpening
from perdure.records.request import Vectors
from perdure.trace.database import Database
from perdure.trace.decoding import decode
from perdure.trace.schema import VALUE_BYTES_MAX

_ID_BITS = 32  # as in `_OWNERS`

INSERT_INTENT = "INSERT INTO intents VALUES (?, ?, ?, ?)"
INSERT_RESULT = "INSERT INTO results VALUES (?, ?, ?, ?)"
INSERT_TICK = "INSERT INTO ticks VALUES (?, ?, ?, ?, ?, ?, ?)"
UPDATE_TICK = "UPDATE ticks SET closed = ?, intents = ?, results = ?, sum = ? WHERE id = ?"
DELETE_TICK = "DELETE FROM ticks WHERE id = ?"
DELETE_INTENTS = "DELETE FROM intents WHERE id >= ? AND id < ?"
DELETE_RESULTS = "DELETE FROM results WHERE id >= ? AND id < ?"
_TICKS = "SELECT id, epoch, opening, closed, intents, results, sum FROM ticks ORDER BY id"
_CALLS = (
    "SELECT i.id, i.epoch, i.payload, i.sum, r.payload, r.vectors, r.sum"
    " FROM intents AS i LEFT JOIN results AS r ON r.id = i.id"
    " WHERE i.id >= ? AND i.id < ? ORDER BY i.id"
)
INSERT_HEAD = "INSERT INTO head VALUES (1, ?, ?, ?, ?)"
UPDATE_HEAD = "UPDATE head SET writes = ?, sum = ? WHERE id = 1"
_HEAD = (
    "SELECT head.run, since, writes, epoch, sum FROM head, lease WHERE head.id = 1 AND lease.id = 1"
)
_RESULTS = "SELECT count(*) FROM results WHERE id >= ? AND id < ?"
_OWNERS = "SELECT id >> 32 FROM intents UNION SELECT id >> 32 FROM results"

_INTENT_NUMBERS = struct.Struct(">2q")
_HEAD_NUMBERS = struct.Struct(">3q")
_TICK_NUMBERS = struct.Struct(">5q")
_ROW_NUMBER = struct.Struct(">q")
_DOUBLE_BYTES = 8
_FOUND_MAX = 200


class StoredTick(NamedTuple):
    """A tick as stored, with the counts of its rows."""

    id: int
    epoch: int
    opening: TickOpening
    closed: bool
    intents: int
    results: int


class StoredHead(NamedTuple):
    """Whose journal this is, since which epoch it holds every call, and how often it was written.

    `epoch` is that of the lease.
    """

    run: str
    since: int
    writes: int
    epoch: int


class Encoded(NamedTuple):
    """A result, ready to be stored."""

    payload: bytes
    vectors: bytes | None


def first_row(tick: int) -> int:
    """Give the id of a tick's first row."""
    return tick << _ID_BITS


def encode_settled(settled: Settled) -> Encoded:
    """Encode a result. Vectors become 64-bit floats side by side: exact, and half as large.

    Raises:
        InternalError: it holds what cannot be recorded.
        StorageError: it is larger than any value may be.

    """
    outcome, vectors = settled.outcome, None
    if isinstance(outcome, Vectors):
        numbers = [number for vector in outcome.vectors for number in vector]
        vectors = struct.pack(f"<{len(numbers)}d", *numbers)
        bare = msgspec.structs.replace(outcome, vectors=((),) * len(outcome.vectors))
        settled = msgspec.structs.replace(settled, outcome=bare)
    payload = encode(settled)
    if len(payload) > VALUE_BYTES_MAX or (vectors and len(vectors) > VALUE_BYTES_MAX):
        raise StorageError("A reply is larger than what can be kept of one call.")
    return Encoded(payload, vectors)


def intent_values(row: int, epoch: int, payload: bytes) -> tuple[int | bytes, ...]:
    """Make the row of an intent; `payload` is the encoded intent."""
    return row, epoch, payload, _intent_sum(row, epoch, payload)


def result_values(row: int, encoded: Encoded) -> tuple[int | bytes | None, ...]:
    """Make the row of a result."""
    payload, vectors = encoded
    return row, payload, vectors, _result_sum(row, payload, vectors)


def tick_values(tick: StoredTick, opening: bytes) -> tuple[int | bytes, ...]:
    """Make the row of a tick; `opening` is the encoded opening."""
    return (
        tick.id,
        tick.epoch,
        opening,
        int(tick.closed),
        tick.intents,
        tick.results,
        _tick_sum(tick.id, tick.epoch, opening, int(tick.closed), tick.intents, tick.results),
    )


def head_sum(head: StoredHead) -> int:
    """Sum a head, the epoch of the lease included."""
    return crc32(head.run.encode(), crc32(_HEAD_NUMBERS.pack(head.since, head.writes, head.epoch)))


def read_head(database: Database, run: str) -> StoredHead:
    """Read the head of the journal of a run.

    Raises:
        DamagedRecordError: it is that of another run, or does not hold what was written.

    """
    where = f"{database.path}: head"
    whose, *numbers, found = database.fetch_one(_HEAD)
    if not isinstance(whose, str) or not all(isinstance(one, int) for one in numbers):
        raise DamagedRecordError("The head of the journal is not of its types.", where=where)
    head = StoredHead(whose, *numbers)
    if found != head_sum(head):
        raise _unsummed(where)
    if head.run != run:
        raise DamagedRecordError("This is the call journal of another run.", where=where)
    return head


def require_whole(database: Database) -> None:
    """Have SQLite check every page, also those that hold nothing of use any more.

    Raises:
        DamagedRecordError: one of them is not what it should be.

    """
    ((found, *_),) = database.fetch("PRAGMA quick_check(1)")
    if found != "ok":
        raise DamagedRecordError(
            f"The call journal is damaged ({one_line(str(found), _FOUND_MAX)}).",
            where=str(database.path),
        )


def read_ticks(database: Database) -> list[StoredTick]:
    """Read every tick that the journal knows of, in the order of their opening.

    Raises:
        DamagedRecordError: names the first row that is wrong.

    """
    ticks = []
    for tick_id, epoch, opening, closed, intents, results, found in database.fetch(_TICKS):
        where = f"{database.path}: tick row {tick_id}"
        numbers = (tick_id, epoch, closed, intents, results)
        if not isinstance(opening, bytes) or not all(isinstance(one, int) for one in numbers):
            raise DamagedRecordError("A tick of the journal is not of its types.", where=where)
        if found != _tick_sum(tick_id, epoch, opening, closed, intents, results):
            raise _unsummed(where)
        decoded = decode(opening, TickOpening, where)
        ticks.append(StoredTick(tick_id, epoch, decoded, bool(closed), intents, results))
    live = [(tick.opening.world, tick.opening.tick) for tick in ticks if not tick.closed]
    if len(set(live)) != len(live):
        raise DamagedRecordError("A tick is open twice.", where=str(database.path))
    if not {owner for (owner,) in database.fetch(_OWNERS)} <= {tick.id for tick in ticks}:
        raise DamagedRecordError("There are calls of no tick.", where=str(database.path))
    return ticks


def read_calls(database: Database, tick: StoredTick) -> tuple[JournaledCall, ...]:
    """Read the attempts of an open tick, in the order in which they were made.

    Raises:
        DamagedRecordError: names the first row that is wrong, or says what is missing.

    """
    span = (first_row(tick.id), first_row(tick.id + 1))
    calls = []
    seen = set()
    for number, row in enumerate(database.fetch(_CALLS, span)):
        where = (
            f"{database.path}: world {tick.opening.world}, tick {tick.opening.tick}, row {number}"
        )
        if row[0] != span[0] + number:
            raise DamagedRecordError("A row of the call journal is missing.", where=where)
        call = _call(tick, row, where)
        seen.add((call.intent.key, call.intent.attempt))
        calls.append(call)
    where = f"{database.path}: world {tick.opening.world}, tick {tick.opening.tick}"
    found = len(calls), sum(call.settled is not None for call in calls)
    (results,) = database.fetch_one(_RESULTS, span)
    if found != (tick.intents, tick.results) or results != tick.results:
        raise DamagedRecordError(
            f"There are {found[0]} calls and {results} results; there must be {tick.intents} and"
            f" {tick.results}.",
            where=where,
        )
    if len(seen) != len(calls):
        raise DamagedRecordError("An attempt is there twice.", where=where)
    return tuple(calls)


def _call(tick: StoredTick, row: Sequence[Any], where: str) -> JournaledCall:
    number, epoch, payload, found, *result = row
    if not isinstance(epoch, int) or not isinstance(payload, bytes):
        raise DamagedRecordError("A call of the journal is not of its types.", where=where)
    if found != _intent_sum(number, epoch, payload):
        raise _unsummed(where)
    intent = decode(payload, Intent, where)
    if (intent.key.world, intent.key.tick) != (tick.opening.world, tick.opening.tick):
        raise DamagedRecordError("The call is one of another tick.", where=where)
    settled = None
    if result != [None, None, None]:
        settled = _settled(number, result[0], result[1], result[2], where)
    return JournaledCall(epoch=epoch, intent=intent, settled=settled)


def _settled(row: int, payload: Any, vectors: Any, found: Any, where: str) -> Settled:
    if not isinstance(payload, bytes) or not isinstance(vectors, bytes | None):
        raise DamagedRecordError("A result of the journal is not of its types.", where=where)
    if found != _result_sum(row, payload, vectors):
        raise _unsummed(where)
    settled = decode(payload, Settled, where)
    outcome = settled.outcome
    if not isinstance(outcome, Vectors):
        return settled
    count, data = len(outcome.vectors), vectors or b""
    numbers = struct.unpack(f"<{len(data) // _DOUBLE_BYTES}d", data)
    width = len(numbers) // count if count else 0
    whole = tuple(numbers[place * width : (place + 1) * width] for place in range(count))
    return msgspec.structs.replace(settled, outcome=msgspec.structs.replace(outcome, vectors=whole))


def _intent_sum(row: int, epoch: int, payload: bytes) -> int:
    return crc32(payload, crc32(_INTENT_NUMBERS.pack(row, epoch)))


def _result_sum(row: int, payload: bytes, vectors: bytes | None) -> int:
    start = crc32(_ROW_NUMBER.pack(row))
    found = crc32(payload, start)
    return found if vectors is None else crc32(vectors, found ^ 1)


def _tick_sum(  # noqa: PLR0917 - the columns in their order
    tick: int, epoch: int, opening: bytes, closed: int, intents: int, results: int
) -> int:
    return crc32(opening, crc32(_TICK_NUMBERS.pack(tick, epoch, closed, intents, results)))


def _unsummed(where: str) -> DamagedRecordError:
    return DamagedRecordError("A row of the call journal does not match its sum.", where=where)
