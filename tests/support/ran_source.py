"""A run that was made in memory, as analysis reads it; for tests of what is measured in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tests.support.town import Ran

from perdure.records.events import KIND_OF, Event
from perdure.records.graph import Node
from perdure.records.journal import OpenTick
from perdure.records.persona import Persona
from perdure.records.registry import LogPayload, RunEntry, WorldEntry, WorldOutcome
from perdure.runner.config import RunConfig


class RanSource:
    """A `RecordSource` over a run in memory, with the graph of its population."""

    def __init__(self, ran: Ran, config: RunConfig) -> None:
        self._ran = ran
        self.entry: RunEntry = ran.run.entry
        self.worlds: tuple[WorldEntry, ...] = ran.run.worlds
        self.personas: tuple[Persona, ...] = ran.run.personas
        self.held_out: dict[str, str] = ran.run.held_out
        self.graph: tuple[Node, ...] = config.population.graph
        self.log: tuple[LogPayload, ...] = tuple(row.payload for row in ran.run.log)
        self.journal: tuple[OpenTick, ...] | None = None
        self.journal_fault = ""
        self.withheld = False
        self.outcomes: dict[str, WorldOutcome] = {
            name: one for name, one in ran.run.outcomes.items() if one is not None
        }

    def events(self, world_id: str, kinds: Collection[str] | None = None) -> Iterator[Event]:
        """Stream a world's events."""
        place = [world.world_id for world in self._ran.result.worlds].index(world_id)
        for event in self._ran.events(place):
            if kinds is None or KIND_OF[type(event.payload)] in kinds:
                yield event
