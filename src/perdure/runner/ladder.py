"""The ladder: which rungs a run takes, when, and what follows from them for every tick. Pure.

A rung belongs to the run. Breadth-first, it takes effect at 1 + the highest tick that any live
world has opened, so at the same tick in every one, and is known by then: whether rungs have effect
at a tick is settled when the first world opens it. In depth order it takes effect at each world's
next tick. Where rungs stand is a fold over the run log and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from perdure.records.budget import Budget, Ladder, Rung
from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.records.registry import BudgetChanged, LogPayload, RungAt, RungLifted, RungTaken
from perdure.records.study import Order
from perdure.runner.expected import exact
from perdure.trace.rungs import Moves, RungRow, Rungs, changed, in_force, lift, moved_by, take

FULL = Plan()


class Standing(Record):
    """Where a run stands on its ladder.

    `budget` is the one in force. `rungs` are all that were ever taken, in order; `judged` is the
    budget that was in force when the last of them was. `moves` says where they have effect.
    """

    budget: Budget
    rungs: Rungs = ()
    judged: Budget | None = None
    moves: Moves = Moves()

    def of(self, world_id: str) -> Standing:
        """Give how it stands in one world, whose ticks are not those of another everywhere."""
        if self.moves.is_even:
            return self
        return msgspec.structs.replace(self, rungs=self.moves.in_world(world_id))

    @property
    def taken(self) -> frozenset[Rung]:
        """The rungs that are taken and not lifted."""
        return in_force(self.rungs)

    @property
    def may_lift(self) -> bool:
        """Whether the budget gives more room now than when the last rung was taken."""
        return self.judged is not None and gives_more(self.budget, self.judged)


class Outlook(Record):
    """What a run is about to spend, in nano-units, up to where every world has closed `tick`.

    `tick` is the next that no world has opened yet. `spent` is the figure so far; `committed` what
    open ticks, and ticks before `tick` that are still to open, are expected to take beyond it;
    `full` is what `tick` is expected to take in all worlds under a plan that restrains nothing,
    `least` what it takes under the plan that restrains most, with survey waves whole. `beyond`
    names another ceiling that would be crossed (calls, tokens, time); empty if none would be.
    """

    tick: int
    spent: int
    committed: int = 0
    full: int = 0
    least: int = 0
    beyond: str = ""


class Due(Record):
    """The rungs that a world records at a tick, in the order in which it records them."""

    restored: tuple[Rung, ...] = ()
    degraded: tuple[Rung, ...] = ()


NOTHING_DUE = Due()


def stand(budget: Budget, log: Iterable[LogPayload]) -> Standing:
    """Find where a run stands, from the study's budget and the run log."""
    standing = Standing(budget=budget)
    for row in log:
        standing = after(standing, row)
    return standing


def after(standing: Standing, row: LogPayload) -> Standing:
    """Move on by one row of the run log."""
    moves = moved_by(standing.moves, row)
    if moves is not standing.moves:
        standing = msgspec.structs.replace(standing, moves=moves)
    match row:
        case BudgetChanged(budget=budget):
            return msgspec.structs.replace(standing, budget=changed(standing.budget, budget))
        case RungTaken(rung=rung, tick=tick):
            rungs = take(standing.rungs, rung, tick)
            return msgspec.structs.replace(standing, rungs=rungs, judged=standing.budget)
        case RungLifted(rung=rung, tick=tick):
            return msgspec.structs.replace(standing, rungs=lift(standing.rungs, rung, tick))
        case _:
            return standing


def decide(standing: Standing, outlook: Outlook) -> tuple[RungRow, ...]:
    """Say which rungs are taken or lifted now, in order; they have effect from the outlook's tick.

    A jump takes each rung in between. Rungs are lifted only where the budget was raised since the
    last one was taken. While a run is paused and its budget is not raised, nothing changes.
    """
    taken, may_lift = standing.taken, standing.may_lift
    if Rung.PAUSE in taken and not may_lift:
        return ()
    warranted = _warranted(standing.budget, outlook)
    lifted = [rung for rung in Rung if rung in taken and rung not in warranted and may_lift]
    rows: list[RungRow] = [RungLifted(rung=rung, tick=outlook.tick) for rung in reversed(lifted)]
    rows += [
        RungTaken(rung=rung, tick=outlook.tick)
        for rung in Rung
        if rung in warranted and rung not in taken
    ]
    return tuple(rows)


def spread(row: RungRow, nexts: Mapping[str, int], moves: Moves, order: Order) -> RungRow:
    """Name the worlds in which a rung has effect from another tick on than that of its row.

    `nexts` has the next tick that each world opens, of those that were begun and are not at their
    end: no rung reaches a tick that was opened before it. In depth order each goes by its own.
    """
    ticks = {}
    for name, tick in nexts.items():
        own = tick if order is Order.DEPTH else max(row.tick, tick)
        if own != moves.tick_in(name, row, moves.let_in):
            ticks[name] = own
    return msgspec.structs.replace(row, ticks=ticks)


