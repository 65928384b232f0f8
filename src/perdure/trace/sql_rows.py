"""The rows of a run's own databases: the statements that read them, a page at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from perdure.trace.database import Database
from perdure.trace.sealing import Row
from perdure.trace.stored import Linked, Unchecked
from perdure.trace.wanted import Span, Wanted

# A page is one short query: no reader keeps a log from being emptied, none needs much memory.
_PAGE = 1_000
_BLOBS_PER_PAGE = 100

_WORLDS = "SELECT position, world_id, entry, witness, outcome FROM worlds ORDER BY position"
_WORLD = "SELECT world_id, entry, witness, outcome FROM worlds WHERE world_id = ?"
_LOG = "SELECT seq, kind, payload, hash FROM log ORDER BY seq"
_FIRST_LOG = "SELECT kind, payload, hash FROM log WHERE seq = 0"
_HAS_GRAPH = "SELECT 1 FROM sqlite_schema WHERE name = 'graph'"
_GRAPH = "SELECT position, payload FROM graph ORDER BY position"
_PERSONAS = "SELECT position, id, payload FROM personas ORDER BY position"
_HELD_OUT = "SELECT id, value FROM held_out ORDER BY id"

_PAGE_OF_EVENTS = (
    "SELECT seq, tick, kind, persona, content, payload, hash FROM events"
    " WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)
# One statement is one moment, so that the last event is that of this head.
_HEAD = (
    "SELECT seq, chain, content, digest, tick, log_seq, log_chain,"
    " (SELECT coalesce(max(seq), -1) FROM events) FROM head WHERE id = 1"
)
_LINKED = (
    "SELECT e.seq, e.tick, e.kind, e.persona, e.content, e.payload, e.hash, before.hash"
    " FROM events AS e LEFT JOIN events AS before ON before.seq = e.seq - 1"
    " WHERE e.seq BETWEEN ? AND ?"
)
_COUNT = "SELECT count(*) FROM events WHERE seq BETWEEN ? AND ?"
_TICK = "SELECT tick FROM events WHERE seq = ?"
_HASH = "SELECT hash FROM events WHERE seq = ?"
_NEXT_CONTENT = (
    "SELECT content FROM events WHERE seq >= ? AND content IS NOT NULL ORDER BY seq LIMIT 1"
)
# The first page is of whatever comes first, also of what is no hash at all.
_FIRST_BLOBS = "SELECT sha256, bytes FROM blobs ORDER BY sha256 LIMIT ?"
_PAGE_OF_BLOBS = "SELECT sha256, bytes FROM blobs WHERE sha256 > ? ORDER BY sha256 LIMIT ?"
_BLOB = "SELECT bytes FROM blobs WHERE sha256 = ?"
_HAS_BLOB = "SELECT 1 FROM blobs WHERE sha256 = ?"


class SqlRegistry:
    """The rows of a registry in its database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @property
    def path(self) -> Path:
        """The file."""
        return self.database.path

    def entry(self) -> Any:
        """Give the bytes of the run as asked."""
        (payload,) = self.database.fetch_one("SELECT entry FROM run WHERE id = 1")
        return payload

    def log(self) -> list[Unchecked]:
        """Give the run log in order."""
        return self.database.fetch(_LOG)

    def first_log(self) -> Unchecked | None:
        """Give the first row of the run log."""
        rows = self.database.fetch(_FIRST_LOG)
        return rows[0] if rows else None

    def worlds(self) -> list[Unchecked]:
        """Give the worlds in order."""
        return self.database.fetch(_WORLDS)

    def world(self, world_id: str) -> list[Unchecked]:
        """Give the rows of one world."""
        return self.database.fetch(_WORLD, (world_id,))

    def personas(self) -> list[Unchecked]:
        """Give the population in order."""
        return self.database.fetch(_PERSONAS)

    def graph(self) -> list[Unchecked] | None:
        """Give the nodes of the graph in order; None if there is no table of them."""
        return self.database.fetch(_GRAPH) if self.database.fetch(_HAS_GRAPH) else None

    def held_out(self) -> list[Unchecked]:
        """Give the held-out values by persona."""
        return self.database.fetch(_HELD_OUT)


class SqlWorld:
    """The rows of a partition in its database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @property
    def path(self) -> Path:
        """The file."""
        return self.database.path

    def header(self) -> Any:
        """Give the bytes of the header."""
        (payload,) = self.database.fetch_one("SELECT payload FROM header WHERE id = 1")
        return payload

    def head(self) -> Unchecked:
        """Give where the partition says that it ends, and its last event."""
        return self.database.fetch_one(_HEAD)

    def rows(self, last: int) -> Iterator[Row]:
        """Go through the events up to a number, in order."""
        after = -1
        while page := self.database.fetch(_PAGE_OF_EVENTS, (after, last, _PAGE)):
            yield from page
            after = page[-1][0]

    def count(self, span: Span) -> int:
        """Count the events of a span."""
        return int(self.database.fetch(_COUNT, span)[0][0])

    def linked(self, span: Span, wanted: Wanted) -> list[Linked]:
        """Give the wanted events of a span in order, each with the hash of the one before it."""
        condition, values = _condition(wanted)
        return self.database.fetch(f"{_LINKED}{condition} ORDER BY e.seq", (*span, *values))

    def tick_of(self, seq: int) -> Any:
        """Give the tick of an event."""
        return self._only(_TICK, seq)

    def hash_of(self, seq: int) -> Any:
        """Give the hash of an event."""
        return self._only(_HASH, seq)

    def content_from(self, seq: int) -> Any:
        """Give the content number of the first content event from here on."""
        return self._only(_NEXT_CONTENT, seq)

    def has_blob(self, key: bytes) -> bool:
        """Say whether there are bytes with this hash."""
        return self._only(_HAS_BLOB, key) is not None

    def blob(self, key: bytes) -> Any:
        """Give the bytes with this hash."""
        return self._only(_BLOB, key)

    def blobs(self) -> Iterator[Unchecked]:
        """Go through all bytes that events cite, by their hash."""
        page = self.database.fetch(_FIRST_BLOBS, (_BLOBS_PER_PAGE,))
        while page:
            yield from page
            page = self.database.fetch(_PAGE_OF_BLOBS, (page[-1][0], _BLOBS_PER_PAGE))

    def _only(self, sql: str, value: int | bytes) -> Any:
        rows = self.database.fetch(sql, (value,))
        return rows[0][0] if rows else None


def _condition(wanted: Wanted) -> tuple[str, tuple[str | bytes, ...]]:
    """Say in SQL what `Wanted.holds` says, and give its values."""
    parts = []
    values: list[str | bytes] = []
    if wanted.persona:
        parts.append("e.persona = ?")
        values.append(wanted.persona)
    if wanted.kinds:
        parts.append(f"e.kind IN ({_marks(wanted.kinds)})")
        values.extend(wanted.kinds)
    if wanted.text:
        parts.append("instr(e.payload, ?)")
        values.append(wanted.text)
    told = " AND ".join(parts) or "TRUE"
    if wanted.besides:
        told = f"{told} OR e.kind IN ({_marks(wanted.besides)})"
        values.extend(wanted.besides)
    return f" AND ({told})", tuple(values)


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))
