"""What a record says of rungs: which were taken, from which tick on, and which were lifted. Pure.

A rung that takes effect stands at the head of its tick. A pause has no tick to stand in: it is the
one event between ticks, and its tick is the one that does not open.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from perdure.base.canonical import encode
from perdure.records.budget import Budget, Rung
from perdure.records.events import KIND_OF, Degraded, Payload, Restored
from perdure.records.record import Record
from perdure.records.registry import (
    BudgetChanged,
    LogPayload,
    RungAt,
    RungLifted,
    RungTaken,
    WorldsLive,
)

Rungs = tuple[RungAt, ...]
RungRow = RungTaken | RungLifted

PAUSE = Degraded(rung=Rung.PAUSE)

_PAUSE_KIND, _PAUSE_BYTES = KIND_OF[Degraded], encode(PAUSE)


def is_pause(kind: str, payload: bytes) -> bool:
    """Say whether a stored event is a pause."""
    return kind == _PAUSE_KIND and payload == _PAUSE_BYTES


def in_force(rungs: Iterable[RungAt]) -> frozenset[Rung]:
    """List the rungs that were taken and not lifted since."""
    return frozenset(at.rung for at in rungs if at.lifted is None)


def take(rungs: Rungs, rung: Rung, tick: int) -> Rungs:
    """Add a rung that has effect from a tick on."""
    return (*rungs, RungAt(rung=rung, tick=tick))


def lift(rungs: Rungs, rung: Rung, tick: int) -> Rungs:
    """Mark a rung as having no effect from a tick on."""
    return tuple(
        RungAt(rung=at.rung, tick=at.tick, lifted=tick)
        if at.rung is rung and at.lifted is None
        else at
        for at in rungs
    )


def changed(budget: Budget, limits: Budget) -> Budget:
    """Put other limits on a budget.

    The ladder stays the study's: with another share, the same tick would be run under one plan by
    the worlds that have opened it and under another by those that have not.
    """
    return msgspec.structs.replace(limits, ladder=budget.ladder)


def budget_in_force(asked: Budget, log: Iterable[LogPayload]) -> Budget:
    """Give the budget of a run as it stands: as asked, or as changed since."""
    for row in log:
        if isinstance(row, BudgetChanged):
            asked = changed(asked, row.budget)
    return asked


def rungs_of(log: Iterable[LogPayload]) -> Rungs:
    """List every rung that a run took, by its run log."""
    rungs: Rungs = ()
    for row in log:
        if isinstance(row, RungTaken):
            rungs = take(rungs, row.rung, row.tick)
        elif isinstance(row, RungLifted):
            rungs = lift(rungs, row.rung, row.tick)
    return rungs


class Moves(Record):
    """What a run took and lifted of its rungs, in order, and in which worlds from which tick on.

    Beside each row are the worlds that were let in before it; None stands for all of them.
    """

    rows: tuple[tuple[RungRow, frozenset[str] | None], ...] = ()
    let_in: frozenset[str] | None = None

    @property
    def is_even(self) -> bool:
        """Whether every rung has effect at the same tick in every world."""
        return all(let_in is None and not row.ticks for row, let_in in self.rows)

    def tick_in(self, world_id: str, row: RungRow, let_in: frozenset[str] | None) -> int:
        """Give the tick of a world from which a row has effect."""
        is_in = let_in is None or world_id in let_in
        return row.ticks.get(world_id, row.tick if is_in else 0)

    def in_world(self, world_id: str) -> Rungs:
        """List every rung that the run took, with the ticks at which it has effect in a world."""
        rungs: Rungs = ()
        for row, let_in in self.rows:
            tick = self.tick_in(world_id, row, let_in)
            move = take if isinstance(row, RungTaken) else lift
            rungs = move(rungs, row.rung, tick)
        return rungs


def moved_by(moves: Moves, row: LogPayload) -> Moves:
    """Move on by one row of the run log."""
    match row:
        case RungTaken() | RungLifted():
            return Moves(rows=(*moves.rows, (row, moves.let_in)), let_in=moves.let_in)
        case WorldsLive(worlds=worlds):
            known = moves.let_in or frozenset()
            return Moves(rows=moves.rows, let_in=known | frozenset(worlds))
        case _:
            return moves


def moves_of(log: Iterable[LogPayload]) -> Moves:
    """Gather what a run did with its rungs, by its run log."""
    moves = Moves()
    for row in log:
        moves = moved_by(moves, row)
    return moves


def recorded_after(rungs: Rungs, tick: int, payload: Payload) -> Rungs:
    """Move what a world's record says of rungs on by one of its events."""
    match payload:
        case Degraded(rung=rung):
            return take(rungs, rung, tick)
        case Restored(rung=rung):
            return lift(rungs, rung, tick)
        case _:
            return rungs


def wrong_rungs(log: Iterable[LogPayload]) -> str | None:
    """Say what is wrong with the rungs of a run log: each is taken once until it is lifted."""
    rungs: Rungs = ()
    for row in log:
        known = in_force(rungs)
        match row:
            case RungTaken(rung=rung, tick=tick):
                if rung in known:
                    return f"The rung {rung} is taken at tick {tick}, and was taken already."
                rungs = take(rungs, rung, tick)
            case RungLifted(rung=rung, tick=tick):
                if rung not in known:
                    return f"The rung {rung} is lifted at tick {tick}, and was not taken."
                rungs = lift(rungs, rung, tick)
            case _:
                pass
    return None


def unlogged_rung(world_id: str, rungs: Iterable[RungAt], moves: Moves) -> str | None:
    """Say which rung of a world's record the run did not take, or lift, at that tick of it.

    A pause stops a world before the tick at which the run has it, if a call of an earlier tick did
    not fit; there it is lifted, too.
    """
    found = [(row, moves.tick_in(world_id, row, let_in)) for row, let_in in moves.rows]
    taken = {(row.rung, tick) for row, tick in found if isinstance(row, RungTaken)}
    lifted = {(row.rung, tick) for row, tick in found if isinstance(row, RungLifted)}

    def is_in(rung: Rung, tick: int, known: Iterable[tuple[Rung, int]]) -> bool:
        return any(
            rung is moved and (at == tick or (rung is Rung.PAUSE and tick < at))
            for moved, at in known
        )

    for at in rungs:
        if not is_in(at.rung, at.tick, taken):
            return f"It has the rung {at.rung} from tick {at.tick} on, and the run log has not."
        if at.lifted is not None and not is_in(at.rung, at.lifted, lifted):
            return f"Its rung {at.rung} is lifted at tick {at.lifted}, and that of the run is not."
    return None
