"""What an attempt cost: a table for failures, arithmetic for replies. From values to values."""

from __future__ import annotations

from perdure.records.request import Attempt, Failure, FailureCause, Reply, Vectors
from perdure.records.usage import CostSource, Price, Usage
from perdure.study.pricing import amount_of, is_free, most_for

# Whether a failed attempt can have been billed. What is not known to be free is unknown.
BILLED: dict[FailureCause, bool] = {
    FailureCause.TIMEOUT: True,
    FailureCause.CONNECT: False,
    FailureCause.TRANSPORT: True,
    FailureCause.RATE_LIMITED: False,
    FailureCause.SERVER_ERROR: True,
    FailureCause.REJECTED: False,
    FailureCause.BAD_REPLY: True,
    FailureCause.REPLY_TOO_LARGE: True,
    FailureCause.WRONG_MODEL: True,
    FailureCause.KEY_REFUSED: False,
    FailureCause.MODEL_UNKNOWN: False,
    FailureCause.OUT_OF_MONEY: False,
    FailureCause.QUEUE_FULL: False,
    FailureCause.UNSUPPORTED: False,
    FailureCause.FACTS_MISSING: False,
}


def settle(outcome: Reply | Vectors | Failure, price: Price | None) -> Attempt:
    """Turn the outcome of one attempt into its record, with what it cost.

    What the provider itself says that a call cost comes before any price.
    """
    if isinstance(outcome, Failure):
        amount = 0 if is_free(price) or not BILLED[outcome.cause] else None
        return Attempt(
            failed=outcome.cause,
            status=outcome.status,
            served=outcome.served,
            amount=amount,
            source=_source(amount, price),
        )
    amount, source = outcome.billed, CostSource.PROVIDER
    if amount is None:
        amount = amount_of(outcome.usage, price)
        source = _source(amount, price)
    return Attempt(
        served=outcome.served,
        usage=outcome.usage,
        amount=amount,
        source=source,
        usage_impossible=outcome.usage_impossible,
    )


def worst_amount(worst: Usage, price: Price | None) -> tuple[int | None, CostSource]:
    """Price the most that a call may use: what a call is charged that was sent and then lost."""
    amount = most_for(worst, price)
    return amount, _source(amount, price)


def _source(amount: int | None, price: Price | None) -> CostSource:
    if amount is None:
        return CostSource.UNKNOWN
    bounded = amount > 0 and price is not None and price.is_bound
    return CostSource.ESTIMATE if bounded else CostSource.PRICE_TABLE
