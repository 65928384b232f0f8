"""How a world is started: its objects are made, and its record is born or opened.

The same in the process that governs the run as in a worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from perdure.agent import Agent
from perdure.agent.drive.tools.function import FunctionTool
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.records.people import People
from perdure.records.persona import Persona
from perdure.records.scenario import Header
from perdure.runner.port import ModelHost, TickReport
from perdure.runner.readings import Readings
from perdure.runner.world_run import Guard, WorldRun, unguarded
from perdure.trace.port import Partition, Partitions
from perdure.trace.verify_claims import MISSING
from perdure.world import World


class Parts(Protocol):
    """Makes the objects of a world."""

    def world(self, header: Header) -> World:
        """Make the world of a header."""
        ...

    def agent(self, header: Header) -> Agent:
        """Make the agent of a header."""
        ...

    @property
    def outside(self) -> Sequence[FunctionTool]:
        """The tools outside the worlds."""
        ...


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """What worlds are made of, and where their records are. Records are written under `epoch`."""

    parts: Parts
    people: People
    host: ModelHost
    partitions: Partitions
    readings: Readings
    epoch: int
    guard: Guard = unguarded

    @cached_property
    def personas(self) -> Mapping[str, Persona]:
        """The people by id: one mapping for all worlds."""
        return {persona.id: persona for persona in self.people.personas}

    async def start(self, header: Header, witness: Head | None, forced_until: int) -> WorldRun:
        """Make a world and open its record, of which `witness` was last noted.

        Its ticks up to `forced_until` are from before the run was last forced.

        Raises:
            PluginError: the world or its agent cannot be made.
            DamagedRecordError: the record does not hold what was written.
            StorageError: storage failed.

        """
        world, agent = self.parts.world(header), self.parts.agent(header)
        partition = await self._partition(header, witness)
        return WorldRun(
            header=header,
            personas=self.personas,
            people=self.people,
            world=world,
            agent=agent,
            outside=self.parts.outside,
            partition=partition,
            host=self.host,
            forced_until=forced_until,
            guard=self.guard,
        )

    async def _partition(self, header: Header, witness: Head | None) -> Partition:
        if await self.partitions.has(header.world_id):
            return await self.partitions.open(header.world_id, self.epoch, witness)
        if witness is not None:
            raise DamagedRecordError(MISSING, where=header.world_id)
        partition = await self.partitions.create(header, self.epoch)
        crashpoint("partition.born")
        return partition

    async def recall(self, world: WorldRun) -> TickReport:
        """Bring a world to where its record ends.

        Raises:
            MovedError: it does not step as it is recorded.
            PluginError: the world raised.
            StorageError: storage failed.

        """
        async with self.readings.lent(world.header.world_id) as reading:
            return await world.recall(reading)
