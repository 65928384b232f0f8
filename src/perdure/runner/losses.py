"""What is lost with a call journal: which ticks may have been open, and what they cost. Pure.

Without its journal nobody knows which ticks were open. Every world that has begun and is not at its
end may have had its next tick open, so each of these is counted: too much rather than too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perdure.records.events import Head
from perdure.records.registry import (
    JournalLost,
    LogPayload,
    TickDiscarded,
    WorldEntry,
    WorldOutcome,
)
from perdure.records.study import Study
from perdure.study.forecast import tick_cost
from perdure.trace.sittings import before, may_hold_open

# A run begins under this epoch, and its first call journal with it.
FIRST_EPOCH = 1


def is_unnoted(log: Sequence[LogPayload], since: int, *, kept: bool) -> bool:
    """Say whether the loss of the journal before this one is still to be recorded.

    `since` is the epoch since which the present journal holds every call; `kept` says that the one
    before was set aside. A journal that was gone when nothing can have been open is no loss.
    """
    if since == FIRST_EPOCH:
        return False
    noted = any(isinstance(row, JournalLost) and row.epoch == since for row in log)
    return not noted and (kept or may_hold_open(before(log, since)))


def discarded(
    worlds: Sequence[WorldEntry],
    heads: Mapping[str, Head | None],
    costs: Mapping[str, int | None],
    log: Sequence[LogPayload],
    since: int,
) -> tuple[TickDiscarded, ...]:
    """List the ticks that may have been open when the journal before `since` was lost.

    `heads` says where the record of each world ends, `costs` what its next tick is taken to cost.
    """
    if not may_hold_open(before(log, since)):
        return ()
    found = []
    for world in worlds:
        head = heads[world.world_id]
        if head is not None and head.tick < world.horizon - 1:
            found.append(
                TickDiscarded(
                    world_id=world.world_id,
                    tick=head.tick + 1,
                    epoch=since - 1,
                    journal_lost=True,
                    estimate=costs[world.world_id],
                )
            )
    return tuple(found)


def next_tick_costs(
    study: Study,
    personas: int,
    worlds: Sequence[WorldEntry],
    heads: Mapping[str, Head | None],
    outcomes: Iterable[WorldOutcome],
) -> dict[str, int | None]:
    """Estimate what each world's next tick costs, in nano-units; None where that is unknown.

    It is the mean of the closed ticks of the run; before any has closed, its forecast.
    """
    known = list(outcomes)
    closed = sum(outcome.tick + 1 for outcome in known)
    if closed:
        return dict.fromkeys((world.world_id for world in worlds), _mean(known, closed))
    scenarios = {scenario.id: scenario for scenario in study.scenarios}
    costs = {}
    for world in worlds:
        head = heads[world.world_id]
        tick = 0 if head is None else head.tick + 1
        costs[world.world_id] = tick_cost(study, scenarios[world.scenario], tick, personas=personas)
    return costs


def _mean(outcomes: Sequence[WorldOutcome], closed: int) -> int | None:
    """Give the mean cost of a closed tick, rounded up; None if some of it is unknown."""
    if any(outcome.unknown_costs for outcome in outcomes):
        return None
    return -(-sum(outcome.cost for outcome in outcomes) // closed)
