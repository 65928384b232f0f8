"""The figure that a budget is held against: all that a run has spent, or may have. Pure.

It is more than the ledger, which is the sum of what is recorded: the figure also has what open
ticks were charged so far, what is reserved, what was lost, and what calls without a known amount
are taken to have cost.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec

from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.registry import CallsLost, CallsOrphaned, LogPayload, TickDiscarded
from perdure.runner.estimates import Estimates

ModelAndRole = tuple[str, str]


class Bill(Record):
    """A sum of known amounts in nano-units; the other attempts are counted by model and role."""

    known: int = 0
    unpriced: Mapping[ModelAndRole, int] = msgspec.field(default_factory=dict)

    def __add__(self, other: Bill) -> Bill:
        unpriced = Counter(self.unpriced)
        unpriced.update(other.unpriced)
        return Bill(known=self.known + other.known, unpriced=dict(unpriced))


class Reserved(Record):
    """An attempt that is in flight: what it may cost at most, in nano-units, if that is known."""

    role: str
    purpose: str
    worst: int | None = None


class Figure(Record):
    """What a run has spent or may have, by what is known of it, in nano-units.

    `closed` are closed ticks, `settled` the attempts of open ticks that came to something,
    `reserved` those in flight at their estimate and `reserved_worst` at their worst case; `lost`
    and `orphaned` are as charged, `discarded` as estimated where no journal tells of a tick.
    `unpriced` is what attempts without an amount are taken to cost; `unknown` counts those of
    which nothing is known, and which are in no sum.
    """

    closed: int = 0
    settled: int = 0
    reserved: int = 0
    reserved_worst: int = 0
    lost: int = 0
    orphaned: int = 0
    discarded: int = 0
    unpriced: int = 0
    unknown: int = 0

    @property
    def charged(self) -> int:
        """All but what is in flight."""
        return (
            self.closed + self.settled + self.lost + self.orphaned + self.discarded + self.unpriced
        )

    @property
    def expected(self) -> int:
        """The figure that the ladder goes by: what is in flight counts at its estimate."""
        return self.charged + self.reserved

    @property
    def worst(self) -> int:
        """The figure that never exceeds the ceiling: what is in flight counts at its worst."""
        return self.charged + self.reserved_worst


def bill_of(costs: Iterable[Cost]) -> Bill:
    """Sum recorded costs."""
    known, unpriced = 0, Counter[ModelAndRole]()
    for cost in costs:
        if cost.amount is None:
            unpriced[cost.model, cost.role] += 1
        else:
            known += cost.amount
    return Bill(known=known, unpriced=dict(unpriced))


def figure_of(
    *,
    closed: Bill,
    settled: Bill,
    reserved: Iterable[Reserved],
    log: Iterable[LogPayload],
    estimates: Estimates,
) -> Figure:
    """Add up what a run has spent or may have.

    `closed` is the bill of closed ticks, `settled` that of the attempts of open ticks, `log` the
    run log. Amounts that are taken from an average are rounded up.
    """
    rows = tuple(log)
    lost = [row for row in rows if isinstance(row, CallsLost)]
    orphaned = [row for row in rows if isinstance(row, CallsOrphaned)]
    discarded = [row.estimate for row in rows if isinstance(row, TickDiscarded)]
    unnamed = sum(row.unknown_costs for row in rows if isinstance(row, CallsLost | CallsOrphaned))
    unpriced, unknown = _unpriced((closed + settled).unpriced, unnamed, estimates)
    expected, worst, unbounded = _in_flight(reserved, estimates)
    return Figure(
        closed=closed.known,
        settled=settled.known,
        reserved=expected,
        reserved_worst=worst,
        lost=sum(row.cost for row in lost),
        orphaned=sum(row.cost for row in orphaned),
        discarded=sum(estimate for estimate in discarded if estimate is not None),
        unpriced=unpriced,
        unknown=unknown + unbounded,
    )


def discarded_estimate(closed: int, ticks_closed: int, forecast: int | None) -> int | None:
    """Say what a tick is taken to have cost of which no journal tells, in nano-units.

    That is what a closed tick cost on average, rounded up; `forecast` before any is closed.
    """
    return forecast if ticks_closed == 0 else -(-closed // ticks_closed)


def _unpriced(
    numbers: Mapping[ModelAndRole, int], unnamed: int, estimates: Estimates
) -> tuple[int, int]:
    """Charge attempts without an amount at the mean of their kind; count those without a mean.

    Of what was lost, only the number is recorded: it counts as the dearest kind does.
    """
    total, unknown = Fraction(0), 0
    kinds = [(number, estimates.mean(*kind)) for kind, number in numbers.items()]
    for number, mean in [*kinds, (unnamed, estimates.dearest_mean())]:
        if mean is None:
            unknown += number
        else:
            total += mean * number
    return math.ceil(total), unknown


def _in_flight(reserved: Iterable[Reserved], estimates: Estimates) -> tuple[int, int, int]:
    """Sum attempts in flight at their estimate and at their worst; count those without either."""
    expected = worst = unknown = 0
    for attempt in reserved:
        estimate = estimates.call(attempt.role, attempt.purpose)
        known = [amount for amount in (estimate, attempt.worst) if amount is not None]
        expected += min(known, default=0)
        worst += attempt.worst or 0
        unknown += not known
    return expected, worst, unknown
