"""What a record is read from: the rows of its registry and of its worlds, as they are stored.

Rows come unchecked, and whoever reads them makes the checks: so that a run's own folder and an
export of it are read, checked and looked through by the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from perdure.records.journal import OpenTick
from perdure.trace.sealing import Row
from perdure.trace.wanted import Span, Wanted

# What is stored, of which nobody has checked yet that it is what it should be.
Unchecked = tuple[Any, ...]

# A row of an event with the hash of the one before it, None where that is not there.
Linked = tuple[int, int, str, str, int | None, bytes, bytes, bytes | None]


class RegistryRows(Protocol):
    """The rows of a registry."""

    @property
    def path(self) -> Path:
        """Where they are stored, for whoever is told that one is wrong."""
        ...

    def entry(self) -> Any:
        """Give the bytes of the run as asked."""
        ...

    def log(self) -> Sequence[Unchecked]:
        """Give the run log in order: number, kind, payload, hash."""
        ...

    def first_log(self) -> Unchecked | None:
        """Give the first row of the run log: kind, payload, hash."""
        ...

    def worlds(self) -> Sequence[Unchecked]:
        """Give the worlds in order: position, id, entry, witness, outcome."""
        ...

    def world(self, world_id: str) -> Sequence[Unchecked]:
        """Give the rows of one world, which should be one: id, entry, witness, outcome."""
        ...

    def personas(self) -> Iterable[Unchecked]:
        """Give the population in order: position, id, payload."""
        ...

    def graph(self) -> Iterable[Unchecked] | None:
        """Give the nodes of the graph in order: position, payload; None if nothing holds any."""
        ...

    def held_out(self) -> Sequence[Unchecked] | None:
        """Give the held-out values: persona, value; None if they were left out of this copy."""
        ...


class WorldRows(Protocol):
    """The rows of one world's record."""

    @property
    def path(self) -> Path:
        """Where they are stored, for whoever is told that one is wrong."""
        ...

    def header(self) -> Any:
        """Give the bytes of the header."""
        ...

    def head(self) -> Unchecked:
        """Give where the record says that it ends, and the number of its last event.

        That is: number, chain, contents, digest, tick; number and chain of the run log's head;
        number of the last event that is there, -1 if none is.
        """
        ...

    def rows(self, last: int) -> Iterator[Row]:
        """Go through the events up to a number, in order."""
        ...

    def count(self, span: Span) -> int:
        """Count the events of a span."""
        ...

    def linked(self, span: Span, wanted: Wanted) -> Sequence[Linked]:
        """Give the wanted events of a span in order, each with the hash of the one before it."""
        ...

    def tick_of(self, seq: int) -> Any:
        """Give the tick of an event; None if there is no such event."""
        ...

    def hash_of(self, seq: int) -> Any:
        """Give the hash of an event; None if there is no such event."""
        ...

    def content_from(self, seq: int) -> Any:
        """Give the content number of the next content event, itself included; None without one."""
        ...

    def has_blob(self, key: bytes) -> bool:
        """Say whether there are bytes with this hash."""
        ...

    def blob(self, key: bytes) -> Any:
        """Give the bytes with this hash; None if there are none."""
        ...

    def blobs(self) -> Iterator[Unchecked]:
        """Go through all bytes that events cite, each with the hash that it is kept under."""
        ...


class RunStore(Protocol):
    """A run as it is stored somewhere, read-only."""

    @property
    def registry(self) -> RegistryRows:
        """The rows of the registry."""
        ...

    def has(self, world_id: str) -> bool:
        """Say whether a world has a record."""
        ...

    def recorded(self) -> set[str]:
        """Give the ids of all worlds that have a record."""
        ...

    def world(self, world_id: str) -> WorldRows:
        """Give the rows of a world's record, which are opened if need be.

        Raises:
            DamagedRecordError: there is none, or it is not one.

        """
        ...

    def let_go(self, world_id: str) -> None:
        """Close the record of a world, if it is open."""
        ...

    def journal(self, run_id: str) -> tuple[OpenTick, ...] | None:
        """Give the ticks that the call journal holds open; None if there is no journal.

        Raises:
            DamagedRecordError: it cannot be used; says why.

        """
        ...

    def close(self) -> None:
        """Close every file."""
        ...
