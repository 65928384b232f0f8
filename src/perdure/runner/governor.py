"""The one authority over a run: registry, run log, plans, pace, ledger, and when to stop.

Workers ask it for leave before each tick and tell it of each tick that closed. It keeps the
witness of every partition's head and each world's outcome in the registry, so that both survive
whatever happens to a worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from perdure.base.crashpoints import crashpoint
from perdure.base.errors import (
    EXIT_DONE,
    EXIT_PAUSED,
    EXIT_SOME_FAILED,
    PerdureError,
    StorageError,
    StorageFullError,
    first_exit,
)
from perdure.inference.charges import uncharged
from perdure.inference.reservations import Amounts, Limit
from perdure.records.budget import Rung
from perdure.records.events import Head
from perdure.records.presentation import Plan
from perdure.records.registry import (
    LogPayload,
    RunClosed,
    RunEntry,
    RunPaused,
    RunState,
    WorldFailed,
    WorldOutcome,
    WorldState,
)
from perdure.records.result import RunResult
from perdure.runner.endings import outcome_of, told
from perdure.runner.ladder import RungRow
from perdure.runner.notice import Notice, unheard
from perdure.runner.pace import may_open
from perdure.runner.port import TickOpened, TickPaused, TickReport
from perdure.runner.spending import Spending
from perdure.trace.port import RunRegistry
from perdure.trace.rungs import in_force, take


class Governor:
    """Governs one run. Every method is called on one event loop."""

    def __init__(
        self,
        registry: RunRegistry,
        *,
        skew: int,
        spending: Spending,
        log: Iterable[LogPayload] = (),
        notice: Notice = unheard,
    ) -> None:
        """Take up a run. `log` is the run log so far, what was just reconciled included."""
        self._registry = registry
        self._notice = notice
        self._skew = skew
        self._spending = spending
        known = registry.outcomes
        self._outcomes = {
            world.world_id: known[world.world_id] or WorldOutcome(world_id=world.world_id)
            for world in registry.worlds
        }
        self._next = {
            outcome.world_id: outcome.tick + 1
            for outcome in self._outcomes.values()
            if outcome.state is not WorldState.COMPLETED
        }
        self._moved = asyncio.Condition()
        self._heads: dict[str, Head] = {}
        self._log = list(log)
        self._stop_cause = ""
        self._stop_exit = EXIT_DONE
        self._plans: dict[str, Plan] = {}
        # Worlds whose record has not been read yet: what they spent is not known.
        self._unread = set(self._next)
        ticks = [outcome.tick for outcome in self._outcomes.values()]
        self._highest = max([*ticks, spending.highest_kept])
        self._round = asyncio.Lock()
        self._decided = False

    @property
    def outcomes(self) -> tuple[WorldOutcome, ...]:
        """Where each world stands, in the order of the run's cells."""
        return tuple(self._outcomes.values())

    def is_open(self, world_id: str) -> bool:
        """Say whether a world has not come to its end yet."""
        return self._outcomes[world_id].state is not WorldState.COMPLETED

    async def open_tick(self, world_id: str, tick: int) -> TickOpened | TickPaused | None:
        """Wait until the world may open `tick`; give its plan, or None if the run stops."""
        async with self._moved:
            self._next[world_id] = tick
            self._unread.discard(world_id)
            self._moved.notify_all()
            await self._moved.wait_for(lambda: bool(self._stop_cause) or self._may_open(tick))
        async with self._round:
            if not self._stop_cause:
                await self._decide(tick)
        if self._spending.is_halted or (not self._stop_cause and self._spending.is_paused_at(tick)):
            return self._paused(world_id)
        if self._stop_cause:
            return None
        due = self._spending.due(tick, self._outcomes[world_id].rungs)
        plan = self._plans[world_id] = self._spending.plan_at(tick)
        return TickOpened(
            plan=plan, log_head=self._registry.log_head, epoch=self._registry.epoch, due=due
        )

    def _may_open(self, tick: int) -> bool:
        return not self._unread and may_open(tick, self._next.values(), self._skew)

    async def _decide(self, tick: int) -> None:
        """Decide about the round that `tick` begins, if it begins one, before anything of it.

        Of a run that is paused that is decided once a sitting: its budget may have been raised.
        """
        begins = not self._decided if self._spending.is_paused else tick > self._highest
        if not begins:
            return
        self._decided = True
        round_tick = self._highest + 1
        for row in self._spending.decide(self._next, self._plans, round_tick):
            await self._take(row)
        if not self._spending.is_paused:
            self._highest = max(self._highest, tick)

    async def _take(self, row: RungRow) -> None:
        await self._registry.log(row)
        self._spending.take(row)
        self._log.append(row)
        crashpoint("rung.logged")

    def _paused(self, world_id: str) -> TickPaused:
        recorded = in_force(self._outcomes[world_id].rungs)
        return TickPaused(
            log_head=self._registry.log_head,
            epoch=self._registry.epoch,
            is_due=Rung.PAUSE not in recorded,
        )

    async def ceiling_reached(self, world_id: str, limit: str) -> TickPaused:
        """Pause the run: a call of this world did not fit with nothing open."""
        async with self._round:
            for row in self._spending.refused(Limit(limit), self._highest + 1):
                await self._take(row)
        await self.request_stop(self._spending.cause, EXIT_PAUSED)
        return self._paused(world_id)

    async def pause_recorded(self, world_id: str, head: Head) -> None:
        """Witness a world's record that ends with the pause."""
        known = self._outcomes[world_id]
        rungs = take(known.rungs, Rung.PAUSE, known.tick + 1)
        outcome = msgspec.structs.replace(known, rungs=rungs)
        self._outcomes[world_id] = outcome
        self._heads[world_id] = head
        await self._registry.witness(world_id, head, outcome)

    async def world_recalled(self, report: TickReport) -> None:
        """Take a world up where its record ends; its totals are those of the record.

        Where it diverged from a record of before a force is logged first, once.
        """
        if report.diverged is not None and report.diverged not in self._log:
            await self._registry.log(report.diverged)
            self._log.append(report.diverged)
            self._notice(
                f"World {report.world_id} does not step through tick {report.diverged.tick} as it "
                f"was recorded before the run was forced: {report.diverged.event}: "
                f"{report.diverged.wrong}. It goes on from the recorded turns; this is recorded."
            )
        noted = self._outcomes[report.world_id]
        self._outcomes[report.world_id] = WorldOutcome(world_id=report.world_id)
        # Of a world that comes back in this sitting, its worker having died, all is counted.
        if report.world_id in self._unread:
            self._spending.recalled(report, noted)
        self._highest = max(self._highest, report.tick)
        await self._stand(report)
        await self._charge(report)

    async def tick_closed(self, report: TickReport) -> None:
        """Witness a tick that is durable, and let the others move up."""
        self._plans.pop(report.world_id, None)
        self._spending.learn(report)
        await self._stand(report)
        crashpoint("tick.after-witness")
        await self._charge(report)

    async def _charge(self, report: TickReport) -> None:
        orphaned = () if report.orphaned is None else (report.orphaned,)
        for charge in uncharged((*report.lost, *orphaned), self._log):
            await self._registry.log(charge)
            self._log.append(charge)

    async def _stand(self, report: TickReport) -> None:
        known = self._outcomes[report.world_id]
        outcome = msgspec.structs.replace(
            known,
            state=WorldState.PARTIAL,
            tick=report.tick,
            calls=known.calls + report.calls,
            turns=known.turns + report.turns,
            turns_failed=known.turns_failed + report.turns_failed,
            cost=known.cost + report.spent.money,
            unknown_costs=known.unknown_costs + report.spent.unknown,
            attempts=known.attempts + report.spent.calls,
            tokens=known.tokens + report.spent.tokens,
            digest=report.head.digest,
            rungs=report.rungs,
        )
        # The tick is durable already, whether or not it can be noted here.
        self._outcomes[report.world_id] = outcome
        self._heads[report.world_id] = report.head
        await self._registry.witness(report.world_id, report.head, outcome)
        async with self._moved:
            self._next[report.world_id] = report.tick + 1
            self._moved.notify_all()

    async def world_ended(self, outcome: WorldOutcome) -> None:
        """Record how a world ended. An ending that is no world's own fault stops the run."""
        state = outcome.state
        if state is WorldState.PARTIAL and outcome.tick < 0:
            state = WorldState.NOT_STARTED
        ended = msgspec.structs.replace(
            self._outcomes[outcome.world_id],
            state=state,
            tick=outcome.tick,
            cause=outcome.cause,
            exit_status=outcome.exit_status,
        )
        if state is WorldState.FAILED:
            ended = await self._failed(ended)
        self._outcomes[outcome.world_id] = ended
        if ended.exit_status and ended.state is not WorldState.FAILED:
            await self.request_stop(ended.cause, ended.exit_status)
        async with self._moved:
            del self._next[outcome.world_id]
            self._plans.pop(outcome.world_id, None)
            self._unread.discard(outcome.world_id)
            self._moved.notify_all()

    async def _failed(self, ended: WorldOutcome) -> WorldOutcome:
        """Record that a world failed; where that cannot be recorded, that is why it stops."""
        failed = WorldFailed(
            world_id=ended.world_id,
            tick=ended.tick,
            exit_status=ended.exit_status,
            cause=ended.cause,
        )
        try:
            await self._registry.log(failed)
        except StorageError as error:
            stopped = outcome_of(ended.world_id, ended.tick, error)
            return msgspec.structs.replace(
                ended,
                state=WorldState.PARTIAL if ended.tick >= 0 else WorldState.NOT_STARTED,
                cause=stopped.cause,
                exit_status=stopped.exit_status,
            )
        return ended

    async def request_stop(self, cause: str, exit_status: int) -> None:
        """Let no further tick open. Open ticks finish. The first cause is kept."""
        async with self._moved:
            if not self._stop_cause:
                self._stop_cause, self._stop_exit = cause, exit_status
            self._moved.notify_all()

    async def close(self, folder: str, *, holds_open: bool) -> RunResult:
        """Record how the run ended, and give its result.

        `holds_open` says that ticks are left open in the call journal.

        Raises:
            StorageError: it could not be recorded.

        """
        if not self._stop_cause and self._spending.is_paused:
            self._stop_cause, self._stop_exit = self._spending.cause, EXIT_PAUSED
        result = result_of(
            self._registry.entry,
            folder,
            self.outcomes,
            spent=self._spending.spent,
            stop_cause=self._stop_cause,
            stop_exit=self._stop_exit,
        )
        end: RunPaused | RunClosed = RunClosed(
            state=result.state, exit_status=result.exit_status, holds_open=holds_open
        )
        if self._stop_cause and result.state is RunState.PARTIAL:
            end = RunPaused(
                cause=result.cause, exit_status=result.exit_status, holds_open=holds_open
            )
        try:
            await self._registry.log(end, self._heads, self.outcomes)
        except StorageFullError as error:
            await self._registry.log(paused_by(error, holds_open=holds_open))
            raise
        await self._registry.finish()
        crashpoint("run.closed")
        return result


