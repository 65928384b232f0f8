"""What a run cost outside its closed ticks, as its run log says. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.records.record import Record
from perdure.records.registry import CostOutsideTicks, LogPayload, RunClosed, RunPaused


class Outside(Record):
    """Calls that are in no tick: their count, the sum of known amounts, and how many are unknown.

    `open` says that the run has not ended by itself, so that calls of open ticks, if there are
    any, are not on record yet: what they cost is unknown, not zero.
    """

    calls: int
    amount: int
    unknown: int
    open: bool


def outside(log: Sequence[LogPayload]) -> Outside:
    """Sum what a run log says of calls outside ticks."""
    rows = [row for row in log if isinstance(row, CostOutsideTicks)]
    return Outside(
        calls=sum(row.calls for row in rows),
        amount=sum(row.cost for row in rows),
        unknown=sum(row.unknown_costs for row in rows),
        open=not (log and isinstance(log[-1], RunPaused | RunClosed)),
    )
