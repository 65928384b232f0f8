"""The seams between governor, inference host and workers: plain records in, plain records out.

A worker owns partitions and drives worlds. Whatever concerns the whole run it asks of these two
ports, so that governor and host may stand in another process than the worker.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from perdure.inference.host import HostStats
from perdure.records.events import Head
from perdure.records.journal import TickOpening
from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.records.registry import (
    CallsLost,
    CallsOrphaned,
    LogHead,
    WorldDiverged,
    WorldOutcome,
)
from perdure.records.request import CallKey, CallResult, ChatRequest, EmbedRequest, FailureCause


class TickOpened(Record):
    """Leave to open a tick: the plan to run it under, and the run log's head to witness."""

    plan: Plan
    log_head: LogHead
    epoch: int


class TickReport(Record):
    """A tick that closed: where its partition ends now, and the tick's own counts and cost.

    `cost` is the sum of known amounts in nano-units; `unknown_costs` counts the rest. `lost` and
    `orphaned` are what calls cost beside those that are in the tick. `diverged` is where a world
    that was taken up again first stepped otherwise than its record, if the run was forced since.
    """

    world_id: str
    tick: int
    head: Head
    turns: int = 0
    turns_failed: int = 0
    calls: int = 0
    cost: int = 0
    unknown_costs: int = 0
    lost: tuple[CallsLost, ...] = ()
    orphaned: CallsOrphaned | None = None
    diverged: WorldDiverged | None = None


class ModelHost(Protocol):
    """Where every model call of a run is decided, made, journaled and paid."""

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open a tick durably before its first call; give the opening that holds."""
        ...

    async def lost(self, world: str, tick: int) -> tuple[CallsLost, ...]:
        """Charge the attempts of an open tick that came to nothing."""
        ...

    async def orphans(
        self, world: str, tick: int, used: Collection[CallKey]
    ) -> CallsOrphaned | None:
        """Charge the finished attempts of an open tick that are not in the record."""
        ...

    async def close_tick(self, world: str, tick: int) -> None:
        """Give up a tick that is in the record, with its charges in the run log."""
        ...

    async def call(self, key: CallKey, request: ChatRequest | EmbedRequest) -> CallResult:
        """Make one call, with its retries. A failure is in the result, never an exception."""
        ...

    @property
    def stop_cause(self) -> FailureCause | None:
        """The failure that ends the run for every world, once there is one."""
        ...

    @property
    def holds_open(self) -> bool:
        """Whether any tick is open, with its calls in the journal."""
        ...

    def stats(self) -> HostStats:
        """Count what was done and is in flight."""
        ...


class TickDropped(Record):
    """A tick that did not close: what its calls cost, though nothing of it is in the record."""

    world_id: str
    tick: int
    calls: int = 0
    cost: int = 0
    unknown_costs: int = 0


class GovernorPort(Protocol):
    """What a worker asks of, and tells, the one process that governs the run."""

    async def open_tick(self, world_id: str, tick: int) -> TickOpened | None:
        """Wait for leave to open a tick. None means that the run stops before it."""
        ...

    async def world_recalled(self, report: TickReport) -> None:
        """Tell where a world's record ended when it was opened again, with its totals so far."""
        ...

    async def tick_closed(self, report: TickReport) -> None:
        """Tell of a tick that is durable in its partition."""
        ...

    async def tick_dropped(self, dropped: TickDropped) -> None:
        """Tell of a tick that will not be written, and of what its calls cost."""
        ...

    async def world_ended(self, outcome: WorldOutcome) -> None:
        """Tell that a world will not go on in this run of the program."""
        ...
