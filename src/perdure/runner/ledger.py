"""What a run spent: the sum of its recorded costs, beside the count of unknown ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.registry import CallsLost, CallsOrphaned, LogPayload
from perdure.records.request import Attempt


class Spend(Record):
    """A sum of known amounts in nano-units, and how many attempts have no known amount."""

    known: int = 0
    unknown: int = 0

    def __add__(self, other: Spend) -> Spend:
        return Spend(known=self.known + other.known, unknown=self.unknown + other.unknown)


NOTHING_SPENT = Spend()


def spend_outside(log: Iterable[LogPayload]) -> Spend:
    """Sum what a run log says was spent on calls that are in no tick."""
    rows = [row for row in log if isinstance(row, CallsLost | CallsOrphaned)]
    return Spend(
        known=sum(row.cost for row in rows), unknown=sum(row.unknown_costs for row in rows)
    )


def spend_of(costs: Iterable[Cost | Attempt]) -> Spend:
    """Sum amounts, recorded or not yet. An unknown one is counted, never taken as zero."""
    known = unknown = 0
    for cost in costs:
        if cost.amount is None:
            unknown += 1
        else:
            known += cost.amount
    return Spend(known=known, unknown=unknown)
