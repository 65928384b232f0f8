"""The seams between governor, inference host and workers: plain records in, plain records out.

A worker owns partitions and drives worlds. Whatever concerns the whole run it asks of these two
ports, so that governor and host may stand in another process than the worker.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from perdure.inference.host import HostStats
from perdure.inference.reservations import NOTHING, Amounts, Limit
from perdure.records.events import Head
from perdure.records.journal import TickOpening
from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.records.registry import (
    CallsLost,
    CallsOrphaned,
    LogHead,
    RungAt,
    WorldDiverged,
    WorldOutcome,
)
from perdure.records.request import CallKey, CallResult, ChatRequest, EmbedRequest, FailureCause
from perdure.records.tools import Effect, ToolAnswer, ToolCall
from perdure.runner.estimates import CallsSeen
from perdure.runner.ladder import NOTHING_DUE, Due


class TickOpened(Record, tag="opened"):
    """Leave to open a tick: the plan to run it under, and the run log's head to witness.

    `due` are the rungs that the tick records.
    """

    plan: Plan
    log_head: LogHead
    epoch: int
    due: Due = NOTHING_DUE


class TickPaused(Record, tag="paused"):
    """The run is paused by its budget before this tick. The world records it if `is_due`."""

    log_head: LogHead
    epoch: int
    is_due: bool


class KindOfCalls(Record):
    """How many calls a tick made of one role and purpose."""

    role: str
    purpose: str
    calls: int


class TickReport(Record):
    """A tick that closed: where its partition ends now, and the tick's own counts and cost.

    `spent` is what its calls took, all that is counted against the budget. `lost` and `orphaned`
    are what calls cost beside those that are in the tick. `rungs` are all that the world's record
    tells of. `seen` says what calls cost, `most_calls` how many a tick made at most. `diverged` is
    where a world that was taken up again first stepped otherwise than its record, if the run was
    forced since.
    """

    world_id: str
    tick: int
    head: Head
    turns: int = 0
    turns_failed: int = 0
    calls: int = 0
    spent: Amounts = NOTHING
    seen: tuple[CallsSeen, ...] = ()
    most_calls: tuple[KindOfCalls, ...] = ()
    rungs: tuple[RungAt, ...] = ()
    lost: tuple[CallsLost, ...] = ()
    orphaned: CallsOrphaned | None = None
    diverged: WorldDiverged | None = None


class ModelHost(Protocol):
    """Where every model call of a run is decided, made, journaled and paid.

    Calls of tools outside the worlds are journaled here as well, and made by whoever asks.
    """

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

    async def begin_effect(self, key: CallKey, call: ToolCall, effect: Effect) -> ToolAnswer | None:
        """Say durably that a tool outside the world is about to be called; None is leave to do it.

        What was called before in this tick is answered from then, and never called again if it
        acts: with an unknown outcome where nobody saw its answer.
        """
        ...

    async def end_effect(self, key: CallKey, answer: ToolAnswer) -> None:
        """Say durably what the tool has answered, before anybody goes by it."""
        ...

    def refusal(self, world: str, tick: int) -> Limit | None:
        """Name the ceiling under which a call of a tick did not fit; such a tick cannot close."""
        ...

    @property
    def stop_cause(self) -> FailureCause | None:
        """The failure that ends the run for every world, once there is one."""
        ...


class RunHost(ModelHost, Protocol):
    """The same where the run is governed: it also tells how all of it stands."""

    @property
    def holds_open(self) -> bool:
        """Whether any tick is open, with its calls in the journal."""
        ...

    def stats(self) -> HostStats:
        """Count what was done and is in flight."""
        ...


class GovernorPort(Protocol):
    """What a worker asks of, and tells, the one process that governs the run."""

    async def admit(self, world_id: str) -> bool:
        """Wait until the world may be live; False if it is not let in any more.

        Of a world that was not let in nothing is told.
        """
        ...

    async def open_tick(self, world_id: str, tick: int) -> TickOpened | TickPaused | None:
        """Wait for leave to open a tick. None means that the run stops before it."""
        ...

    async def ceiling_reached(self, world_id: str, limit: str) -> TickPaused:
        """Tell that a call did not fit with nothing open, so that its tick cannot close."""
        ...

    async def pause_recorded(self, world_id: str, head: Head) -> None:
        """Tell that a world has the pause in its record."""
        ...

    async def world_recalled(self, report: TickReport) -> None:
        """Tell where a world's record ended when it was opened again, with its totals so far."""
        ...

    async def tick_closed(self, report: TickReport) -> None:
        """Tell of a tick that is durable in its partition."""
        ...

    async def world_ended(self, outcome: WorldOutcome) -> None:
        """Tell that a world will not go on in this run of the program."""
        ...
