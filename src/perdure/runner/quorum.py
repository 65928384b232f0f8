"""When a tick may close: enough of its jobs got a reply. Pure.

A refusal, an unscorable answer or a guardrail violation is a reply. Answers that are rated by their
likeness need vectors too, and a tick that got too few of those does not close either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from perdure.records.outcome import Outcome, Scored, TurnFailed, UnscorableCause
from perdure.records.record import Record
from perdure.records.request import CallResult, Reply


class Shortfall(Record):
    """Too few replies: how many jobs there were, how many got none, and why."""

    jobs: int
    unanswered: int
    causes: dict[str, int]


def unanswered(turns: Iterable[tuple[Outcome, Sequence[CallResult]]]) -> list[str]:
    """List, for every turn that is without any reply, why.

    That is a turn that called a model and had no reply of one, whatever the agent made of it, and
    a turn that failed without one; and a turn with tools that was cut by a failed call. Vectors
    are no reply: they only prepare one. An agent that answers without asking a model for a reply
    has answered.
    """
    causes: list[str] = []
    for outcome, calls in turns:
        has_reply = any(isinstance(call.answer, Reply) for call in calls)
        if has_reply and not _was_cut(outcome):
            continue
        failed = [str(call.failed) for call in calls if call.failed is not None]
        if failed:
            causes.append(failed[-1])
        elif isinstance(outcome, TurnFailed):
            causes.append(str(outcome.cause))
    return causes


def _was_cut(outcome: Outcome) -> bool:
    return (
        isinstance(outcome, TurnFailed) and outcome.drive is not None and outcome.call is not None
    )


def unrated(rated: Mapping[int, Scored], calls: Sequence[tuple[str, CallResult]]) -> list[str]:
    """List, for every answer that could not be rated for want of vectors, why.

    `calls` are those for vectors, each with its role. Vectors that came and mean nothing are no
    fault of theirs.
    """
    failed = [str(call.failed) for _, call in calls if call.failed is not None]
    without = [one for one in rated.values() if one.unscorable is UnscorableCause.NOT_EMBEDDED]
    return [failed[-1]] * len(without) if failed else []


def shortfall(jobs: int, causes: Sequence[str], quorum: float) -> Shortfall | None:
    """Judge a tick: None if it may close."""
    if not causes or len(causes) <= (1.0 - quorum) * jobs + 1e-9:
        return None
    return Shortfall(jobs=jobs, unanswered=len(causes), causes=dict(Counter(causes)))
