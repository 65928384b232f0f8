"""That what is asked is bounded before it is sent, and that a bound that was broken is raised."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.offer import Bounds, Offer, worst_case
from perdure.inference.reservations import Amounts
from perdure.inference.settlement import input_of
from perdure.records.request import ChatRequest, EmbedRequest, Message
from perdure.records.usage import Price, Usage
from perdure.study.pricing import FREE

PRICE = Price(input_fresh=1_000_000, output=2_000_000)
CHAT = ChatRequest(
    role="tier_a", messages=(Message(role="user", content="h\u00e9llo"),), tokens_max=70
)
TEXTS = EmbedRequest(role="embed", texts=("ab", "c"))
COUNT = st.integers(0, 10_000)


def test_a_worst_case_bounds_what_is_asked() -> None:
    """A token is at least a byte; embeddings say nothing."""
    assert worst_case(CHAT) == Usage(input_fresh=6 + 32, output=70)
    assert worst_case(TEXTS) == Usage(input_fresh=3 + 48)


def test_an_offer_reserves_money_tokens_and_one_call() -> None:
    """Without a price there is no money to reserve; what is free reserves nothing but its call."""
    worst = worst_case(CHAT)

    def reserved(price: Price | None) -> Amounts:
        return Offer(request=CHAT, worst=worst, price=price).reserved

    assert reserved(PRICE) == Amounts(money=38 + 140, calls=1, tokens=108)
    assert reserved(None) == Amounts(calls=1, tokens=108, unknown=1)
    assert reserved(FREE) == Amounts(calls=1)


@given(st.lists(st.tuples(COUNT, COUNT, st.none() | COUNT), min_size=1, max_size=20))
def test_a_bound_that_was_broken_holds_from_then_on(
    reports: list[tuple[int, int, int | None]],
) -> None:
    """The same request is never above its worst case twice, and not far from what was reported.

    However many calls that were offered the same come back together. Other roles keep theirs.
    """
    bounds, first = Bounds(), Bounds().offer(CHAT, PRICE)
    for used_in, used_out, amount in reports:
        bounds.learn(first, Usage(cache_read=used_in, output=used_out), amount)
    raised = bounds.offer(CHAT, PRICE)
    most_in = max(input_of(first.worst), *(used for used, _, _ in reports))
    most_out = max(first.worst.output, *(used for _, used, _ in reports))
    assert most_in <= input_of(raised.worst) <= most_in + input_of(first.worst) / 4 + 1
    assert most_out <= raised.worst.output <= most_out + first.worst.output / 4 + 1
    assert raised.worst_amount is not None
    assert raised.worst_amount >= max((amount or 0 for _, _, amount in reports), default=0)
    other = ChatRequest(role="b", messages=CHAT.messages, tokens_max=CHAT.tokens_max)
    assert bounds.offer(other, PRICE).worst == first.worst
    assert bounds.version <= len(reports)


def test_what_is_said_to_cost_more_is_reserved_at_that() -> None:
    """A provider that names a price of its own raises the bound by that, not by tokens."""
    bounds, first = Bounds(), Bounds().offer(CHAT, PRICE)
    for _ in range(3):
        bounds.learn(first, first.worst, 1_000)
    raised = bounds.offer(CHAT, PRICE)
    assert raised.worst == first.worst
    assert raised.worst_amount is not None
    assert 1_000 <= raised.worst_amount <= 1_000 + (first.worst_amount or 0) / 4 + 1
    assert bounds.version == 1
