"""One persona's answer to a question, and how many of each kind there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from perdure.records.outcome import TurnFailureCause, UnscorableCause
from perdure.records.record import Record
from perdure.records.request import FailureCause


class Answer(Record):
    """What became of one question put to one persona.

    Exactly one holds: `choice` is set (scored), `unscorable` is set (answered in words that have
    no score), `failed` is set (the turn was not taken; `call` says which call failure it was), or
    none of them (answered, and no score is on record).
    """

    choice: str = ""
    unscorable: UnscorableCause | None = None
    failed: TurnFailureCause | None = None
    call: FailureCause | None = None


class Tally(Record):
    """How many were asked, and what became of it: asked = answered + failed, by cause.

    answered = scored + unscorable, by cause, + `unjudged`, which have no score on record.
    """

    asked: int
    answered: int
    scored: int
    unscorable: dict[str, int]
    failed: dict[str, int]
    unjudged: int


def failure_name(answer: Answer) -> str:
    """Name the cause of a failed turn: the call's own cause where a call was at fault."""
    if answer.failed is None:
        return ""
    return f"{answer.failed}: {answer.call}" if answer.call else str(answer.failed)


def tally(answers: Iterable[Answer]) -> Tally:
    """Count answers by what became of them."""
    asked = scored = unjudged = 0
    unscorable: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for answer in answers:
        asked += 1
        if answer.failed is not None:
            failed[failure_name(answer)] += 1
        elif answer.unscorable is not None:
            unscorable[str(answer.unscorable)] += 1
        elif answer.choice:
            scored += 1
        else:
            unjudged += 1
    return Tally(
        asked=asked,
        answered=asked - failed.total(),
        scored=scored,
        unscorable=dict(sorted(unscorable.items())),
        failed=dict(sorted(failed.items())),
        unjudged=unjudged,
    )
