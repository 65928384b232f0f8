"""What a run spent, summed from its record: closed ticks, and what is in none of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.inference.reservations import NOTHING, Amounts
from perdure.inference.settlement import UNSENT, tokens_of
from perdure.records.events import Cost
from perdure.records.registry import (
    CallsLost,
    CallsOrphaned,
    LogPayload,
    TickDiscarded,
    WorldOutcome,
)


def spent_of(costs: Iterable[Cost]) -> Amounts:
    """Sum recorded costs. An unknown amount is counted, never taken as zero."""
    money = calls = tokens = unknown = 0
    for cost in costs:
        money += cost.amount or 0
        unknown += cost.amount is None
        calls += cost.failed not in UNSENT
        charged = cost.charged or cost.usage
        tokens += 0 if charged is None else tokens_of(charged)
    return Amounts(money=money, calls=calls, tokens=tokens, unknown=unknown)


def spent_in(world: WorldOutcome) -> Amounts:
    """Give what a world's closed ticks took, as it is noted."""
    return Amounts(
        money=world.cost, calls=world.attempts, tokens=world.tokens, unknown=world.unknown_costs
    )


def spent_outside(log: Iterable[LogPayload]) -> Amounts:
    """Sum what a run log says was spent on calls that are in no tick.

    Of a tick that was lost with the call journal, its estimate is the amount.
    """
    spent = NOTHING
    for row in log:
        match row:
            case CallsLost() | CallsOrphaned():
                spent += Amounts(
                    money=row.cost, calls=row.calls, tokens=row.tokens, unknown=row.unknown_costs
                )
            case TickDiscarded(journal_lost=True, estimate=estimate):
                spent += Amounts(money=estimate or 0, unknown=estimate is None)
            case _:
                pass
    return spent
