"""A run's registry as the governor sees it: the same file, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from perdure.records.events import Head
from perdure.records.graph import Node
from perdure.records.persona import Persona
from perdure.records.registry import LogHead, LogPayload, RunEntry, WorldEntry, WorldOutcome
from perdure.trace.off_loop import off_loop
from perdure.trace.registry_file import NO_HEADS, RegistryFile


class Registry:
    """Writes a run's registry. Notes that wait at the same time are written together."""

    def __init__(self, file: RegistryFile) -> None:
        self._file = file
        self._turn = asyncio.Lock()
        self._heads: dict[str, Head] = {}
        self._outcomes: dict[str, WorldOutcome] = {}

    @classmethod
    async def create(
        cls,
        folder: Path,
        *,
        entry: RunEntry,
        worlds: Sequence[WorldEntry],
        personas: Sequence[Persona],
        held_out: Mapping[str, str],
        graph: Sequence[Node] = (),
    ) -> Self:
        """Give birth to the registry of a run and open it; its log says `opened` with epoch 1.

        Raises:
            HeldError: the folder holds a run already.
            StorageError: storage failed.

        """

        def create() -> RegistryFile:
            return RegistryFile.create(
                folder,
                entry=entry,
                worlds=worlds,
                personas=personas,
                held_out=held_out,
                graph=graph,
            )

        return cls(await off_loop(create))

    @classmethod
    async def open(cls, folder: Path) -> Self:
        """Open the registry of a run under the next epoch; its log says `opened` with that.

        Raises:
            DamagedRecordError: it does not hold what was written.
            StorageFullError: there is no room to put some aside.
            StorageError: storage failed.

        """
        return cls(await off_loop(lambda: RegistryFile.open(folder)))

    @property
    def epoch(self) -> int:
        """The epoch of this governor."""
        return self._file.epoch

    @property
    def entry(self) -> RunEntry:
        """The run as asked."""
        return self._file.entry

    @property
    def worlds(self) -> tuple[WorldEntry, ...]:
        """The worlds of the run, in the order of its cells."""
        return self._file.worlds

    @property
    def log_head(self) -> LogHead:
        """Where the run log ends."""
        return self._file.log_head

    @property
    def witnesses(self) -> Mapping[str, Head | None]:
        """Where every partition ended when it was last noted, by world."""
        return self._file.witnesses

    @property
    def outcomes(self) -> Mapping[str, WorldOutcome | None]:
        """How every world stood when it was last noted."""
        return self._file.outcomes

    async def log(
        self,
        payload: LogPayload,
        heads: Mapping[str, Head] = NO_HEADS,
        outcomes: Sequence[WorldOutcome] = (),
    ) -> LogHead:
        """Append a row to the run log, and note with it where partitions end and worlds stand.

        On a full disk, the room put aside is used for the last word of a run: a row that ends it.

        Raises:
            InternalError: there is no such world, or its witness would go back.
            StaleWriterError: a later epoch has claimed the run.
            StorageFullError: there was no room, for a last word not even so.
            StorageError: storage failed.

        """
        async with self._turn:
            return await off_loop(lambda: self._file.log(payload, heads, outcomes))

    async def log_together(self, payloads: Sequence[LogPayload]) -> LogHead:
        """Append several rows to the run log, all of them or none.

        Raises:
            StaleWriterError: a later epoch has claimed the run.
            StorageFullError: there was no room.
            StorageError: storage failed.

        """
        async with self._turn:
            return await off_loop(lambda: self._file.log_together(payloads))

    async def witness(self, world_id: str, head: Head, outcome: WorldOutcome | None = None) -> None:
        """Note where a partition ends, after its commit, and how its world stands.

        Raises:
            InternalError: there is no such world, or it would go back.
            StaleWriterError: a later epoch has claimed the run.
            StorageError: storage failed.

        """
        self._file.require_onward(world_id, head)
        self._heads[world_id] = head
        if outcome is not None:
            self._outcomes[world_id] = outcome
        await self._note()

    async def outcome(self, outcome: WorldOutcome) -> None:
        """Note how a world stands, or ended.

        Raises:
            InternalError: there is no such world.
            StaleWriterError: a later epoch has claimed the run.
            StorageError: storage failed.

        """
        self._file.require_known(outcome.world_id)
        self._outcomes[outcome.world_id] = outcome
        await self._note()

    async def finish(self) -> bool:
        """Put the registry into its one file. False if a reader or a full disk was in the way.

        Raises:
            StorageError: storage failed.

        """
        async with self._turn:
            return await off_loop(self._file.finish)

    async def close(self) -> None:
        """Close the file.

        Raises:
            StorageError: storage failed.

        """
        async with self._turn:
            await off_loop(self._file.close)

    async def _note(self) -> None:
        async with self._turn:
            # Whoever held the turn before may have written this one with its own.
            heads, self._heads = self._heads, {}
            outcomes, self._outcomes = self._outcomes, {}
            if not heads and not outcomes:
                return
            try:
                await off_loop(lambda: self._file.witness(heads, tuple(outcomes.values())))
            except BaseException:
                # Each of the others must meet its own failure, not believe itself written.
                self._heads = heads | self._heads
                self._outcomes = outcomes | self._outcomes
                raise
