"""A run's spending held against its budget: what was spent, which rungs hold, what may still open.

It joins the pure decisions (`ladder`, `outlook`, `estimates`) with the one place that knows what is
spent and reserved (`inference.reservations`). The governor asks it once for each round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Protocol

from perdure.base import money
from perdure.base.clock import Clock
from perdure.base.errors import EXIT_PAUSED
from perdure.inference.journaled import JournaledHost
from perdure.inference.reservations import Amounts, Ceilings, Limit, Reservations
from perdure.records.budget import Budget, Rung
from perdure.records.presentation import Plan
from perdure.records.registry import (
    LogPayload,
    RungAt,
    RungLifted,
    RungTaken,
    RunPaused,
    WorldOutcome,
)
from perdure.records.study import Order, Study
from perdure.runner.estimates import Estimates
from perdure.runner.expected import Numbers, Prospect, prospect_of
from perdure.runner.ladder import (
    Due,
    Outlook,
    Standing,
    after,
    at_ceiling,
    beyond,
    decide,
    due,
    is_paused,
    plan_at,
    spread,
    stand,
)
from perdure.runner.ledger import spent_in, spent_outside
from perdure.runner.outlook import LiveWorld, calls_ahead, outlook
from perdure.runner.port import TickReport
from perdure.study.forecast import forecast
from perdure.study.identity import Cell
from perdure.trace.rungs import RungRow

REMEDY = "Closed ticks are kept. Raise it with `perdure budget DIR {flag} X`, then run again."
_FLAGS = {
    Limit.CALLS: "--calls",
    Limit.TOKENS: "--tokens",
    Limit.WALL: "--hours",
}


class Host(Protocol):
    """What is known of calls where they are made: what is spent and reserved, what is in hand."""

    @property
    def reservations(self) -> Reservations:
        """What is spent and reserved, and under which ceilings."""
        ...

    @property
    def kept(self) -> Mapping[str, int]:
        """The tick that an earlier sitting left open, by world."""
        ...

    def begun(self, world: str, tick: int) -> Numbers:
        """Count the calls of an open tick so far, by role and purpose."""
        ...


class Spending:
    """What a run has spent and may still spend. On one event loop.

    `prospect` says what a tick of a world is taken to need. `worked_s` is how long earlier sittings
    were at work, `call_tokens` what a call is taken to use before any was made. A run that its
    budget paused already, for the cause `rested`, stays so until the budget is raised.
    """

    def __init__(
        self,
        *,
        standing: Standing,
        host: Host,
        estimates: Estimates,
        prospect: Prospect,
        horizons: Mapping[str, int],
        currency: str,
        clock: Clock,
        order: Order = Order.BREADTH,
        worked_s: float = 0.0,
        call_tokens: float = 0.0,
        rested: str = "",
    ) -> None:
        self._standing = standing
        self._host = host
        self._estimates = estimates
        self._prospect = prospect
        self._horizons = horizons
        self._currency = currency
        self._clock = clock
        self._order = order
        self._began_s = clock.now_s() - worked_s
        self._call_tokens = call_tokens
        self._cause = rested if self.is_paused else ""
        self._is_halted = bool(self._cause)

    @property
    def budget(self) -> Budget:
        """The budget in force."""
        return self._standing.budget

    @property
    def spent(self) -> Amounts:
        """All that was spent: on closed ticks, on open ones, and on calls that are in no tick."""
        return self._host.reservations.settled

    @property
    def rungs(self) -> tuple[RungAt, ...]:
        """Every rung that the run took, in order."""
        return self._standing.rungs

    @property
    def is_paused(self) -> bool:
        """Whether the run is paused by its budget."""
        return Rung.PAUSE in self._standing.taken

    @property
    def is_halted(self) -> bool:
        """Whether no tick opens any more, not even one that the pause does not reach."""
        return self._is_halted

    @property
    def kept(self) -> Mapping[str, int]:
        """The tick that an earlier sitting left open, by world."""
        return self._host.kept

    @property
    def worked_s(self) -> float:
        """How long the run was at work, over all its sittings."""
        return self._clock.now_s() - self._began_s

    @property
    def cause(self) -> str:
        """Why the run is paused, as a sentence that says what to do."""
        if self._cause:
            return self._cause
        return f"The run is paused by its budget, {self._limits()}. {self._remedy(Limit.MONEY)}"

    def recalled(self, report: TickReport, noted: WorldOutcome) -> None:
        """Count what a world's record says was spent beyond what was noted, and learn from it."""
        self._host.reservations.charge(report.spent - spent_in(noted))
        self.learn(report)

    def learn(self, report: TickReport) -> None:
        """Learn from closed ticks what calls cost, and how many a tick makes."""
        for seen in report.seen:
            self._estimates.learn(seen)
        if report.most_calls:
            numbers = {(one.role, one.purpose): one.calls for one in report.most_calls}
            self._prospect.note(report.world_id, numbers)

    def decide(
        self, live: Mapping[str, int], plans: Mapping[str, Plan], tick: int
    ) -> tuple[RungRow, ...]:
        """Say which rungs are taken or lifted before a round, which `tick` of every world is.

        In depth order the round is the next tick of each. `live` gives the tick that each live
        world opens next or has open; `plans` has those that are open.
        """
        by_world = self._order is Order.DEPTH
        worlds = [self._live(name, at, plans.get(name)) for name, at in live.items()]
        ahead = calls_ahead(
            worlds, None if by_world else tick, self._standing, self._prospect.needs
        )
        reservations = self._host.reservations
        settled, reserved = reservations.settled, reservations.reserved
        counted = sum(ahead.committed.values()) + sum(ahead.full.values())
        crossed = beyond(
            self.budget,
            calls=settled.calls + reserved.calls + counted,
            tokens=settled.tokens + math.ceil(self._tokens_a_call() * (reserved.calls + counted)),
            wall_s=self.worked_s,
        )
        open_calls = self._estimates.calls(reservations.open).money
        seen = outlook(
            ahead,
            0 if by_world else tick,
            spent=settled.money + self._unpriced() + min(open_calls, reserved.money),
            estimates=self._estimates,
            beyond=crossed,
        )
        rows = decide(self._standing, seen)
        then = reduce(after, rows, self._standing)
        # Why an earlier sitting was paused is not known if it was killed before it could say so.
        holds = self.is_paused and self._cause and self.budget == self._standing.judged
        if Rung.PAUSE in then.taken and not holds:
            self._cause = self._why(seen)
        return rows

    def refused(self, limit: Limit, tick: int) -> tuple[RungRow, ...]:
        """Halt: a reservation did not fit with nothing open. Say which rungs follow at `tick`."""
        self._is_halted = True
        left = "is used up" if limit is Limit.WALL else "has no room for the next call"
        told = f"The budget, {self._limits()}, {left}."
        self._cause = f"{told} {self._remedy(limit)}"
        first = 0 if self._order is Order.DEPTH else tick
        return at_ceiling(self._standing, first, of_money=limit is Limit.MONEY)

    def spread(self, rows: Iterable[RungRow], nexts: Mapping[str, int]) -> tuple[RungRow, ...]:
        """Say in which worlds rungs have effect from which tick on, given the next of each.

        `nexts` has every world that was begun and is not at its end, whether it is live or not.
        """
        moves = self._standing.moves
        return tuple(spread(row, nexts, moves, self._order) for row in rows)

    def take(self, row: LogPayload) -> None:
        """Move on by a row that is in the run log."""
        self._standing = after(self._standing, row)
        if isinstance(row, RungLifted) and row.rung is Rung.PAUSE:
            self._is_halted = False

    def is_paused_at(self, world_id: str, tick: int) -> bool:
        """Say whether a world may not open a tick."""
        return is_paused(self._standing.of(world_id), tick)

    def plan_at(self, world_id: str, tick: int) -> Plan:
        """Give the plan of a tick of a world."""
        return plan_at(self._standing.of(world_id), tick)

    def due(self, world_id: str, tick: int, recorded: Iterable[RungAt]) -> Due:
        """Say which rungs a world records at a tick, given those that its record has."""
        return due(self._standing.of(world_id), tick, recorded)

    def _unpriced(self) -> int:
        """Take attempts without a known amount to have cost what the dearest kind costs."""
        mean = self._estimates.dearest_mean()
        return 0 if mean is None else math.ceil(mean * self._host.reservations.settled.unknown)

    def _live(self, world_id: str, tick: int, plan: Plan | None) -> LiveWorld:
        begun = self._host.begun(world_id, tick)
        if plan is None and begun:
            plan = self.plan_at(world_id, tick)
        return LiveWorld(
            world_id=world_id,
            next_tick=tick if plan is None else tick + 1,
            horizon=self._horizons[world_id],
            plan=plan,
            begun=begun,
        )

    def _why(self, seen: Outlook) -> str:
        if seen.beyond:
            limit = {"calls": Limit.CALLS, "tokens": Limit.TOKENS, "time": Limit.WALL}[seen.beyond]
            told = f"The next round, {self._round(seen.tick)}, does not fit into the budget"
            return f"{told}, {self._limits()}. {self._remedy(limit)}"
        spent = self._host.reservations.settled.money
        needed = seen.spent - spent + seen.committed + seen.least
        told = (
            f"When {self._round(seen.tick)} was to open, {self._show(spent)} were spent, and what"
            f" was under way and the tick were expected to take {self._show(needed)} more at least:"
            f" too much for the budget, {self._limits()}."
        )
        return f"{told} {self._remedy(Limit.MONEY)}"

    def _remedy(self, limit: Limit) -> str:
        money = "--amount" if self.budget.ceiling is None else "--ceiling"
        return REMEDY.format(flag=_FLAGS.get(limit, money))

    def _tokens_a_call(self) -> float:
        settled = self._host.reservations.settled
        return settled.tokens / settled.calls if settled.tokens else self._call_tokens

    def _round(self, tick: int) -> str:
        if self._order is Order.DEPTH:
            return "one more tick of every live world"
        return f"tick {tick}"

    def _limits(self) -> str:
        budget = self.budget
        found = [] if budget.money_max is None else [self._show(budget.money_max)]
        found += [] if budget.calls is None else [f"{budget.calls:,} calls"]
        found += [] if budget.tokens is None else [f"{budget.tokens:,} tokens"]
        found += [] if budget.wall_s is None else [f"{budget.wall_s / 3_600:g} hours"]
        return ", ".join(found)

    def _show(self, amount: int) -> str:
        return money.show(amount, self._currency)


