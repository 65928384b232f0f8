"""Where a run stands, from its registry and run log and whether a process holds it. Pure.

The record alone cannot tell a run that works from one whose process died: only the lock can. A run
that nobody holds is never called running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from perdure.analysis.calendars import Dates, dates_of, stamp
from perdure.analysis.models import answered_by
from perdure.analysis.outside import Outside, outside
from perdure.records.budget import Budget
from perdure.records.comparability import Comparability
from perdure.records.journal import OpenTick
from perdure.records.record import Record
from perdure.records.registry import (
    LogPayload,
    RunClosed,
    RunEntry,
    RungAt,
    RunPaused,
    WorldEntry,
    WorldOutcome,
    WorldState,
)
from perdure.records.scenario import Scenario
from perdure.records.study import Study
from perdure.trace.comparability import comparability
from perdure.trace.forced import Marks, marks, study_in_force
from perdure.trace.rungs import budget_in_force, rungs_of
from perdure.trace.sittings import last_end


class State(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    COMPLETED = "completed"
    PAUSED = "paused"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class WorldStanding(Record):
    """Where one world stands: its last closed tick (-1 if none) of how many, and the date of it.

    Without a calendar, and before the first tick is closed, there is no `date`.
    """

    world_id: str
    scenario: str
    seed: int
    state: WorldState
    tick: int
    horizon: int
    turns: int
    turns_failed: int
    calls: int
    cost: int
    unknown_costs: int
    cause: str
    rungs: tuple[RungAt, ...] = ()
    date: str = ""


class Standing(Record):
    """Where a run stands. `cause` says why it is not completed, if something is known of it.

    Turns, calls and cost are those of closed ticks; what was called beside them is `outside`.
    `budget` is the one in force, `rungs` all that the run took of its ladder. `marks` says what the
    run was forced past. `answered_by` names the models that are asked now. `comparability` says
    which worlds ran alike, `calendars` which dates the ticks are.
    """

    run_id: str
    state: State
    cause: str
    exit_status: int
    answered_by: str
    worlds: tuple[WorldStanding, ...]
    worlds_completed: int
    ticks: int
    ticks_closed: int
    turns: int
    turns_failed: int
    calls: int
    cost: int
    unknown_costs: int
    currency: str
    outside: Outside
    budget: Budget
    marks: Marks
    rungs: tuple[RungAt, ...] = ()
    comparability: Comparability = Comparability()
    calendars: tuple[Dates, ...] = ()


def standing(
    entry: RunEntry,
    worlds: Sequence[WorldEntry],
    outcomes: Mapping[str, WorldOutcome],
    log: Sequence[LogPayload],
    *,
    held: bool,
    journal: Sequence[OpenTick] | None = None,
    journal_fault: str = "",
) -> Standing:
    """Say where a run stands. `held` is whether a process holds the run's lock now.

    `journal` and `journal_fault` are as in `outside`.
    """
    study = msgspec.json.decode(entry.study, type=Study)
    scenarios = {one.id: one for one in study.scenarios}
    lines = tuple(
        _world(world, scenarios[world.scenario], outcomes.get(world.world_id)) for world in worlds
    )
    state, cause, exit_status = _state(lines, log, held=held)
    return Standing(
        run_id=entry.run_id,
        state=state,
        cause=cause,
        exit_status=exit_status,
        answered_by=answered_by(msgspec.json.decode(study_in_force(entry, log), type=Study).models),
        worlds=lines,
        worlds_completed=sum(line.state is WorldState.COMPLETED for line in lines),
        ticks=sum(line.horizon for line in lines),
        ticks_closed=sum(line.tick + 1 for line in lines),
        turns=sum(line.turns for line in lines),
        turns_failed=sum(line.turns_failed for line in lines),
        calls=sum(line.calls for line in lines),
        cost=sum(line.cost for line in lines),
        unknown_costs=sum(line.unknown_costs for line in lines),
        currency=entry.currency,
        outside=outside(log, journal, journal_fault),
        marks=marks(log),
        budget=budget_in_force(study.budget, log),
        rungs=rungs_of(log),
        comparability=comparability(worlds, outcomes),
        calendars=dates_of(study.scenarios),
    )


def _state(
    worlds: Sequence[WorldStanding], log: Sequence[LogPayload], *, held: bool
) -> tuple[State, str, int]:
    if held:
        return State.RUNNING, "", 0
    if worlds and all(world.state is WorldState.COMPLETED for world in worlds):
        return State.COMPLETED, "", 0
    last = last_end(log)
    if isinstance(last, RunPaused):
        return State.PAUSED, last.cause, last.exit_status
    if isinstance(last, RunClosed):
        causes = [world.cause for world in worlds if world.cause]
        return State.FAILED, causes[0] if causes else "", last.exit_status
    return State.INTERRUPTED, "No process holds this run, and it did not end by itself.", 0


def _world(world: WorldEntry, scenario: Scenario, outcome: WorldOutcome | None) -> WorldStanding:
    known = outcome or WorldOutcome(world_id=world.world_id)
    return WorldStanding(
        world_id=world.world_id,
        scenario=world.scenario,
        seed=world.replicate_seed,
        state=known.state,
        tick=known.tick,
        horizon=world.horizon,
        turns=known.turns,
        turns_failed=known.turns_failed,
        calls=known.calls,
        cost=known.cost,
        unknown_costs=known.unknown_costs,
        cause=known.cause,
        rungs=known.rungs,
        date=stamp(scenario, known.tick),
    )
