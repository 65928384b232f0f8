"""That what an attempt cost is known exactly, or said to be unknown; never taken for zero."""

from __future__ import annotations

import msgspec
import pytest

from perdure.inference.settlement import BILLED, settle, worst_amount
from perdure.records.request import Failure, FailureCause, Reply, Vectors
from perdure.records.usage import CostSource, Price, Usage
from perdure.study.pricing import FREE

PRICE = Price(input_fresh=3_000_000_000, output=15_000_000_000, cache_read=300_000_000)
BOUND = msgspec.structs.replace(PRICE, is_bound=True)
USAGE = Usage(input_fresh=100, cache_write=10, cache_read=1000, output=20)


def test_every_cause_is_in_the_table() -> None:
    """A new cause of failure cannot be added without saying whether it is billed."""
    assert set(BILLED) == set(FailureCause)


@pytest.mark.parametrize("cause", FailureCause)
def test_a_failure_costs_nothing_or_an_unknown_amount(cause: FailureCause) -> None:
    """A failure that may have been billed has no amount; one that cannot have been has zero."""
    attempt = settle(Failure(cause=cause, status=418, served="x"), PRICE)
    assert (attempt.failed, attempt.status, attempt.served) == (cause, 418, "x")
    assert attempt.amount == (None if BILLED[cause] else 0)
    assert (attempt.source is CostSource.UNKNOWN) is BILLED[cause]


def test_unknown_usage_or_price_is_an_unknown_amount() -> None:
    """Without usage, or without a price, nobody knows what a reply cost."""
    for usage, price in ((None, PRICE), (USAGE, None)):
        attempt = settle(Reply(text="a", served="m", usage=usage), price)
        assert attempt.amount is None
        assert attempt.source is CostSource.UNKNOWN


def test_impossible_usage_is_marked() -> None:
    """A usage that cannot be true leaves its mark on the attempt."""
    attempt = settle(Reply(text="a", served="m", usage_impossible=True), PRICE)
    assert attempt.usage_impossible
    assert attempt.amount is None


def test_what_costs_nothing_costs_nothing_in_any_case() -> None:
    """At a price of zero a call is free, whether it failed or did not say what it used."""
    for outcome in (
        Reply(text="a", served="m"),
        Vectors(vectors=((1.0,),), served="m"),
        Failure(cause=FailureCause.TIMEOUT),
    ):
        attempt = settle(outcome, FREE)
        assert (attempt.amount, attempt.source) == (0, CostSource.PRICE_TABLE)


def test_what_a_provider_states_comes_before_any_price() -> None:
    """A stated cost is what was paid, even where no price is known or usage is missing."""
    for price in (PRICE, BOUND, None):
        for outcome in (
            Reply(text="a", served="m", usage=USAGE, billed=7),
            Vectors(vectors=((1.0,),), served="m", billed=7),
        ):
            attempt = settle(outcome, price)
            assert (attempt.amount, attempt.source) == (7, CostSource.PROVIDER)


def test_an_amount_at_a_bound_is_an_estimate() -> None:
    """What is known to cost at most so much is counted as that, and said to be estimated."""
    exact = settle(Reply(text="a", served="m", usage=USAGE), PRICE)
    bounded = settle(Reply(text="a", served="m", usage=USAGE), BOUND)
    assert bounded.amount == exact.amount
    assert (exact.source, bounded.source) == (CostSource.PRICE_TABLE, CostSource.ESTIMATE)
    assert worst_amount(USAGE, BOUND)[1] is CostSource.ESTIMATE
    assert worst_amount(USAGE, None) == (None, CostSource.UNKNOWN)
