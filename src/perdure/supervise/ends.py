"""What the end of an attempt means: done, transient, permanent, paused, or the operator's. Pure."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from enum import StrEnum

from perdure.base.errors import (
    EXIT_DONE,
    EXIT_INVALID_STUDY,
    EXIT_KEY_OR_MODEL,
    EXIT_MOVED,
    EXIT_PAUSED,
    EXIT_SOME_FAILED,
    EXIT_STOPPED,
    EXIT_STORAGE,
    EXIT_USAGE,
)
from perdure.records.record import Record

# What a shell, and whoever behaves like one, makes of a command that a signal ended.
SHELL_SIGNAL = 128
CANNOT_EXECUTE = 126
NOT_FOUND = 127

# Where a run may say of its own end what it means, in the supervisor's folder.
OUTCOME_NAME = "outcome.json"

_STOPPING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})


class Kind(StrEnum):
    """What an end means for the next step."""

    DONE = "done"
    TRANSIENT = "transient"
    PERMANENT = "permanent"
    PAUSED = "paused"
    OPERATOR = "operator"


class Reason(StrEnum):
    """Why the supervisor itself ended an attempt."""

    NONE = ""
    OPERATOR = "operator"
    STALL = "stall"
    HEARTBEAT = "heartbeat"
    HEALTH = "health"
    ATTEMPT_LIMIT = "attempt-limit"
    TOTAL_LIMIT = "total-limit"
    DISK = "disk"
    PREDICATE = "predicate"


# The exit codes of DESIGN's table. A code that is not here is transient.
USUAL: Mapping[int, Kind] = {
    EXIT_DONE: Kind.DONE,
    EXIT_USAGE: Kind.PERMANENT,
    EXIT_INVALID_STUDY: Kind.PERMANENT,
    EXIT_STORAGE: Kind.PERMANENT,
    EXIT_STOPPED: Kind.PAUSED,
    EXIT_PAUSED: Kind.PAUSED,
    EXIT_KEY_OR_MODEL: Kind.PERMANENT,
    EXIT_MOVED: Kind.PERMANENT,
    CANNOT_EXECUTE: Kind.PERMANENT,
    NOT_FOUND: Kind.PERMANENT,
    **{SHELL_SIGNAL + number: Kind.OPERATOR for number in _STOPPING},
}


class Said(Record):
    """What a run may say of its own end, in the file that `PERDURE_OUTCOME` names."""

    outcome: Kind
    reason: str = ""
    retry_after_s: float = 0.0


class End(Record):
    """How an attempt ended: by an exit status, by a signal, or unseen (neither is known).

    `why` is the supervisor's own reason for ending it, if it did; `oom` says that the system ended
    a process for want of memory meanwhile; `said` is what the run told of it.
    """

    status: int | None = None
    signal: int | None = None
    why: Reason = Reason.NONE
    oom: bool = False
    said: Said | None = None

    @property
    def is_clean(self) -> bool:
        """Whether the process ended by itself with exit status 0."""
        return self.status == EXIT_DONE


def kind_of(end: End, table: Mapping[int, Kind]) -> Kind:  # noqa: PLR0911 - a case each
    """Say what an end means. What the supervisor did comes first, then what the run says of itself.

    A run that says it is done is believed only with exit status 0.
    """
    if end.why is Reason.OPERATOR:
        return Kind.OPERATOR
    if end.why is Reason.HEALTH:
        return Kind.PERMANENT
    if end.why in {Reason.TOTAL_LIMIT, Reason.DISK}:
        return Kind.PAUSED
    if end.why is not Reason.NONE:
        return Kind.TRANSIENT
    if end.said is not None and (end.said.outcome is not Kind.DONE or end.is_clean):
        return end.said.outcome
    if end.status is not None:
        return table.get(end.status, Kind.TRANSIENT)
    return Kind.OPERATOR if end.signal in _STOPPING else Kind.TRANSIENT


def code_of_end(end: End, kind: Kind) -> int:
    """Give the exit status with which the supervisor passes such an end on; never 0.

    Who asked for a stop gets the code of a stop, however the run took it; a code of its own is
    passed on.
    """
    if end.status and not (kind is Kind.OPERATOR and end.status > SHELL_SIGNAL):
        return end.status
    if kind in {Kind.PAUSED, Kind.OPERATOR}:
        return EXIT_STOPPED
    if end.signal is not None:
        return SHELL_SIGNAL + end.signal
    return EXIT_SOME_FAILED


def told(end: End) -> str:
    """Say in words how an attempt ended."""
    parts = [manner(end)]
    if end.oom:
        parts.append("the system ended a process for want of memory")
    if end.why is not Reason.NONE:
        parts.append(f"ended by the supervisor ({_WHY[end.why]})")
    if end.said is not None:
        about = f": {end.said.reason.rstrip('. ')}" if end.said.reason else ""
        parts.append(f"it calls this {end.said.outcome}{about}")
    return "; ".join(parts)


_WHY = {
    Reason.OPERATOR: "asked to stop",
    Reason.STALL: "no progress",
    Reason.HEARTBEAT: "no heartbeat",
    Reason.HEALTH: "a health check failed",
    Reason.ATTEMPT_LIMIT: "the time of one attempt was over",
    Reason.TOTAL_LIMIT: "the time of all attempts was over",
    Reason.DISK: "too little free space",
    Reason.PREDICATE: "a predicate is broken",
}


def manner(end: End) -> str:
    """Say by what an attempt ended."""
    if end.status is not None:
        return f"exit status {end.status}"
    if end.signal is None:
        return "nobody saw how it ended"
    try:
        name = signal.Signals(end.signal).name
    except ValueError:
        name = f"signal {end.signal}"
    return f"killed by {name}"
