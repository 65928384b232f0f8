"""That an attempt is charged what it cost, or the most that it may have cost; never too little."""

from __future__ import annotations

import msgspec
import pytest

from perdure.inference.settlement import (
    SETTLEMENT,
    Settlement,
    attempt_of,
    settle,
    tokens_charged,
    tokens_of,
)
from perdure.records.request import Failure, FailureCause, Reply, Vectors
from perdure.records.usage import CostSource, Price, Usage
from perdure.study.pricing import amount_of, most_for, price_for

PRICE = Price(input_fresh=3_000_000_000, output=15_000_000_000, cache_read=300_000_000)
WORST = Usage(input_fresh=2_000, output=50)
USAGE = Usage(input_fresh=100, cache_write=10, cache_read=1000, output=20)


def test_every_cause_is_in_the_table() -> None:
    """A new cause of failure cannot be added without saying how it is settled."""
    assert set(SETTLEMENT) == set(FailureCause)


@pytest.mark.parametrize("cause", FailureCause)
def test_a_failure_is_released_or_charged_in_full(cause: FailureCause) -> None:
    """P5: what may have been billed is charged at its worst case; what cannot have been, is not."""
    settled = settle(Failure(cause=cause, status=418, served="x"), WORST, PRICE)
    attempt = attempt_of(settled, WORST, most_for(WORST, PRICE))
    assert (attempt.failed, attempt.status, attempt.served) == (cause, 418, "x")
    assert attempt.usage is None
    if SETTLEMENT[cause] is Settlement.IN_FULL:
        assert (attempt.amount, attempt.charged) == (most_for(WORST, PRICE), WORST)
        assert attempt.source is CostSource.ESTIMATE
    else:
        assert (attempt.amount, attempt.charged) == (0, None)
        assert attempt.source is CostSource.PRICE_TABLE


@pytest.mark.parametrize("cause", FailureCause)
def test_a_failure_that_reports_usage_is_charged_it(cause: FailureCause) -> None:
    """Whatever the table says: the endpoint says that it billed this much."""
    settled = settle(Failure(cause=cause, usage=USAGE), WORST, PRICE)
    assert (settled.amount, settled.charged) == (amount_of(USAGE, PRICE), None)
    assert settled.source is CostSource.PRICE_TABLE


def test_a_reply_without_usage_is_charged_in_full() -> None:
    """Nobody knows what it used, so it is charged what it may have used; it is an estimate."""
    for reply in (Reply(text="a", served="m"), Reply(text="a", served="m", usage_impossible=True)):
        attempt = attempt_of(settle(reply, WORST, PRICE), WORST, most_for(WORST, PRICE))
        assert (attempt.amount, attempt.charged) == (most_for(WORST, PRICE), WORST)
        assert attempt.source is CostSource.ESTIMATE
        assert attempt.usage_impossible is reply.usage_impossible
        assert tokens_charged(settle(reply, WORST, PRICE)) == tokens_of(WORST)


def test_without_a_tariff_an_amount_is_unknown() -> None:
    """An unknown amount is absent; its tokens are counted all the same."""
    for usage in (None, USAGE):
        settled = settle(Reply(text="a", served="m", usage=usage), WORST, None)
        assert (settled.amount, settled.source) == (None, CostSource.UNKNOWN)
        assert tokens_charged(settled) == tokens_of(usage or WORST)


def test_what_is_charged_at_a_bound_is_an_estimate() -> None:
    """The bound of a price gives an amount, and says that it is not the price."""
    bound = msgspec.structs.replace(PRICE, is_bound=True)
    settled = settle(Reply(text="a", served="m", usage=USAGE), WORST, bound)
    assert (settled.amount, settled.source) == (amount_of(USAGE, PRICE), CostSource.ESTIMATE)


@pytest.mark.parametrize(
    ("usage", "above"),
    [
        (WORST, False),
        (Usage(cache_read=2_000, output=50), False),
        (Usage(cache_read=1, input_fresh=2_000), True),
        (Usage(output=51), True),
    ],
)
def test_more_than_the_worst_case_is_charged_and_marked(usage: Usage, *, above: bool) -> None:
    """P5: what a provider reports above a reservation counts as reported, and is shown."""
    attempt = attempt_of(
        settle(Reply(text="a", served="m", usage=usage), WORST, PRICE),
        WORST,
        most_for(WORST, PRICE),
    )
    assert attempt.amount == amount_of(usage, PRICE)
    assert attempt.above_reservation is above


@pytest.mark.parametrize("provider", ["baseline", "local", "scripted"])
def test_what_runs_here_is_free(provider: str) -> None:
    """Models on this machine cost zero by the price table, failures included."""
    price = price_for(provider, None)
    for outcome in (
        Reply(text="a", served="m"),
        Vectors(vectors=((1.0,),), served="m"),
        Failure(cause=FailureCause.TIMEOUT),
    ):
        settled = settle(outcome, WORST, price)
        assert (settled.amount, settled.source) == (0, CostSource.PRICE_TABLE)
        assert settled.charged is None


def test_what_the_provider_says_comes_first() -> None:
    """An amount that the provider states is the cost, whatever a table makes of the usage."""
    reply = Reply(text="a", served="m", usage=USAGE, billed=7)
    settled = settle(reply, WORST, PRICE)
    assert (settled.amount, settled.source, settled.charged) == (7, CostSource.PROVIDER, None)
    dear = settle(msgspec.structs.replace(reply, billed=10**12), WORST, PRICE)
    assert attempt_of(dear, WORST, most_for(WORST, PRICE)).above_reservation


def test_what_tokens_do_not_tell_is_charged_in_full() -> None:
    """A search or sound has a price of its own: the counts do not say what the call cost."""
    usage = msgspec.structs.replace(USAGE, beyond_tokens=True)
    settled = settle(Reply(text="a", served="m", usage=usage), WORST, PRICE)
    assert (settled.amount, settled.charged) == (most_for(WORST, PRICE), WORST)
    assert settled.source is CostSource.ESTIMATE