def at_ceiling(standing: Standing, tick: int, *, of_money: bool) -> tuple[RungTaken, ...]:
    """Say which rungs are taken where a call does not fit: of money, all that are left; a jump."""
    if Rung.PAUSE in standing.taken:
        return ()
    has_steps = of_money and standing.budget.amount is not None
    rungs = _steps(standing.budget) if has_steps else frozenset((Rung.PAUSE,))
    return tuple(
        RungTaken(rung=rung, tick=tick)
        for rung in Rung
        if rung in rungs and rung not in standing.taken
    )


def plan_at(standing: Standing, tick: int) -> Plan:
    """Give the plan of a tick, in every world."""
    rungs = in_effect(standing.rungs, tick)
    return Plan(
        activation=standing.budget.ladder.share if Rung.SUBSAMPLE in rungs else FULL.activation,
        optional_work=Rung.FREEZE not in rungs,
    )


def least_plan(standing: Standing) -> Plan:
    """Give the plan that restrains most, short of a pause."""
    return Plan(activation=standing.budget.ladder.share, optional_work=False)


def in_effect(rungs: Iterable[RungAt], tick: int) -> frozenset[Rung]:
    """List the rungs that have effect at a tick."""
    return frozenset(
        at.rung for at in rungs if at.tick <= tick and (at.lifted is None or tick < at.lifted)
    )


def is_paused(standing: Standing, tick: int) -> bool:
    """Say whether no world may open a tick."""
    return Rung.PAUSE in in_effect(standing.rungs, tick)


def due(standing: Standing, tick: int, recorded: Iterable[RungAt]) -> Due:
    """Say what a world records of rungs when it comes to a tick, given what its record has.

    Where the tick is paused, that is the pause alone, before the tick and instead of it.
    """
    has = in_force(recorded)
    wanted = in_effect(standing.rungs, tick)
    if Rung.PAUSE in wanted:
        return NOTHING_DUE if Rung.PAUSE in has else Due(degraded=(Rung.PAUSE,))
    return Due(
        restored=tuple(rung for rung in reversed(Rung) if rung in has and rung not in wanted),
        degraded=tuple(rung for rung in Rung if rung in wanted and rung not in has),
    )


def recorded(rungs: Rungs, tick: int, due: Due) -> Rungs:
    """Move what a world's record says of rungs on by what it recorded at a tick."""
    for rung in due.restored:
        rungs = lift(rungs, rung, tick)
    for rung in due.degraded:
        rungs = take(rungs, rung, tick)
    return rungs


def gives_more(budget: Budget, than: Budget) -> bool:
    """Say whether a budget gives more room than another one, in anything that it limits."""
    limits: Sequence[tuple[float | None, float | None]] = (
        (budget.amount, than.amount),
        (budget.money_max, than.money_max),
        (budget.calls, than.calls),
        (budget.tokens, than.tokens),
        (budget.wall_s, than.wall_s),
    )
    return any(old is not None and (new is None or new > old) for new, old in limits)


def beyond(budget: Budget, *, calls: int = 0, tokens: int = 0, wall_s: float = 0.0) -> str:
    """Name the first ceiling, beside that in money, that is crossed; empty if none is."""
    found = (
        ("calls", budget.calls, calls),
        ("tokens", budget.tokens, tokens),
        ("time", budget.wall_s, wall_s),
    )
    return next((name for name, limit, used in found if limit is not None and used > limit), "")


def _warranted(budget: Budget, outlook: Outlook) -> frozenset[Rung]:
    """List the rungs that the outlook calls for."""
    rungs: frozenset[Rung] = frozenset()
    before = outlook.spent + outlook.committed
    room = budget.money_max
    over = room is not None and before + outlook.full > room
    if budget.amount is not None:
        rungs = _called_for(budget.ladder, Fraction(before + outlook.full), budget.amount)
        if over:
            rungs |= {Rung.WARN, Rung.FREEZE, Rung.SUBSAMPLE}
        over = over and before + outlook.least > (room or 0)
        rungs &= _steps(budget)
    return rungs | {Rung.PAUSE} if over or outlook.beyond else rungs


def _steps(budget: Budget) -> frozenset[Rung]:
    """List the rungs that a ladder has: with a share of 1 there is no subsampling."""
    return frozenset(Rung) - ({Rung.SUBSAMPLE} if exact(budget.ladder.share) >= 1 else set())


def _called_for(ladder: Ladder, total: Fraction, amount: int) -> frozenset[Rung]:
    fractions = (
        (Rung.WARN, ladder.warn),
        (Rung.FREEZE, ladder.freeze),
        (Rung.SUBSAMPLE, ladder.subsample),
    )
    if total <= 0:
        return frozenset()
    reached = [place for place, (_, part) in enumerate(fractions) if total >= exact(part) * amount]
    highest = max(reached, default=-1)
    return frozenset(rung for rung, _ in fractions[: highest + 1])
