"""A store that keeps a run in memory, under the same contract as the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError, HeldError, InternalError, StaleWriterError
from perdure.records.events import Batch, Event, Head
from perdure.records.graph import Node
from perdure.records.persona import Persona
from perdure.records.registry import (
    LogHead,
    LogPayload,
    RunEntry,
    RunOpened,
    WorldEntry,
    WorldOutcome,
)
from perdure.records.scenario import Header
from perdure.trace.decoding import decode_event
from perdure.trace.registry_file import NO_HEADS
from perdure.trace.run_log import StoredLog, first_log_head, seal_log
from perdure.trace.sealing import Row, first_head, seal
from perdure.trace.walk import Walker, walked


class MemoryWorld:
    """What a partition holds."""

    def __init__(self, header: Header, epoch: int) -> None:
        self.header = encode(header)
        self.epoch = epoch
        self.rows: list[Row] = []
        self.blobs: dict[bytes, bytes] = {}
        self.head = first_head(self.header)
        self.log_head: LogHead | None = None


class MemoryPartition:
    """One world's record, open to be written."""

    def __init__(self, world: MemoryWorld, epoch: int) -> None:
        self._world = world
        self.epoch = epoch

    @property
    def head(self) -> Head:
        """Where the record ends."""
        return self._world.head

    async def append(self, batch: Batch, *, epoch: int, log_head: LogHead) -> Head:
        """Write one whole tick, or a pause, with its blobs and the run log's head.

        Raises:
            InternalError: the batch is neither of these, or does not continue the record.
            StaleWriterError: another epoch has claimed the partition.

        """
        sealed = seal(self._world.head, batch)
        if self._world.epoch != epoch:
            raise StaleWriterError(f"Epoch {self._world.epoch} holds this record, not {epoch}.")
        self._world.rows.extend(sealed.rows)
        self._world.blobs.update(sealed.blobs)
        self._world.head, self._world.log_head = sealed.head, log_head
        return sealed.head

    async def finish(self) -> bool:
        """Do nothing: the record has one form only."""
        return True

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class MemoryPartitions:
    """The records of all worlds of a run."""

    def __init__(self) -> None:
        self.worlds: dict[str, MemoryWorld] = {}

    async def create(self, header: Header, epoch: int) -> MemoryPartition:
        """Give birth to a world's record and open it.

        Raises:
            HeldError: the world has one already.

        """
        if header.world_id in self.worlds:
            raise HeldError("The world has a record already.", where=header.world_id)
        world = self.worlds[header.world_id] = MemoryWorld(header, epoch)
        return MemoryPartition(world, epoch)

    async def open(self, world_id: str, epoch: int, witness: Head | None = None) -> MemoryPartition:
        """Claim a world's record, and check all of it against its chain and its witness.

        Raises:
            StaleWriterError: a later epoch has claimed it.
            DamagedRecordError: there is none, or it does not hold what was written.

        """
        world = self.worlds.get(world_id)
        if world is None:
            raise DamagedRecordError("There is no such record.", where=world_id)
        for _ in walked(Walker(world_id, world.header), world.rows, world.head, witness):
            pass
        if world.epoch > epoch:
            raise StaleWriterError(f"Epoch {world.epoch} holds this record, not {epoch}.")
        world.epoch = epoch
        return MemoryPartition(world, epoch)

    async def has(self, world_id: str) -> bool:
        """Say whether a world has a record."""
        return world_id in self.worlds

    def read(self) -> Self:
        """Open the records to be read: they are open already."""
        return self

    def events(self, world_id: str) -> Iterator[Event]:
        """Go through a world's events in order.

        Raises:
            DamagedRecordError: the record does not hold what was written.

        """
        world = self.worlds[world_id]
        for seq, tick, kind, persona, content, payload, _ in world.rows:
            yield Event(
                seq=seq,
                tick=tick,
                payload=decode_event(kind, payload, world_id, seq),
                persona=persona,
                content=content,
            )

    def head(self, world_id: str) -> Head | None:
        """Give where a world's record ends; None if it has none."""
        return self.worlds[world_id].head if world_id in self.worlds else None

    def blob(self, world_id: str, name: str) -> bytes:
        """Give the bytes that a world's events cite by their hash."""
        return self.worlds[world_id].blobs[bytes.fromhex(name)]

    def let_go(self, world_id: str) -> None:
        """Do nothing: nothing is held open."""

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class MemoryRun:
    """What a registry holds."""

    def __init__(
        self,
        entry: RunEntry,
        worlds: Sequence[WorldEntry],
        personas: Sequence[Persona],
        held_out: Mapping[str, str],
        graph: Sequence[Node] = (),
    ) -> None:
        self.entry = entry
        self.worlds = tuple(worlds)
        self.personas = tuple(personas)
        self.held_out = dict(held_out)
        self.graph = tuple(graph)
        self.epoch = 0
        self.log: list[StoredLog] = []
        self.log_head = first_log_head(encode(entry))
        self.witnesses: dict[str, Head | None] = dict.fromkeys(world.world_id for world in worlds)
        self.outcomes: dict[str, WorldOutcome | None] = dict.fromkeys(self.witnesses)


