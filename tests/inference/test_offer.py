"""That what is asked is bounded before it is sent, and that a bound that was broken is raised."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.offer import Bounds, Offer, worst_case
from perdure.inference.reservations import Amounts
from perdure.inference.settlement import input_of, is_above
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


@given(COUNT, COUNT, COUNT, COUNT)
def test_a_bound_that_was_broken_holds_from_then_on(
    given_in: int, given_out: int, used_in: int, used_out: int
) -> None:
    """The same request is never above its worst case twice; other roles keep theirs."""
    bounds = Bounds()
    worst = Usage(input_fresh=given_in, output=given_out)
    used = Usage(cache_read=used_in, output=used_out)
    if not is_above(used, worst):
        assert bounds.raised("a", worst) == worst
        return
    bounds.learn("a", worst, used)
    raised = bounds.raised("a", worst)
    assert input_of(raised) >= input_of(worst)
    assert not is_above(used, raised) or 0 in {given_in, given_out}
    assert bounds.raised("b", worst) == worst
