"""That what an attempt cost is known exactly, or said to be unknown; never taken for zero."""

from __future__ import annotations

import pytest

from perdure.inference.settlement import BILLED, FREE, amount_of, price_for, settle
from perdure.records.request import Failure, FailureCause, Reply, Vectors
from perdure.records.usage import CostSource, Price, Usage

PRICE = Price(input_fresh=3_000_000_000, output=15_000_000_000, cache_read=300_000_000)
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


def test_the_four_counts_are_priced_apart_and_rounded_up() -> None:
    """Each kind of token has its own price; a cached one without a price costs as fresh input."""
    written = 10 * 3_000
    assert amount_of(USAGE, PRICE) == 100 * 3_000 + 1000 * 300 + written + 20 * 15_000
    assert amount_of(Usage(input_fresh=1), Price(input_fresh=1, output=0)) == 1


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


@pytest.mark.parametrize("provider", ["baseline", "local", "scripted"])
def test_what_runs_here_is_free(provider: str) -> None:
    """Models on this machine cost zero by the price table, failures included."""
    price = price_for(provider, None)
    assert price == FREE
    for outcome in (
        Reply(text="a", served="m"),
        Vectors(vectors=((1.0,),), served="m"),
        Failure(cause=FailureCause.TIMEOUT),
    ):
        attempt = settle(outcome, price)
        assert (attempt.amount, attempt.source) == (0, CostSource.PRICE_TABLE)


def test_an_endpoint_without_a_price_is_not_free() -> None:
    """Only a study's own price makes a remote model's cost known."""
    assert price_for("http", None) is None
    assert price_for("http", PRICE) == PRICE
    assert price_for("local", PRICE) == PRICE
