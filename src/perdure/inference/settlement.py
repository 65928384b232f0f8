"""What an attempt cost: a table for failures, arithmetic for replies. From values to values.

What was sent and cannot be shown to be free is charged: what the endpoint reports, or else the
most that it may have cost.
"""

from __future__ import annotations

from enum import StrEnum

from perdure.records.journal import Settled
from perdure.records.request import Attempt, Failure, FailureCause, Reply, Vectors
from perdure.records.usage import CostSource, Price, Usage
from perdure.study.pricing import amount_of, is_free, most_for


class Settlement(StrEnum):
    """What a failed attempt is charged that reports no usage of its own."""

    RELEASED = "released"  # it cannot have been billed
    IN_FULL = "in_full"  # nobody knows: the most that it may have cost


SETTLEMENT: dict[FailureCause, Settlement] = {
    FailureCause.TIMEOUT: Settlement.IN_FULL,
    FailureCause.CONNECT: Settlement.RELEASED,
    FailureCause.TRANSPORT: Settlement.IN_FULL,
    FailureCause.RATE_LIMITED: Settlement.RELEASED,
    FailureCause.SERVER_ERROR: Settlement.IN_FULL,
    FailureCause.REJECTED: Settlement.RELEASED,
    FailureCause.BAD_REPLY: Settlement.IN_FULL,
    FailureCause.REPLY_TOO_LARGE: Settlement.IN_FULL,
    FailureCause.WRONG_MODEL: Settlement.IN_FULL,
    FailureCause.KEY_REFUSED: Settlement.RELEASED,
    FailureCause.MODEL_UNKNOWN: Settlement.RELEASED,
    FailureCause.OUT_OF_MONEY: Settlement.RELEASED,
    FailureCause.QUEUE_FULL: Settlement.RELEASED,
    FailureCause.UNSUPPORTED: Settlement.RELEASED,
    FailureCause.FACTS_MISSING: Settlement.RELEASED,
    FailureCause.STOPPED: Settlement.RELEASED,
}

# Failures of attempts that never left this machine: they are no call to anybody.
UNSENT = frozenset({FailureCause.QUEUE_FULL, FailureCause.STOPPED})


def settle(outcome: Reply | Vectors | Failure, worst: Usage, price: Price | None) -> Settled:
    """Decide what an attempt is charged, from its outcome and what it may have used at most.

    What the provider itself says that a call cost comes before any price.
    """
    usage = outcome.usage
    if not isinstance(outcome, Failure) and outcome.billed is not None:
        return Settled(outcome=outcome, amount=outcome.billed, source=CostSource.PROVIDER)
    is_released = isinstance(outcome, Failure) and (
        SETTLEMENT[outcome.cause] is Settlement.RELEASED
    )
    if is_free(price) or (usage is None and is_released):
        return Settled(outcome=outcome, amount=0, source=CostSource.PRICE_TABLE)
    charged = worst if usage is None or usage.beyond_tokens else None
    if price is None:
        return Settled(outcome=outcome, charged=charged)
    amount = amount_of(usage, price) if charged is None else most_for(charged, price)
    is_estimate = price.is_bound or charged is not None
    return Settled(
        outcome=outcome,
        amount=amount,
        source=CostSource.ESTIMATE if is_estimate else CostSource.PRICE_TABLE,
        charged=charged,
    )


def attempt_of(settled: Settled, worst: Usage, worst_amount: int | None) -> Attempt:
    """Give an attempt as it enters a record.

    `worst` is what it was thought to use at most, and `worst_amount` what that would cost.
    """
    outcome = settled.outcome
    usage = outcome.usage
    above = usage is not None and is_above(usage, worst)
    if worst_amount is not None and settled.amount is not None:
        above = above or settled.amount > worst_amount
    return Attempt(
        failed=outcome.cause if isinstance(outcome, Failure) else None,
        status=outcome.status if isinstance(outcome, Failure) else 0,
        served=outcome.served,
        usage=usage,
        amount=settled.amount,
        source=settled.source,
        usage_impossible=outcome.usage_impossible,
        charged=settled.charged,
        above_reservation=above,
    )


def is_above(usage: Usage, worst: Usage) -> bool:
    """Say whether an attempt used more than it was thought to use at most."""
    return input_of(usage) > input_of(worst) or usage.output > worst.output


def tokens_of(usage: Usage) -> int:
    """Count all tokens, in and out."""
    return input_of(usage) + usage.output


def tokens_charged(settled: Settled) -> int:
    """Count the tokens that an attempt is charged."""
    charged = settled.charged or settled.outcome.usage
    return 0 if charged is None else tokens_of(charged)


def input_of(usage: Usage) -> int:
    """Count the tokens of the input, fresh and cached."""
    return usage.input_fresh + usage.cache_write + usage.cache_read
