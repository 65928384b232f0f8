"""What a run spent, and how its worlds stand, summed from its record. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from perdure.inference.reservations import NOTHING, Amounts
from perdure.inference.settlement import UNSENT, tokens_of
from perdure.records.events import Cost
from perdure.records.registry import (
    AnswersRescored,
    CallsLost,
    CallsOrphaned,
    LogPayload,
    TickDiscarded,
    WorldOutcome,
    WorldState,
)
from perdure.runner.port import TickReport


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


def noted(known: WorldOutcome, report: TickReport) -> WorldOutcome:
    """Say how a world stands after ticks that closed: one more, or all that its record has."""
    return msgspec.structs.replace(
        known,
        state=WorldState.PARTIAL if report.tick >= 0 else WorldState.NOT_STARTED,
        tick=report.tick,
        calls=known.calls + report.calls,
        turns=known.turns + report.turns,
        turns_failed=known.turns_failed + report.turns_failed,
        cost=known.cost + report.spent.money,
        unknown_costs=known.unknown_costs + report.spent.unknown,
        attempts=known.attempts + report.spent.calls,
        tokens=known.tokens + report.spent.tokens,
        digest=report.head.digest,
        rungs=report.rungs,
    )


def spent_outside(log: Iterable[LogPayload]) -> Amounts:
    """Sum what a run log says was spent on calls that are in no tick.

    Of a tick that was lost with the call journal, its estimate is the amount.
    """
    spent = NOTHING
    for row in log:
        match row:
            case CallsLost() | CallsOrphaned() | AnswersRescored():
                spent += Amounts(
                    money=row.cost, calls=row.calls, tokens=row.tokens, unknown=row.unknown_costs
                )
            case TickDiscarded(journal_lost=True, estimate=estimate):
                spent += Amounts(money=estimate or 0, unknown=estimate is None)
            case _:
                pass
    return spent
