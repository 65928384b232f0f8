"""When a tick may close: enough of its jobs got a reply. Pure.

A refusal, an unscorable answer or a guardrail violation is a reply. A job that made no call (its
persona could not be conditioned, say) did not go without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from perdure.records.record import Record
from perdure.records.request import CallResult, FailureCause


class Shortfall(Record):
    """Too few replies: how many jobs there were, how many got none, and why."""

    jobs: int
    unanswered: int
    causes: dict[str, int]


def unanswered(calls_by_job: Iterable[Sequence[CallResult]]) -> list[FailureCause]:
    """List, for every job that called and got no reply at all, the cause of its last failure."""
    causes = []
    for calls in calls_by_job:
        if calls and all(call.answer is None for call in calls):
            cause = calls[-1].failed
            assert cause is not None, "a call without an answer has a cause"
            causes.append(cause)
    return causes


def shortfall(jobs: int, causes: Sequence[FailureCause], quorum: float) -> Shortfall | None:
    """Judge a tick: None if it may close."""
    if not causes or len(causes) <= (1.0 - quorum) * jobs + 1e-9:
        return None
    return Shortfall(jobs=jobs, unanswered=len(causes), causes=dict(Counter(causes)))
