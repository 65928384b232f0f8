"""That the ceiling yields to rate limits alone, and that no minute sees more than its rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.limits import Ceiling, Rate


def test_the_ceiling_halves_once_per_flight() -> None:
    """Fifty calls of one flight that are all turned away lower the ceiling once."""
    ceiling = Ceiling(64)
    flight = ceiling.generation
    for _ in range(50):
        ceiling.turned_away(flight)
    assert ceiling.limit == 32
    ceiling.turned_away(ceiling.generation)
    assert ceiling.limit == 16


def test_the_ceiling_never_falls_below_one_and_regrows_to_its_maximum() -> None:
    """It keeps one call going, and grows by one per as many successes as it is high."""
    ceiling = Ceiling(4)
    for _ in range(10):
        ceiling.turned_away(ceiling.generation)
    assert ceiling.limit == 1
    heights = []
    for _ in range(1 + 2 + 3 + 10):
        ceiling.answered()
        heights.append(ceiling.limit)
    assert heights[:6] == [2, 2, 3, 3, 3, 4]
    assert set(heights[6:]) == {4}


@pytest.mark.parametrize("maximum", [-3, 0, 1])
def test_a_ceiling_is_at_least_one(maximum: int) -> None:
    """No configuration makes a run stand still."""
    assert Ceiling(maximum).limit == 1


@given(
    per_minute=st.integers(1, 5000),
    gaps=st.lists(st.floats(0, 30), min_size=1, max_size=200),
)
def test_no_minute_sees_more_than_the_rate(per_minute: int, gaps: list[float]) -> None:
    """However calls arrive, any window of a minute holds at most the limit."""
    rate = Rate(per_minute, 0.0)
    now, sent = 0.0, []
    for gap in gaps:
        now += gap
        sent.append(now + rate.take(1, now))
    for start in sent:
        assert sum(start <= at < start + 59.999 for at in sent) <= per_minute


def test_a_rate_serves_a_backlog_at_an_even_pace() -> None:
    """A thousand calls at once leave one after another, as fast as the rate allows."""
    rate = Rate(600, 0.0)
    waits = [rate.take(1, 0.0) for _ in range(1000)]
    assert waits == sorted(waits)
    assert waits[59] == 0.0
    assert waits[-1] == pytest.approx(940 / 9.0)


def test_what_was_not_used_is_given_back_and_what_was_used_beyond_is_taken() -> None:
    """The estimate of a call is corrected by what it really used."""
    rate = Rate(6000, 0.0)
    assert rate.take(600, 0.0) == 0.0
    rate.give_back(500, 0.0)
    assert rate.take(500, 0.0) == 0.0
    rate.give_back(-90, 0.0)
    assert rate.take(0, 0.0) == pytest.approx(1.0)


def test_a_clock_that_goes_back_gives_nothing() -> None:
    """An instant before the last one neither fills a bucket nor breaks it."""
    rate = Rate(60, 100.0)
    rate.take(6, 100.0)
    before = rate.take(0, 100.0)
    assert rate.take(0, 40.0) == before
    assert rate.take(1, 100.0) == pytest.approx(1 / 0.9)
