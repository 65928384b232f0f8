"""When a tick may close: enough of its jobs got a reply. Pure.

A refusal, an unscorable answer or a guardrail violation is a reply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from perdure.records.outcome import Outcome, TurnFailed
from perdure.records.record import Record
from perdure.records.request import CallResult


class Shortfall(Record):
    """Too few replies: how many jobs there were, how many got none, and why."""

    jobs: int
    unanswered: int
    causes: dict[str, int]


def unanswered(turns: Iterable[tuple[Outcome, Sequence[CallResult]]]) -> list[str]:
    """List, for every turn that is without any reply, why.

    That is a turn whose calls were all without an answer, whatever the agent made of it, and a
    turn that failed without one. An agent that answers without a model has answered.
    """
    causes: list[str] = []
    for outcome, calls in turns:
        if any(call.answer is not None for call in calls):
            continue
        if calls:
            causes.append(str(calls[-1].failed))
        elif isinstance(outcome, TurnFailed):
            causes.append(str(outcome.cause))
    return causes


def shortfall(jobs: int, causes: Sequence[str], quorum: float) -> Shortfall | None:
    """Judge a tick: None if it may close."""
    if not causes or len(causes) <= (1.0 - quorum) * jobs + 1e-9:
        return None
    return Shortfall(jobs=jobs, unanswered=len(causes), causes=dict(Counter(causes)))
