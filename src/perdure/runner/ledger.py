"""What a run spent: the sum of its recorded costs, beside the count of unknown ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.registry import CallsLost, CallsOrphaned, LogPayload, TickDiscarded
from perdure.records.request import Attempt


class Spend(Record):
    """A sum of known amounts in nano-units, and how many attempts have no known amount."""

    known: int = 0
    unknown: int = 0

    def __add__(self, other: Spend) -> Spend:
        return Spend(known=self.known + other.known, unknown=self.unknown + other.unknown)


NOTHING_SPENT = Spend()


def spend_outside(log: Iterable[LogPayload]) -> Spend:
    """Sum what a run log says was spent on calls that are in no tick.

    Of a tick that was lost with the call journal, its estimate is the amount.
    """
    spend = NOTHING_SPENT
    for row in log:
        match row:
            case CallsLost() | CallsOrphaned():
                spend += Spend(known=row.cost, unknown=row.unknown_costs)
            case TickDiscarded(journal_lost=True, estimate=None):
                spend += Spend(unknown=1)
            case TickDiscarded(journal_lost=True, estimate=int(estimate)):
                spend += Spend(known=estimate)
            case _:
                pass
    return spend


def spend_of(costs: Iterable[Cost | Attempt]) -> Spend:
    """Sum amounts, recorded or not yet. An unknown one is counted, never taken as zero."""
    known = unknown = 0
    for cost in costs:
        if cost.amount is None:
            unknown += 1
        else:
            known += cost.amount
    return Spend(known=known, unknown=unknown)
