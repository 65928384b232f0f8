"""The one authority over a run: registry, run log, plans, pace, ledger, and when to stop.

Workers ask it for leave before each tick and tell it of each tick that closed. It keeps the
witness of every partition's head and each world's outcome in the registry, so that both survive
whatever happens to a worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

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
    WorldEntry,
    WorldFailed,
    WorldOutcome,
    WorldsLive,
    WorldState,
)
from perdure.records.result import RunResult
from perdure.records.study import Order
from perdure.runner.door import Door, groups_of
from perdure.runner.endings import outcome_of, told
from perdure.runner.ledger import noted
from perdure.runner.notice import Notice, unheard
from perdure.runner.only import left_out
from perdure.runner.pace import Pace
from perdure.runner.port import TickOpened, TickPaused, TickReport
from perdure.runner.spending import Spending
from perdure.trace.comparability import comparability
from perdure.trace.port import RunRegistry
from perdure.trace.rungs import RungRow, in_force, take


class Governor:
    """Governs one run. Every method is called on one event loop."""

    def __init__(
        self,
        registry: RunRegistry,
        *,
        skew: int,
        spending: Spending,
        order: Order = Order.BREADTH,
        live_max: int | None = None,
        log: Iterable[LogPayload] = (),
        notice: Notice = unheard,
        driven: Collection[str] | None = None,
    ) -> None:
        """Take up a run. `log` is the run log so far, what was just reconciled included.

        Worlds that are not among the `driven` stay as they are; None stands for all of them. At
        most `live_max` of the driven are live at once, where that is less than there are.
        """
        self._registry = registry
        self._notice = notice
        self._order = order
        self._spending = spending
        known = registry.outcomes
        self._outcomes = {
            world.world_id: known[world.world_id] or WorldOutcome(world_id=world.world_id)
            for world in registry.worlds
        }
        self._kept = dict(spending.kept)
        self._pace = Pace(None if order is Order.DEPTH else skew)
        # Worlds that wait until they may open a tick, by tick.
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}
        self._heads: dict[str, Head] = {}
        self._log = list(log)
        self._stop_cause = ""
        self._stop_exit = EXIT_DONE
        self._plans: dict[str, Plan] = {}
        self._round = asyncio.Lock()
        self._decided = False
        # The last tick of each live world that a decision was about, in depth order.
        self._covered: dict[str, int] = {}
        # Worlds whose record has not been read yet: what they teach is not known.
        self._unread: set[str] = set()
        # Worlds that were driven in this sitting: what they spend is counted as they spend it.
        self._driven: set[str] = set()
        self._highest = -1
        self._at_door: dict[str, asyncio.Future[None]] = {}
        self._letting_in = asyncio.Lock()
        self._groups = groups_of(self._log)
        live = [name for name in self._outcomes if self.is_open(name)]
        self._resting = frozenset(live).difference(live if driven is None else driven)
        open_worlds = [name for name in live if name not in self._resting]
        is_capped = live_max is not None and len(open_worlds) > live_max
        self._door: Door | None = None
        if live_max is not None and (is_capped or self._groups.last):
            first = self._groups.last or self._begun(open_worlds)
            self._door = Door(open_worlds, cap=live_max, order=order, first=first)
        else:
            self._begin(open_worlds, tuple(self._outcomes))

    @property
    def outcomes(self) -> tuple[WorldOutcome, ...]:
        """Where each world stands, in the order of the run's cells."""
        return tuple(self._outcomes.values())

    @property
    def is_stopping(self) -> bool:
        """Whether no world opens a tick any more, nor has anything to record of that."""
        return bool(self._stop_cause) and not self._spending.is_paused

    def is_open(self, world_id: str) -> bool:
        """Say whether a world has not come to its end yet."""
        return self._outcomes[world_id].state is not WorldState.COMPLETED

    async def admit(self, world_id: str) -> bool:
        """Wait until the world may be live; False if it is not let in any more.

        Raises:
            StorageError: it could not be recorded who is let in.

        """
        while self._door is not None and world_id not in self._pace.ticks:
            if not self._is_letting_in:
                return False
            async with self._letting_in:
                await self._let_in(self._door)
            if world_id not in self._pace.ticks and self._is_letting_in:
                self._at_door[world_id] = asyncio.get_running_loop().create_future()
                await self._at_door[world_id]
        return True

    @property
    def _is_letting_in(self) -> bool:
        # What an earlier sitting left paused may go on: that is decided when a tick opens.
        is_held = self._spending.is_halted or self._spending.is_paused
        return not (self._stop_cause or (self._decided and is_held))

    async def _let_in(self, door: Door) -> None:
        group = door.let_in(len(self._pace.ticks)) if self._is_letting_in else ()
        if not group:
            return
        if self._order is Order.BREADTH and not self._groups.let_in.issuperset(group):
            row = WorldsLive(worlds=group)
            await self._registry.log(row)
            self._spending.take(row)
            self._groups = groups_of((row,), self._groups)
        # The last group goes on as one: what of it is at its end has been as far as any.
        is_last = self._groups.last.issuperset(group)
        self._begin(group, self._groups.last if is_last else group)
        for name in group:
            self._wake(self._at_door.pop(name, None))

    def _begun(self, worlds: Iterable[str]) -> frozenset[str]:
        """Name the worlds that were under way when the run stopped, and had not failed."""
        known = self._outcomes
        failed = {(row.world_id, row.tick) for row in self._log if isinstance(row, WorldFailed)}
        return frozenset(
            name
            for name in worlds
            if known[name].state is WorldState.PARTIAL and (name, known[name].tick) not in failed
        )

    def _begin(self, worlds: Iterable[str], group: Iterable[str]) -> None:
        """Begin with worlds that are live from now on, breadth-first as part of a group."""
        for name in worlds:
            self._pace.move(name, self._outcomes[name].tick + 1)
            if not self._decided:
                self._unread.add(name)
        self._highest = max((self._opened(name) for name in group), default=-1)

    def _knock(self) -> None:
        """Wake whoever is to be let in next, or everybody if nobody is any more."""
        if self._door is None:
            return
        if self._is_letting_in:
            self._wake(self._at_door.pop(self._door.next or "", None))
        else:
            for name in list(self._at_door):
                self._wake(self._at_door.pop(name))

    @staticmethod
    def _wake(waiting: asyncio.Future[None] | None) -> None:
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    async def open_tick(self, world_id: str, tick: int) -> TickOpened | TickPaused | None:
        """Wait until the world may open `tick`; give its plan, or None if the run stops."""
        self._driven.add(world_id)
        self._unread.discard(world_id)
        self._move(world_id, tick)
        while not (self._stop_cause or self._may_open(tick)):
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(tick, []).append(waiting)
            await waiting
        async with self._round:
            if not self._stop_cause:
                await self._decide(world_id, tick)
        is_paused = not self._stop_cause and self._spending.is_paused_at(world_id, tick)
        if self._spending.is_halted or is_paused:
            return self._paused(world_id)
        if self._stop_cause:
            return None
        due = self._spending.due(world_id, tick, self._outcomes[world_id].rungs)
        plan = self._plans[world_id] = self._spending.plan_at(world_id, tick)
        return TickOpened(
            plan=plan, log_head=self._registry.log_head, epoch=self._registry.epoch, due=due
        )

    def _may_open(self, tick: int) -> bool:
        return not self._unread and self._pace.allows(tick)

    def _move(self, world_id: str, tick: int) -> None:
        self._pace.move(world_id, tick)
        self._move_up()

    def _move_up(self) -> None:
        """Wake the worlds that may open their tick now."""
        for tick in [tick for tick in self._waiting if self._stop_cause or self._may_open(tick)]:
            for waiting in self._waiting.pop(tick):
                self._wake(waiting)

    async def _decide(self, world_id: str, tick: int) -> None:
        """Decide about the round that `tick` begins, if it begins one, before anything of it.

        Of a run that is paused that is decided once a sitting: its budget may have been raised.
        """
        if self._spending.is_paused:
            begins = not self._decided
        elif self._order is Order.DEPTH:
            begins = tick > self._covered.get(world_id, -1)
        else:
            begins = tick > self._highest
        if not begins:
            return
        self._decided = True
        rows = self._spending.decide(self._pace.ticks, self._plans, self._highest + 1)
        await self._take_all(rows)
        if not self._spending.is_paused:
            self._highest = max(self._highest, tick)
            if self._order is Order.DEPTH:
                self._covered = {name: self._opened(name) + 1 for name in self._pace.ticks}

    async def _take_all(self, rows: Sequence[RungRow]) -> None:
        if not rows:
            return
        for row in self._spending.spread(rows, self._nexts()):
            await self._registry.log(row)
            self._spending.take(row)
            self._log.append(row)
            crashpoint("rung.logged")

    def _opened(self, world_id: str) -> int:
        """Give the last tick that a world has opened, now or in an earlier sitting."""
        is_open = world_id in self._plans
        now = self._pace.ticks[world_id] if is_open else -1
        return max(now, self._outcomes[world_id].tick, self._kept.get(world_id, -1))

    def _nexts(self) -> Mapping[str, int]:
        """Give the next tick of every world that was begun and is not at its end."""
        opened = {name: self._opened(name) for name in self._outcomes if self.is_open(name)}
        return {name: tick + 1 for name, tick in opened.items() if tick >= 0}

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
            await self._take_all(self._spending.refused(Limit(limit), self._highest + 1))
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
        if report.world_id not in self._driven:
            self._driven.add(report.world_id)
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
        outcome = noted(self._outcomes[report.world_id], report)
        # The tick is durable already, whether or not it can be noted here.
        self._outcomes[report.world_id] = outcome
        self._heads[report.world_id] = report.head
        await self._registry.witness(report.world_id, report.head, outcome)
        self._move(report.world_id, report.tick + 1)

    async def world_ended(self, outcome: WorldOutcome) -> None:
        """Record how a world ended. An ending that is no world's own fault stops the run.

        Where it stands is what was told of its ticks: one that ended before its record was read
        again may have more or, if it could not be opened, seem to have none.
        """
        known, state = self._outcomes[outcome.world_id], outcome.state
        if state is WorldState.PARTIAL and known.tick < 0:
            state = WorldState.NOT_STARTED
        ended = msgspec.structs.replace(
            known, state=state, cause=outcome.cause, exit_status=outcome.exit_status
        )
        if state is WorldState.FAILED:
            ended = await self._failed(ended)
        self._outcomes[outcome.world_id] = ended
        if ended.exit_status and ended.state is not WorldState.FAILED:
            await self.request_stop(ended.cause, ended.exit_status)
        self._pace.leave(outcome.world_id)
        if self._door is not None:
            self._door.leave(outcome.world_id)
        self._plans.pop(outcome.world_id, None)
        self._unread.discard(outcome.world_id)
        self._move_up()
        self._knock()

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
        if not self._stop_cause:
            self._stop_cause, self._stop_exit = cause, exit_status
        self._move_up()
        self._knock()

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
            self._registry.worlds,
            folder,
            self.outcomes,
            spent=self._spending.spent,
            stop_cause=self._stop_cause,
            stop_exit=self._stop_exit,
            resting=self._resting,
        )
        end: RunPaused | RunClosed = RunClosed(
            state=result.state, exit_status=result.exit_status, holds_open=holds_open
        )
        if (self._stop_cause or self._resting) and result.state is RunState.PARTIAL:
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
    worlds: Sequence[WorldEntry],
    folder: str,
    outcomes: Sequence[WorldOutcome],
    *,
    spent: Amounts,
    stop_cause: str = "",
    stop_exit: int = EXIT_DONE,
    resting: Collection[str] = (),
) -> RunResult:
    """Compute a run's result from its worlds, and from all that was spent. Pure.

    Worlds in `resting` were not to be driven: they make the run partial, and nothing worse.
    """
    complete = all(world.state is WorldState.COMPLETED for world in outcomes)
    driven = [world for world in outcomes if world.world_id not in resting]
    failed = [world for world in driven if world.state is WorldState.FAILED]
    exits = [stop_exit, *(world.exit_status for world in driven)]
    if not any(exits) and any(world.state is not WorldState.COMPLETED for world in driven):
        exits.append(EXIT_SOME_FAILED)
    causes = [stop_cause]
    if not stop_cause and failed:
        causes = [f"{len(failed)} of {len(outcomes)} worlds failed. The first: {failed[0].cause}"]
    if resting:
        causes.append(left_out(len(resting)))
    return RunResult(
        run_id=entry.run_id,
        folder=folder,
        state=RunState.COMPLETED if complete else RunState.PARTIAL,
        exit_status=EXIT_DONE if complete else first_exit(exits),
        worlds=tuple(outcomes),
        currency=entry.currency,
        cause="" if complete else " ".join(filter(None, causes)),
        cost=spent.money,
        unknown_costs=spent.unknown,
        comparability=comparability(worlds, {one.world_id: one for one in outcomes}),
    )
