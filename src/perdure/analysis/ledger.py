"""The ledger of a run: what it cost, summed again from the record and held against the registry."""

from __future__ import annotations

import msgspec

from perdure.analysis.costs import CostBook, CostLine, CostSum, NamedSum, by, total
from perdure.analysis.models import answered_by
from perdure.analysis.outside import Outside, outside
from perdure.analysis.source import RecordSource
from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.registry import WorldEntry, WorldOutcome
from perdure.records.study import Study
from perdure.trace.forced import study_in_force


class WorldCost(Record):
    """One world: the sum from its events, beside what the registry says of it.

    The registry's note is as of `registry_tick`; the record may have gone on since, in a run that
    is live or was killed. `agrees` holds if its amount and count of unknown amounts are `noted`,
    the sum up to that tick.
    """

    world_id: str
    scenario: str
    seed: int
    sum: CostSum
    registry_tick: int
    registry_amount: int
    registry_unknown: int
    noted: CostSum
    agrees: bool


class Ledger(Record):
    """Spend summed from cost events, by stage (what a call was for), model, world and source.

    `total` covers closed ticks; what was called beside them is `outside`. `spent` is both together,
    in nano-units, and `spent_unknown` counts the attempts of which the amount is not known.
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
    spent: int
    spent_unknown: int
    agrees: bool


def build_ledger(source: RecordSource) -> Ledger:
    """Sum every cost event of a run's record.

    Raises:
        DamagedRecordError: the record does not hold what was written.

    """
    lines: list[CostLine] = []
    worlds: list[WorldCost] = []
    # The notes come first: what they count is then in the events, also where a run goes on.
    outcomes = source.outcomes
    for world in source.worlds:
        noted = outcomes.get(world.world_id) or WorldOutcome(world_id=world.world_id)
        mine, cost = _cost_of(source, world, noted)
        lines.extend(mine)
        worlds.append(cost)
    sums, beside = total(lines), outside(source.log, source.journal, source.journal_fault)
    return Ledger(
        run_id=source.entry.run_id,
        currency=source.entry.currency,
        answered_by=answered_by(
            msgspec.json.decode(study_in_force(source.entry, source.log), type=Study).models
        ),
        total=sums,
        by_purpose=by(lines, lambda key: key.purpose),
        by_model=by(lines, lambda key: key.model),
        by_world=tuple(worlds),
        by_source=by(lines, lambda key: key.source),
        outside=beside,
        spent=sums.amount + beside.amount,
        spent_unknown=sums.unknown + beside.unknown,
        agrees=all(world.agrees for world in worlds),
    )


def _cost_of(
    source: RecordSource, world: WorldEntry, noted: WorldOutcome
) -> tuple[tuple[CostLine, ...], WorldCost]:
    book, then = CostBook(world.world_id), CostBook(world.world_id)
    for event in source.events(world.world_id, ("cost",)):
        if isinstance(event.payload, Cost):
            book.add(event.payload)
            if event.tick <= noted.tick:
                then.add(event.payload)
    lines, up_to_note = book.lines(), total(then.lines())
    return lines, WorldCost(
        world_id=world.world_id,
        scenario=world.scenario,
        seed=world.replicate_seed,
        sum=total(lines),
        registry_tick=noted.tick,
        registry_amount=noted.cost,
        registry_unknown=noted.unknown_costs,
        noted=up_to_note,
        agrees=(noted.cost, noted.unknown_costs) == (up_to_note.amount, up_to_note.unknown),
    )
