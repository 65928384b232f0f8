"""How a run is ended that must end: asked first, then told, then killed. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from perdure.records.record import Record
from perdure.supervise.ends import Reason

# A dump of stacks is written in moments, or not at all.
_DUMP_S = 2.0
# A process that was killed is gone in moments, unless the system itself hangs.
_KILLED_S = 10.0


class Step(StrEnum):
    """One way to end a run; each is tried when the one before it did not."""

    DUMP = "ask for stacks"
    INT = "INT"
    TERM = "TERM"
    KILL = "KILL"
    ABANDON = "kill the keeper"


class Graces(Record):
    """How long a run may take to end after a signal, in seconds.

    `stop_s` is for a stop that the operator asked for, which is waited for longer.
    """

    grace_s: float = 60.0
    stop_s: float = 600.0


class Rung(NamedTuple):
    """A step, and how long it is given."""

    step: Step
    wait_s: float


def ladder(why: Reason, graces: Graces, *, first: Step = Step.INT) -> tuple[Rung, ...]:
    """Give the steps for a reason, in order. `first` is what an operator's own signal was."""
    last = (Rung(Step.KILL, _KILLED_S), Rung(Step.ABANDON, _KILLED_S))
    term = Rung(Step.TERM, graces.grace_s)
    if why is Reason.OPERATOR:
        asked = Rung(first, graces.stop_s)
        return (asked, *(() if first is Step.TERM else (term,)), *last)
    steps = (Rung(Step.INT, graces.grace_s), term, *last)
    if why in {Reason.STALL, Reason.HEARTBEAT}:
        return (Rung(Step.DUMP, min(_DUMP_S, graces.grace_s)), *steps)
    return steps


class Climb(Record):
    """How far up a ladder: the number of steps taken, and when the last one was, in seconds."""

    taken: int = 0
    at_s: float = 0.0


def due(rungs: tuple[Rung, ...], climb: Climb, now_s: float) -> Step | None:
    """Give the step that is due now, if one is."""
    if climb.taken >= len(rungs):
        return None
    if climb.taken and now_s - climb.at_s < rungs[climb.taken - 1].wait_s:
        return None
    return rungs[climb.taken].step
