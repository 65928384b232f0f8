"""What follows from an attempt's end: accept, try again, or stop, and with which code. Pure."""

from __future__ import annotations

from enum import StrEnum

from perdure.base.errors import EXIT_DONE, EXIT_STOPPED, EXIT_STORAGE
from perdure.base.text import sentence
from perdure.records.record import Record
from perdure.supervise.answers import Answer
from perdure.supervise.ends import End, Kind, Reason, code_of_end, told

EXIT_GAVE_UP = 3
EXIT_BROKEN = 4
EXIT_UNACCEPTABLE = 5


class State(StrEnum):
    """How a supervisor stands."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    WAITING = "waiting"
    PAUSED = "paused"
    DONE = "done"
    GAVE_UP = "gave up"
    FAILED = "failed"
    STOPPED = "stopped"
    BROKEN = "predicate broken"
    UNACCEPTABLE = "artifact unacceptable"


ENDED = frozenset(State) - {State.STARTING, State.RUNNING, State.STOPPING, State.WAITING}


class Verdict(Record):
    """What to do: `state` says it; another attempt follows if it is `WAITING`."""

    state: State
    code: int = EXIT_DONE
    why: str = ""


def stopped() -> Verdict:
    """Give the end that the operator asked for, where no attempt had to be ended for it."""
    return Verdict(state=State.STOPPED, code=EXIT_STOPPED, why="stopped on request")


def damaged(what: str = "") -> Verdict:
    """Give the end for a run that is there and damaged; `what` says how."""
    return Verdict(
        state=State.FAILED,
        code=EXIT_STORAGE,
        why="the run that is there is damaged: neither a start nor a resume applies. "
        f"{f'{sentence(what)} ' if what else ''}"
        "Look at it, move it away, and run the same command again",
    )


def broken(**answers: Answer) -> Verdict | None:
    """Give the end for the first predicate that does not work; None if all of them do."""
    for name, answer in answers.items():
        if answer.is_broken:
            return Verdict(
                state=State.BROKEN,
                code=EXIT_BROKEN,
                why=f"the predicate {name!r} does not work: {answer.fault.rstrip('.')}",
            )
    return None


def verdict(  # noqa: PLR0911 - a case each
    end: End,
    kind: Kind,
    objections: tuple[str, ...],
    *,
    is_spent: bool,
    holds_progress: bool,
    is_damaged: bool = False,
) -> Verdict:
    """Decide after an attempt.

    Args:
        end: How it ended.
        kind: What that means.
        objections: What is against accepting what it left.
        is_spent: Whether no patience is left after it.
        holds_progress: Whether the progress log is at the target, so that the artifact is to blame.
        is_damaged: Whether what it left is damaged, so that no attempt would mend it.

    """
    if not objections and end.why not in {Reason.HEALTH, Reason.PREDICATE}:
        return Verdict(state=State.DONE)
    against = "; ".join(objections)
    if kind is Kind.OPERATOR:
        return Verdict(state=State.STOPPED, code=code_of_end(end, kind), why="stopped on request")
    if kind is Kind.PAUSED:
        if end.why is Reason.DISK:
            return Verdict(state=State.WAITING, why="too little free space")
        return Verdict(state=State.PAUSED, code=code_of_end(end, kind), why=_paused(end))
    if kind is Kind.PERMANENT:
        return _permanent(end, kind, against)
    if is_damaged:
        return Verdict(state=State.UNACCEPTABLE, code=EXIT_UNACCEPTABLE, why=against)
    if is_spent:
        if end.is_clean and holds_progress:
            return Verdict(state=State.UNACCEPTABLE, code=EXIT_UNACCEPTABLE, why=against)
        return Verdict(state=State.GAVE_UP, code=EXIT_GAVE_UP, why=f"patience is spent: {against}")
    return Verdict(state=State.WAITING, why=against)


def _paused(end: End) -> str:
    if end.why is Reason.TOTAL_LIMIT:
        return "the time of all attempts is over"
    return end.said.reason if end.said is not None and end.said.reason else "the run paused itself"


def _permanent(end: End, kind: Kind, against: str) -> Verdict:
    if end.why is Reason.HEALTH:
        return Verdict(state=State.GAVE_UP, code=EXIT_GAVE_UP, why="a health check failed")
    if end.is_clean:
        # It came to its end, and the target is not there: trying again would change nothing.
        return Verdict(state=State.UNACCEPTABLE, code=EXIT_UNACCEPTABLE, why=against)
    return Verdict(
        state=State.FAILED,
        code=code_of_end(end, kind),
        why=f"{told(end)}; trying again would change nothing",
    )