def ceilings_of(budget: Budget, worked_s: float) -> Ceilings:
    """Give what a sitting may spend, when earlier ones were at work for so long. Pure."""
    return Ceilings(
        money=None if budget.unpriced_accepted else budget.money_max,
        calls=budget.calls,
        tokens=budget.tokens,
        wall_s=None if budget.wall_s is None else budget.wall_s - worked_s,
    )


def rested(log: Iterable[LogPayload]) -> str:
    """Give the cause for which a sitting ended paused by the budget; empty if none did. Pure."""
    cause = ""
    for row in log:
        if isinstance(row, RungTaken) and row.rung is Rung.PAUSE:
            cause = ""
        elif isinstance(row, RunPaused) and row.exit_status == EXIT_PAUSED:
            cause = row.cause
    return cause


async def hold_to_budget(
    study: Study,
    cells: Sequence[Cell],
    host: JournaledHost,
    log: Sequence[LogPayload],
    noted: Iterable[WorldOutcome | None],
    *,
    personas: int,
    clock: Clock,
    worked_s: float = 0.0,
) -> Spending:
    """Hold a run against its budget as it stands, and put its ceilings before every call.

    `log` is the run log with what was just reconciled, `noted` how the worlds were last noted to
    stand. What a world's record holds beyond that is added when the world is recalled.

    Raises:
        DamagedRecordError: the journal does not hold what was written.
        StorageError: storage failed.

    """
    standing = stand(study.budget, log)
    closed = (spent_in(world) for world in noted if world is not None)
    spent = sum(closed, spent_outside(log)) + await host.take_stock()
    host.reservations = Reservations(ceilings_of(standing.budget, worked_s), spent, clock)
    found = forecast(study, tuple(cells), personas=personas)
    typical = {(part.role, part.purpose): part.typical_cost for part in found.calls}
    return Spending(
        standing=standing,
        host=host,
        estimates=Estimates(typical),
        prospect=prospect_of(study.agent, [cell.header for cell in cells], personas),
        horizons={cell.entry.world_id: cell.entry.horizon for cell in cells},
        currency=study.currency,
        clock=clock,
        order=study.order,
        worked_s=worked_s,
        call_tokens=found.call_tokens,
        rested=rested(log),
    )
