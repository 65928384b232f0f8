"""What an attempt cost: a table for failures, arithmetic for replies. From values to values."""

from __future__ import annotations

from perdure.base.money import price_tokens
from perdure.records.request import Attempt, Failure, FailureCause, Reply, Vectors
from perdure.records.usage import CostSource, Price, Usage

FREE_PROVIDERS = frozenset({"baseline", "local", "scripted"})
FREE = Price(input_fresh=0, output=0)

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


def price_for(provider: str, price: Price | None) -> Price | None:
    """Choose the price of a role: the study's, else zero for what runs here, else unknown."""
    if price is None and provider in FREE_PROVIDERS:
        return FREE
    return price


def settle(outcome: Reply | Vectors | Failure, price: Price | None) -> Attempt:
    """Turn the outcome of one attempt into its record, with what it cost."""
    if isinstance(outcome, Failure):
        amount = 0 if price == FREE or not BILLED[outcome.cause] else None
        return Attempt(
            failed=outcome.cause,
            status=outcome.status,
            served=outcome.served,
            amount=amount,
            source=_source(amount),
        )
    amount = amount_of(outcome.usage, price)
    return Attempt(
        served=outcome.served,
        usage=outcome.usage,
        amount=amount,
        source=_source(amount),
        usage_impossible=outcome.usage_impossible,
    )


def amount_of(usage: Usage | None, price: Price | None) -> int | None:
    """Price a usage, in nano-units; None where the usage or the price is unknown.

    A kind of cached token without a price of its own costs what fresh input costs.
    """
    if price == FREE:
        return 0
    if price is None or usage is None:
        return None
    fresh = price.input_fresh
    amount = price_tokens(usage.input_fresh, fresh) + price_tokens(usage.output, price.output)
    if usage.cache_read:
        rate = fresh if price.cache_read is None else price.cache_read
        amount += price_tokens(usage.cache_read, rate)
    if usage.cache_write:
        rate = fresh if price.cache_write is None else price.cache_write
        amount += price_tokens(usage.cache_write, rate)
    return amount


def worst_amount(worst: Usage, price: Price | None) -> tuple[int | None, CostSource]:
    """Price the most that a call may use: what a call is charged that was sent and then lost."""
    amount = amount_of(worst, price)
    return amount, _source(amount)


def _source(amount: int | None) -> CostSource:
    return CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE
