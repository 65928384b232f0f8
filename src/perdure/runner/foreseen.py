"""A study's forecast held against its budget: what fits, and which rungs to expect when. Pure.

Rungs are those that the ladder takes if every tick costs what the forecast says. What happens
depends on what the calls really cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from perdure.records.budget import Budget, Rung
from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.records.registry import RungTaken
from perdure.runner.ladder import (
    FULL,
    Outlook,
    Standing,
    after,
    decide,
    is_paused,
    least_plan,
    plan_at,
)
from perdure.study.forecast import Forecast, TickForecast


class Limit(Record):
    """One limit of a budget, beside what is expected and the worst case; absent if unknown.

    `what` is `money` (in nano-units), `calls` (attempts), `tokens` or `seconds`. What is expected
    of money is held against `soft`, the amount, and what is worst against `most`, the ceiling.
    """

    what: str
    most: float
    soft: float
    expected: float | None = None
    worst: float | None = None

    @property
    def expected_fits(self) -> bool | None:
        """Whether what is expected fits; None if it is not known."""
        return None if self.expected is None else self.expected <= self.soft

    @property
    def worst_fits(self) -> bool | None:
        """Whether the worst case fits; None if it is not known."""
        return None if self.worst is None else self.worst <= self.most


class RungExpected(Record):
    """A rung, and the tick at which it is expected to take effect."""

    rung: Rung
    tick: int


class Foreseen(Record):
    """What a budget makes of a study. Rungs are in order; a pause is the end of the run.

    Where worlds do not all go on `together`, each has its rungs at its own tick, and none are
    foreseen.
    """

    limits: tuple[Limit, ...] = ()
    rungs: tuple[RungExpected, ...] = ()
    starts: bool = True
    together: bool = True


def foresee(budget: Budget, found: Forecast, *, together: bool = True) -> Foreseen:
    """Hold a forecast against a budget. All worlds go on `together`, tick by tick, or they do not.

    `starts` is false if not even the first tick with calls fits: its expected cost, calls or
    tokens, or the most that one call may cost, are above a limit. Where worlds do not go on
    together that is the most that one call may cost alone.
    """
    limits = []
    if budget.amount is not None and budget.money_max is not None:
        money = Limit(
            what="money",
            most=budget.money_max,
            soft=budget.amount,
            expected=found.cost,
            worst=found.cost_worst,
        )
        limits.append(money)
    rows = (
        ("calls", budget.calls, found.calls_total, found.attempts_worst),
        ("tokens", budget.tokens, found.tokens, found.tokens_worst),
        ("seconds", budget.wall_s, found.seconds, found.seconds_worst),
    )
    limits += [
        Limit(what=what, most=most, soft=most, expected=expected, worst=worst)
        for what, most, expected, worst in rows
        if most is not None
    ]
    rungs = tuple(_rungs(budget, found.ticks)) if together else ()
    starts = _one_fits(budget, found) and (not together or _starts(budget, found, rungs))
    return Foreseen(limits=tuple(limits), rungs=rungs, starts=starts, together=together)


def _one_fits(budget: Budget, found: Forecast) -> bool:
    dearest = max((part.worst_cost or 0 for part in found.calls), default=0)
    return not found.ticks or budget.money_max is None or budget.money_max >= dearest


def _starts(budget: Budget, found: Forecast, rungs: tuple[RungExpected, ...]) -> bool:
    if not found.ticks:
        return True
    first = found.ticks[0]
    calls = math.ceil(round(first.calls, 6))
    pauses = any(one.rung is Rung.PAUSE and one.tick == first.tick for one in rungs)
    too_few = budget.calls is not None and budget.calls < calls
    too_short = budget.tokens is not None and budget.tokens < calls * found.call_tokens
    return not (pauses or too_few or too_short)


def _rungs(budget: Budget, ticks: tuple[TickForecast, ...]) -> Iterator[RungExpected]:
    """Step through the ticks as a run does: the ladder decides, then the tick is paid for."""
    standing, spent = Standing(budget=budget), 0
    for tick in ticks:
        full, least = _cost(tick, FULL), _cost(tick, least_plan(standing))
        if full is None or least is None:
            return
        for row in decide(standing, Outlook(tick=tick.tick, spent=spent, full=full, least=least)):
            standing = after(standing, row)
            if isinstance(row, RungTaken):
                yield RungExpected(rung=row.rung, tick=tick.tick)
        if is_paused(standing, tick.tick):
            return
        spent += _cost(tick, plan_at(standing, tick.tick)) or 0


def _cost(tick: TickForecast, plan: Plan) -> int | None:
    """Say what a tick is expected to cost under a plan; None if a price is not known."""
    if tick.wave is None or tick.active is None or tick.optional is None:
        return None
    optional = tick.optional if plan.optional_work else 0
    return tick.wave + math.ceil(plan.activation * (tick.active + optional))
