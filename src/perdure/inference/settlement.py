"""What an attempt cost: a table for failures, arithmetic for replies. From values to values.

What was sent and cannot be shown to be free is charged: what the endpoint reports, or else the
most that it may have cost.
"""

from __future__ import annotations

from enum import StrEnum

from perdure.base.money import price_tokens
from perdure.records.journal import Settled
from perdure.records.record import Record
from perdure.records.request import Attempt, Failure, FailureCause, Reply, Vectors
from perdure.records.usage import CostSource, Price, Usage

FREE_PROVIDERS = frozenset({"baseline", "local", "scripted"})


class Tariff(Record):
    """What the calls of a role are charged at. A bound is the most that they may cost."""

    price: Price
    is_bound: bool = False


FREE = Tariff(price=Price(input_fresh=0, output=0))


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


def tariff_for(provider: str, price: Price | None, bound: Price | None) -> Tariff | None:
    """Choose a role's tariff: its price, else its bound, else zero for what runs here; or none."""
    if price is not None:
        return Tariff(price=price)
    if bound is not None:
        return Tariff(price=bound, is_bound=True)
    return FREE if provider in FREE_PROVIDERS else None


# Failures of attempts that never left this machine: they are no call to anybody.
UNSENT = frozenset({FailureCause.QUEUE_FULL, FailureCause.STOPPED})


def settle(outcome: Reply | Vectors | Failure, worst: Usage, tariff: Tariff | None) -> Settled:
    """Decide what an attempt is charged, from its outcome and what it may have used at most."""
    usage = outcome.usage
    is_free = tariff == FREE or (
        isinstance(outcome, Failure) and SETTLEMENT[outcome.cause] is Settlement.RELEASED
    )
    if usage is None and is_free:
        return Settled(outcome=outcome, amount=0, source=CostSource.PRICE_TABLE)
    charged = worst if usage is None else None
    if tariff is None:
        return Settled(outcome=outcome, charged=charged)
    is_estimate = tariff.is_bound or charged is not None
    return Settled(
        outcome=outcome,
        amount=amount_of(charged or usage or worst, tariff.price),
        source=CostSource.ESTIMATE if is_estimate else CostSource.PRICE_TABLE,
        charged=charged,
    )


def attempt_of(settled: Settled, worst: Usage) -> Attempt:
    """Give an attempt as it enters a record. `worst` is what it was thought to use at most."""
    outcome = settled.outcome
    usage = outcome.usage
    return Attempt(
        failed=outcome.cause if isinstance(outcome, Failure) else None,
        status=outcome.status if isinstance(outcome, Failure) else 0,
        served=outcome.served,
        usage=usage,
        amount=settled.amount,
        source=settled.source,
        usage_impossible=outcome.usage_impossible,
        charged=settled.charged,
        above_reservation=usage is not None and is_above(usage, worst),
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


def amount_of(usage: Usage, price: Price) -> int:
    """Price a usage, in nano-units.

    A kind of cached token without a price of its own costs what fresh input costs.
    """
    fresh = price.input_fresh
    amount = price_tokens(usage.input_fresh, fresh) + price_tokens(usage.output, price.output)
    if usage.cache_read:
        rate = fresh if price.cache_read is None else price.cache_read
        amount += price_tokens(usage.cache_read, rate)
    if usage.cache_write:
        rate = fresh if price.cache_write is None else price.cache_write
        amount += price_tokens(usage.cache_write, rate)
    return amount
