"""The ledger of a run: what it cost, summed again from the record and held against the registry."""

from __future__ import annotations

import msgspec

from perdure.analysis.costs import CostBook, CostLine, CostSum, NamedSum, by, total
from perdure.analysis.models import answered_by
from perdure.analysis.outside import Outside, outside
from perdure.analysis.source import RecordSource
from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.study import Study
from perdure.trace.forced import study_in_force


class WorldCost(Record):
    """One world: the sum from its events, beside what the registry says of it.

    `agrees` holds if the registry's amount and count of unknown amounts are the summed ones.
    """

    world_id: str
    scenario: str
    seed: int
    sum: CostSum
    registry_amount: int
    registry_unknown: int
    agrees: bool


class Ledger(Record):
    """Spend summed from cost events, by stage (what a call was for), model, world and source.

    `total` covers closed ticks; what was called beside them is `outside`, and in no other sum.
    """

    run_id: str
    currency: str
    answered_by: str
    total: CostSum
    by_purpose: tuple[NamedSum, ...]
    by_model: tuple[NamedSum, ...]
    by_world: tuple[WorldCost, ...]
    by_source: tuple[NamedSum, ...]
    outside: Outside
    agrees: bool


def build_ledger(source: RecordSource) -> Ledger:
    """Sum every cost event of a run's record.

    Raises:
        DamagedRecordError: the record does not hold what was written.

    """
    lines: list[CostLine] = []
    worlds: list[WorldCost] = []
    outcomes = source.outcomes
    for world in source.worlds:
        book = CostBook(world.world_id)
        for event in source.events(world.world_id, ("cost",)):
            if isinstance(event.payload, Cost):
                book.add(event.payload)
        mine = book.lines()
        lines.extend(mine)
        summed = total(mine)
        outcome = outcomes.get(world.world_id)
        amount, unknown = (outcome.cost, outcome.unknown_costs) if outcome else (0, 0)
        worlds.append(
            WorldCost(
                world_id=world.world_id,
                scenario=world.scenario,
                seed=world.replicate_seed,
                sum=summed,
                registry_amount=amount,
                registry_unknown=unknown,
                agrees=(amount, unknown) == (summed.amount, summed.unknown),
            )
        )
    return Ledger(
        run_id=source.entry.run_id,
        currency=source.entry.currency,
        answered_by=answered_by(
            msgspec.json.decode(study_in_force(source.entry, source.log), type=Study).models
        ),
        total=total(lines),
        by_purpose=by(lines, lambda key: key.purpose),
        by_model=by(lines, lambda key: key.model),
        by_world=tuple(worlds),
        by_source=by(lines, lambda key: key.source),
        outside=outside(source.log, source.journal),
        agrees=all(world.agrees for world in worlds),
    )