class MemoryRegistry:
    """A run's registry, open to be written by its governor."""

    def __init__(self, run: MemoryRun) -> None:
        self._run = run
        self.epoch = run.epoch

    @classmethod
    async def create(
        cls,
        *,
        entry: RunEntry,
        worlds: Sequence[WorldEntry],
        personas: Sequence[Persona],
        held_out: Mapping[str, str],
        graph: Sequence[Node] = (),
    ) -> Self:
        """Make the registry of a run and open it under the first epoch."""
        return await cls.open(MemoryRun(entry, worlds, personas, held_out, graph))

    @classmethod
    async def open(cls, run: MemoryRun) -> Self:
        """Open the registry of a run under the next epoch, which its log records."""
        run.epoch += 1
        registry = cls(run)
        await registry.log(RunOpened(epoch=run.epoch))
        return registry

    @property
    def run(self) -> MemoryRun:
        """What the registry holds."""
        return self._run

    @property
    def entry(self) -> RunEntry:
        """The run as asked."""
        return self._run.entry

    @property
    def worlds(self) -> tuple[WorldEntry, ...]:
        """The worlds of the run, in the order of its cells."""
        return self._run.worlds

    @property
    def log_head(self) -> LogHead:
        """Where the run log ends."""
        return self._run.log_head

    @property
    def witnesses(self) -> Mapping[str, Head | None]:
        """Where every partition ended when it was last noted, by world."""
        return self._run.witnesses

    @property
    def outcomes(self) -> Mapping[str, WorldOutcome | None]:
        """How every world stood when it was last noted."""
        return self._run.outcomes

    async def log(
        self,
        payload: LogPayload,
        heads: Mapping[str, Head] = NO_HEADS,
        outcomes: Sequence[WorldOutcome] = (),
    ) -> LogHead:
        """Append a row to the run log, and note with it where partitions end and worlds stand.

        Raises:
            InternalError: there is no such world, or its witness would go back.
            StaleWriterError: a later epoch has claimed the run.

        """
        self._require_epoch()
        for world_id, noted in heads.items():
            self._witness(world_id, noted)
        for outcome in outcomes:
            self._run.outcomes[self._known(outcome.world_id)] = outcome
        (seq, kind, _, chain), head = seal_log(self._run.log_head, payload)
        self._run.log.append(StoredLog(seq=seq, kind=kind, payload=payload, chain=chain.hex()))
        self._run.log_head = head
        return head

    async def log_together(self, payloads: Sequence[LogPayload]) -> LogHead:
        """Append several rows to the run log.

        Raises:
            StaleWriterError: a later epoch has claimed the run.

        """
        for payload in payloads:
            await self.log(payload)
        return self.log_head

    async def witness(self, world_id: str, head: Head, outcome: WorldOutcome | None = None) -> None:
        """Note where a partition ends, after its commit, and how its world stands.

        Raises:
            InternalError: there is no such world, or it would go back.
            StaleWriterError: a later epoch has claimed the run.

        """
        self._require_epoch()
        self._witness(world_id, head)
        if outcome is not None:
            await self.outcome(outcome)

    async def outcome(self, outcome: WorldOutcome) -> None:
        """Note how a world stands, or ended.

        Raises:
            InternalError: there is no such world.
            StaleWriterError: a later epoch has claimed the run.

        """
        self._require_epoch()
        self._run.outcomes[self._known(outcome.world_id)] = outcome

    async def finish(self) -> bool:
        """Do nothing: the registry has one form only."""
        return True

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def _witness(self, world_id: str, head: Head) -> None:
        known = self._run.witnesses[self._known(world_id)]
        if known is not None and head.seq < known.seq:
            raise InternalError(f"The witness of {world_id} cannot go back to {head.seq}.")
        self._run.witnesses[world_id] = head

    def _known(self, world_id: str) -> str:
        if world_id not in self._run.witnesses:
            raise InternalError(f"The run has no world {world_id}.")
        return world_id

    def _require_epoch(self) -> None:
        if self._run.epoch != self.epoch:
            raise StaleWriterError(f"Epoch {self._run.epoch} holds this run, not {self.epoch}.")
