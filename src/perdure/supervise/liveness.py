"""Whether a run that lives also gets on: time without progress, without a heartbeat, in all. Pure.

A call in flight is not a stall: a run that says it waits for something is believed while it gives
signs of life. No deadline is shorter than twice the slowest step that this run was seen to take.
"""

from __future__ import annotations

from perdure.records.record import Record
from perdure.supervise.ends import Reason

_OVER_SLOWEST = 2.0


class Deadlines(Record):
    """How long a run may do what, in seconds; 0 for ever.

    `stall_s` is the time without progress, `heartbeat_s` that without a heartbeat.
    """

    stall_s: float = 3600.0
    heartbeat_s: float = 0.0
    attempt_s: float = 0.0
    total_s: float = 0.0


class Signs(Record):
    """What was seen of an attempt, in seconds of the awake clock; `slowest_s` is a duration."""

    begun_s: float
    advanced_s: float
    beat_s: float
    slowest_s: float = 0.0


def begun(now_s: float) -> Signs:
    """Begin to watch."""
    return Signs(begun_s=now_s, advanced_s=now_s, beat_s=now_s)


def appeared(signs: Signs, now_s: float) -> Signs:
    """Take the first sign of life: the time without progress begins here, not with the start."""
    return Signs(begun_s=signs.begun_s, advanced_s=now_s, beat_s=now_s, slowest_s=signs.slowest_s)


def saw(
    signs: Signs, now_s: float, *, advanced: bool = False, beat: bool = False, busy: bool = False
) -> Signs:
    """Take a look: whether it advanced, gave a heartbeat, or is busy with a call."""
    slowest_s = signs.slowest_s
    if advanced:
        slowest_s = max(slowest_s, now_s - signs.advanced_s)
    return Signs(
        begun_s=signs.begun_s,
        advanced_s=now_s if advanced or busy else signs.advanced_s,
        beat_s=now_s if beat or advanced else signs.beat_s,
        slowest_s=slowest_s,
    )


def again(signs: Signs, now_s: float) -> Signs:
    """Start both timers anew: the machine slept, or for a time nobody could say."""
    return Signs(begun_s=signs.begun_s, advanced_s=now_s, beat_s=now_s, slowest_s=signs.slowest_s)


def stall_limit_s(deadlines: Deadlines, slowest_s: float) -> float:
    """Say how long without progress is a stall, given the slowest step that was seen."""
    return max(deadlines.stall_s, _OVER_SLOWEST * slowest_s) if deadlines.stall_s else 0.0


def overdue(signs: Signs, deadlines: Deadlines, now_s: float, *, worked_s: float) -> Reason:
    """Say which deadline has passed, if one has. `worked_s` is the time of all attempts."""
    limits = (
        (Reason.TOTAL_LIMIT, deadlines.total_s, worked_s),
        (Reason.ATTEMPT_LIMIT, deadlines.attempt_s, now_s - signs.begun_s),
        (Reason.HEARTBEAT, deadlines.heartbeat_s, now_s - signs.beat_s),
        (
            Reason.STALL,
            stall_limit_s(deadlines, signs.slowest_s),
            now_s - signs.advanced_s,
        ),
    )
    for reason, limit_s, gone_s in limits:
        if limit_s and gone_s >= limit_s:
            return reason
    return Reason.NONE
