"""Teaching estimates from single calls and from the costs of ticks, as a record has them."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.records.events import Cost
from perdure.records.request import Attempt
from perdure.runner.estimates import Estimates, calls_seen


def cost_of_attempt(
    role: str, model: str, purpose: str, number: int, attempt: Attempt | Cost
) -> Cost:
    """Make the cost event of one attempt."""
    return Cost(
        job=0,
        purpose=purpose,
        ordinal=0,
        attempt=number,
        role=role,
        model=model,
        source=attempt.source,
        amount=attempt.amount,
        usage=attempt.usage,
        failed=attempt.failed,
        usage_impossible=attempt.usage_impossible,
        charged=attempt.charged,
    )


def learn(
    estimates: Estimates, role: str, model: str, purpose: str, attempts: Iterable[Attempt | Cost]
) -> None:
    """Teach one call, by its attempts."""
    learn_tick(
        estimates,
        [
            cost_of_attempt(role, model, purpose, number, attempt)
            for number, attempt in enumerate(attempts)
        ],
    )


def learn_tick(estimates: Estimates, costs: Iterable[Cost]) -> None:
    """Teach the costs of one tick of one world."""
    for seen in calls_seen(costs):
        estimates.learn(seen)
