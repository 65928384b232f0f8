"""Proves that tokens are priced exactly, that a bound is one, and that nothing unknown is zero."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.records.scenario import ModelPin
from perdure.records.study import ModelSpec
from perdure.records.usage import Price, PriceTier, Usage
from perdure.study.pricing import FREE, amount_of, is_free, most_for, price_for, price_of

PRICE = Price(input_fresh=3_000_000_000, output=15_000_000_000, cache_read=300_000_000)
USAGE = Usage(input_fresh=100, cache_write=10, cache_read=1000, output=20)
TIERED = Price(
    input_fresh=1_250_000_000,
    output=10_000_000_000,
    cache_read=125_000_000,
    tiers=(
        PriceTier(over=200_000, input_fresh=2_500_000_000, output=15_000_000_000),
        PriceTier(over=500_000, input_fresh=4_000_000_000, output=9_000_000_000),
    ),
)


def test_the_four_counts_are_priced_apart() -> None:
    """Each kind of token has its own price; a cached one without a price costs as fresh input."""
    written = 10 * 3_000
    assert amount_of(USAGE, PRICE) == 100 * 3_000 + 1000 * 300 + written + 20 * 15_000


def test_a_call_is_rounded_up_once() -> None:
    """Parts of a nano-unit are added before anything is rounded, and then never down."""
    third = Price(input_fresh=400_000, output=400_000, cache_read=400_000)
    assert amount_of(Usage(input_fresh=1, cache_read=1, output=1), third) == 2  # 1.2
    assert amount_of(Usage(input_fresh=1), Price(input_fresh=1, output=0)) == 1


@pytest.mark.parametrize(
    ("fresh", "read", "output", "by_hand"),
    [
        # At the threshold the lower rates still hold, for every token.
        (150_000, 50_000, 100, 150_000 * 1_250 + 50_000 * 125 + 100 * 10_000),
        # One token more, cached ones counted, and all of them have the next tier's rates.
        (150_001, 50_000, 100, 200_001 * 2_500 + 100 * 15_000),
        (500_001, 0, 1, 500_001 * 4_000 + 9_000),
    ],
)
def test_a_large_input_has_the_rates_of_its_tier(
    fresh: int, read: int, output: int, by_hand: int
) -> None:
    """A tier is chosen by the whole input and holds for all of it; its cache has its own rate."""
    assert amount_of(Usage(input_fresh=fresh, cache_read=read, output=output), TIERED) == by_hand


@pytest.mark.parametrize(
    ("usage", "price"),
    [(None, PRICE), (USAGE, None), (Usage(input_fresh=1, beyond_tokens=True), PRICE)],
)
def test_what_is_not_known_has_no_amount(usage: Usage | None, price: Price | None) -> None:
    """No usage, no price, or something beside tokens: nobody knows what it cost."""
    assert amount_of(usage, price) is None


def test_a_price_of_zero_is_free_however_it_is_written() -> None:
    """A free model costs nothing, even for a call that does not say what it used."""
    nothing = Price(input_fresh=0, output=0, cache_read=0, cache_write=0)
    assert is_free(FREE)
    assert is_free(nothing)
    assert amount_of(None, nothing) == 0
    assert most_for(Usage(input_fresh=5, output=5), nothing) == 0
    assert not is_free(None)
    assert not is_free(Price(input_fresh=0, output=0, cache_write=1))


RATES = st.integers(0, 10**12)
MAYBE = st.none() | RATES
PRICES = st.builds(
    Price,
    input_fresh=RATES,
    output=RATES,
    cache_read=MAYBE,
    cache_write=MAYBE,
    tiers=st.lists(
        st.builds(
            PriceTier,
            over=st.integers(0, 300),
            input_fresh=RATES,
            output=RATES,
            cache_read=MAYBE,
            cache_write=MAYBE,
        ),
        max_size=3,
    ).map(lambda tiers: tuple(sorted(tiers, key=lambda tier: tier.over))),
)
COUNTS = st.integers(0, 200)
USAGES = st.builds(Usage, input_fresh=COUNTS, cache_write=COUNTS, cache_read=COUNTS, output=COUNTS)


@given(usage=USAGES, price=PRICES, more_in=COUNTS, more_out=COUNTS)
def test_no_call_costs_more_than_the_most_for_its_size(
    usage: Usage, price: Price, more_in: int, more_out: int
) -> None:
    """A reservation covers every split of its tokens into kinds, and every smaller call."""
    tokens = usage.input_fresh + usage.cache_write + usage.cache_read
    worst = Usage(input_fresh=tokens + more_in, output=usage.output + more_out)
    amount, most = amount_of(usage, price), most_for(worst, price)
    assert amount is not None
    assert most is not None
    assert amount <= most


@given(usage=USAGES, price=PRICES)
def test_an_amount_is_the_exact_one_rounded_up(usage: Usage, price: Price) -> None:
    """Against exact fractions: less than one nano-unit above, and never below."""
    tokens = usage.input_fresh + usage.cache_write + usage.cache_read
    reached = [tier for tier in price.tiers if tokens > tier.over]
    rates: Price | PriceTier = reached[-1] if reached else price
    exact = sum(
        (
            Fraction(count * (rates.input_fresh if rate is None else rate), 1_000_000)
            for count, rate in (
                (usage.input_fresh, rates.input_fresh),
                (usage.cache_write, rates.cache_write),
                (usage.cache_read, rates.cache_read),
                (usage.output, rates.output),
            )
        ),
        start=Fraction(0),
    )
    amount = amount_of(usage, price)
    assert amount is not None
    assert exact <= amount < exact + 1


@pytest.mark.parametrize("provider", ["baseline", "local", "scripted"])
def test_what_runs_here_is_free(provider: str) -> None:
    """Models on this machine cost nothing, unless a study says what they cost."""
    assert price_for(provider, None) == FREE
    assert price_for(provider, PRICE) == PRICE


def test_an_endpoint_without_a_price_is_not_free() -> None:
    """Only a price, or a bound on one, makes a remote model's cost known."""
    pin = ModelPin(provider="http", model="m")
    assert price_of(ModelSpec(pin=pin)) is None
    assert price_of(ModelSpec(pin=pin, price=PRICE)) == PRICE
    bounded = price_of(ModelSpec(pin=pin, price_bound=PRICE))
    assert bounded is not None
    assert bounded.is_bound
    assert bounded.output == PRICE.output
