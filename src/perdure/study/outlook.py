"""A study's forecast held against its budget: what fits, and which rungs to expect when. Pure.

Rungs are expected as the ladder takes them: by what is spent so far and the next tick at full rate,
in parts of the amount. What happens depends on what the calls really cost.
"""

from __future__ import annotations

import math

from perdure.records.budget import Budget, Rung
from perdure.records.record import Record
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


class Outlook(Record):
    """What a budget makes of a study. Rungs are in order; a pause is the end of the run."""

    limits: tuple[Limit, ...] = ()
    rungs: tuple[RungExpected, ...] = ()
    starts: bool = True


def outlook(budget: Budget, found: Forecast) -> Outlook:
    """Hold a forecast against a budget.

    `starts` is false if not even the first tick with calls can be opened: its expected cost, its
    calls or their tokens, or the most that one call may cost, are above a limit.
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
    rungs = _rungs(budget, found.ticks)
    return Outlook(limits=tuple(limits), rungs=rungs, starts=_starts(budget, found, rungs))


def _starts(budget: Budget, found: Forecast, rungs: tuple[RungExpected, ...]) -> bool:
    if not found.ticks:
        return True
    first = found.ticks[0]
    each = max(part.input_tokens + part.output_tokens for part in found.calls)
    dearest = max(part.worst_cost or 0 for part in found.calls)
    pauses = any(one.rung is Rung.PAUSE and one.tick == first.tick for one in rungs)
    too_few = budget.calls is not None and budget.calls < math.floor(first.turns)
    too_short = budget.tokens is not None and budget.tokens < math.floor(first.turns) * each
    too_dear = budget.money_max is not None and budget.money_max < dearest
    return not (pauses or too_few or too_short or too_dear)


def _rungs(budget: Budget, ticks: tuple[TickForecast, ...]) -> tuple[RungExpected, ...]:
    if budget.amount is None or budget.money_max is None:
        return ()
    ladder = budget.ladder
    steps = [(Rung.WARN, ladder.warn), (Rung.FREEZE, ladder.freeze)]
    if ladder.share < 1:
        steps.append((Rung.SUBSAMPLE, ladder.subsample))
    taken: dict[Rung, int] = {}
    spent = 0
    for tick in ticks:
        if tick.wave is None or tick.active is None or tick.optional is None:
            break
        full = spent + tick.wave + tick.active + tick.optional
        for rung, fraction in steps:
            if full >= fraction * budget.amount:
                taken.setdefault(rung, tick.tick)
        share = ladder.share if Rung.SUBSAMPLE in taken else 1.0
        optional = 0 if Rung.FREEZE in taken else tick.optional
        spent += tick.wave + round(share * tick.active) + optional
        if spent > budget.money_max:
            taken[Rung.PAUSE] = tick.tick
            break
    return tuple(RungExpected(rung=rung, tick=tick) for rung, tick in taken.items())