def paused_by(error: PerdureError, *, holds_open: bool) -> RunPaused:
    """Say in the words of an error why a run stopped. Pure."""
    return RunPaused(cause=told(error), exit_status=error.exit_status, holds_open=holds_open)


def result_of(
    entry: RunEntry,
    folder: str,
    outcomes: Sequence[WorldOutcome],
    *,
    spent: Amounts,
    stop_cause: str = "",
    stop_exit: int = EXIT_DONE,
) -> RunResult:
    """Compute a run's result from its worlds, and from all that was spent. Pure."""
    complete = all(world.state is WorldState.COMPLETED for world in outcomes)
    failed = [world for world in outcomes if world.state is WorldState.FAILED]
    exits = [stop_exit, *(world.exit_status for world in outcomes)]
    if not complete and not any(exits):
        exits.append(EXIT_SOME_FAILED)
    cause = stop_cause
    if not cause and failed:
        cause = f"{len(failed)} of {len(outcomes)} worlds failed. The first: {failed[0].cause}"
    return RunResult(
        run_id=entry.run_id,
        folder=folder,
        state=RunState.COMPLETED if complete else RunState.PARTIAL,
        exit_status=EXIT_DONE if complete else first_exit(exits),
        worlds=tuple(outcomes),
        currency=entry.currency,
        cause="" if complete else cause,
        cost=spent.money,
        unknown_costs=spent.unknown,
    )
