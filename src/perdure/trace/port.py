"""What the runner needs of a store. Another store can stand behind these.

Every write names the epoch of the governor that it is made for: a stale process is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from perdure.records.events import Batch, Event, Head
from perdure.records.registry import LogHead, LogPayload, RunEntry, WorldEntry, WorldOutcome
from perdure.records.scenario import Header


class Partition(Protocol):
    """One world's record, open to be written."""

    @property
    def head(self) -> Head:
        """Where the record ends."""
        ...

    @property
    def epoch(self) -> int:
        """The epoch under which this partition was claimed."""
        ...

    async def append(self, batch: Batch, *, epoch: int, log_head: LogHead) -> Head:
        """Write one whole tick with its blobs and the run log's head, durably and at once.

        A batch of one event, a pause, may stand between ticks; it closes none.

        Raises:
            InternalError: the batch is neither of these, or does not continue the record.
            StaleWriterError: another epoch has claimed the partition.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed; this partition is not written again by this process.

        """
        ...

    async def finish(self) -> bool:
        """Put the record into its final form. False if a reader or a full disk was in the way."""
        ...

    async def close(self) -> None:
        """Let go of the record."""
        ...


class Reading(Protocol):
    """The records of a run's worlds, open to be read."""

    def events(self, world_id: str) -> Iterator[Event]:
        """Go through a world's events in order, each checked against its chain."""
        ...

    def head(self, world_id: str) -> Head | None:
        """Give where a world's record ends; None if it has none."""
        ...

    def blob(self, world_id: str, name: str) -> bytes:
        """Give the bytes that a world's events cite by their hash."""
        ...

    def let_go(self, world_id: str) -> None:
        """Let go of what is held open of a world's record."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


class Partitions(Protocol):
    """The records of all worlds of a run."""

    async def create(self, header: Header, epoch: int) -> Partition:
        """Give birth to a world's record and open it.

        Raises:
            HeldError: the world has one already.
            StorageError: storage failed.

        """
        ...

    async def open(self, world_id: str, epoch: int, witness: Head | None = None) -> Partition:
        """Claim a world's record, and check all of it against its chain and its witness.

        Raises:
            StaleWriterError: a later epoch has claimed it.
            DamagedRecordError: it does not hold what was written; names the first bad event.
            StorageError: storage failed.

        """
        ...

    async def has(self, world_id: str) -> bool:
        """Say whether a world has a record."""
        ...

    def read(self) -> Reading:
        """Open the records to be read."""
        ...


class RunRegistry(Protocol):
    """A run's registry, open to be written by its governor."""

    @property
    def epoch(self) -> int:
        """The epoch of this governor."""
        ...

    @property
    def entry(self) -> RunEntry:
        """The run as asked."""
        ...

    @property
    def worlds(self) -> tuple[WorldEntry, ...]:
        """The worlds of the run, in the order of its cells."""
        ...

    @property
    def log_head(self) -> LogHead:
        """Where the run log ends."""
        ...

    @property
    def witnesses(self) -> Mapping[str, Head | None]:
        """Where every partition ended when it was last noted, by world."""
        ...

    @property
    def outcomes(self) -> Mapping[str, WorldOutcome | None]:
        """How every world stood when it was last noted."""
        ...

    async def log(
        self,
        payload: LogPayload,
        heads: Mapping[str, Head] = ...,
        outcomes: Sequence[WorldOutcome] = ...,
    ) -> LogHead:
        """Append a row to the run log, durably, with notes of how worlds stand."""
        ...

    async def log_together(self, payloads: Sequence[LogPayload]) -> LogHead:
        """Append several rows to the run log durably, all of them or none."""
        ...

    async def witness(self, world_id: str, head: Head, outcome: WorldOutcome | None = None) -> None:
        """Note where a partition ends, after its commit, and how its world stands."""
        ...

    async def outcome(self, outcome: WorldOutcome) -> None:
        """Note how a world stands, or ended."""
        ...

    async def finish(self) -> bool:
        """Put the registry into its final form. False if a reader or a full disk was in the way."""
        ...

    async def close(self) -> None:
        """Let go of the registry."""
        ...
