"""Where analysis reads from: any record of a run that is opened read-only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from perdure.records.events import Event
from perdure.records.graph import Node
from perdure.records.journal import OpenTick
from perdure.records.persona import Persona
from perdure.records.registry import LogPayload, RunEntry, WorldEntry, WorldOutcome


class RecordSource(Protocol):
    """A run's record, read-only: `RunReader` is one, of a run's folder or of an export.

    Worlds are in the order of the run's cells.
    """

    @property
    def entry(self) -> RunEntry:
        """The run as asked."""
        ...

    @property
    def worlds(self) -> Sequence[WorldEntry]:
        """Every world of the run, started or not."""
        ...

    @property
    def outcomes(self) -> Mapping[str, WorldOutcome]:
        """Where each world stands, by world id."""
        ...

    @property
    def log(self) -> Sequence[LogPayload]:
        """What the run log says, in order."""
        ...

    @property
    def journal(self) -> Sequence[OpenTick] | None:
        """The open ticks that are in no record yet, with their calls; None without a journal."""
        ...

    @property
    def journal_fault(self) -> str:
        """Why there is none though a file has its name; empty otherwise."""
        ...

    @property
    def personas(self) -> Sequence[Persona]:
        """The population in its order."""
        ...

    @property
    def graph(self) -> Sequence[Node]:
        """Who knows whom, a node for each persona in their order; empty if there is no graph."""
        ...

    @property
    def held_out(self) -> Mapping[str, str]:
        """The known held-out choice of each persona; one without a value is absent."""
        ...

    @property
    def withheld(self) -> bool:
        """Whether there are held-out values that were left out of this copy of the record."""
        ...

    def events(self, world_id: str, kinds: Collection[str] | None = None) -> Iterator[Event]:
        """Stream a world's events of some kinds, in order; none if it has not started."""
        ...
