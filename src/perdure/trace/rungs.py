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
from perdure.records.registry import BudgetChanged, LogPayload, RungAt, RungLifted, RungTaken

Rungs = tuple[RungAt, ...]

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


def unlogged_rung(rungs: Iterable[RungAt], log: Iterable[LogPayload]) -> str | None:
    """Say which rung of a world's record the run did not take, or lift, at that tick.

    A pause stops a world before the tick at which the run has it, if a call of an earlier tick did
    not fit; there it is lifted, too.
    """
    rows = tuple(log)
    taken = {(row.rung, row.tick) for row in rows if isinstance(row, RungTaken)}
    lifted = {(row.rung, row.tick) for row in rows if isinstance(row, RungLifted)}

    def is_in(rung: Rung, tick: int, moves: Iterable[tuple[Rung, int]]) -> bool:
        return any(
            rung is moved and (at == tick or (rung is Rung.PAUSE and tick < at))
            for moved, at in moves
        )

    for at in rungs:
        if not is_in(at.rung, at.tick, taken):
            return f"It has the rung {at.rung} from tick {at.tick} on, and the run log has not."
        if at.lifted is not None and not is_in(at.rung, at.lifted, lifted):
            return f"Its rung {at.rung} is lifted at tick {at.lifted}, and that of the run is not."
    return None
