"""Heat weighs votes against age in ticks, and a lazy shuffle is a fair one."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.base.chance import Stream
from perdure.world.ranking import heat, shuffled


@given(votes=st.integers(1, 10**6), tick=st.integers(0, 10**4), decay=st.floats(0.1, 1_000))
def test_ten_times_the_votes_make_up_for_decay_ticks(votes: int, tick: int, decay: float) -> None:
    """Votes weigh by their logarithm, so that age is made up for by a factor and not a number.

    One more is counted than there are, so that the first one counts.
    """
    older = heat((votes + 1) * 10 - 1, tick, decay)
    assert older == pytest.approx(heat(votes, tick, decay) + 1, abs=1e-6)
    assert math.isclose(
        heat(votes, tick, decay) + 1 / decay, heat(votes, tick + 1, decay), abs_tol=1e-6
    )


def test_votes_against_a_message_cool_it() -> None:
    """Against is as cold as for is hot, from the first vote on."""
    one = round(math.log10(2), 9)
    assert [heat(votes, 0, 1.0) for votes in (-99, -1, 0, 1, 99)] == [-2, -one, 0, one, 2]


@given(count=st.integers(0, 60), seed=st.integers(0, 10**6))
def test_a_shuffle_is_a_permutation(count: int, seed: int) -> None:
    """Every number comes once."""
    assert sorted(shuffled(Stream(str(seed), 0, "test"), count)) == list(range(count))


def test_every_number_is_first_and_second_equally_often() -> None:
    """No place is preferred, even if only the first few numbers are taken."""
    pairs: Counter[tuple[int, int]] = Counter()
    for seed in range(6_000):
        order = shuffled(Stream(str(seed), 0, "test"), 4)
        pairs[next(order), next(order)] += 1
    assert len(pairs) == 12
    assert all(400 < count < 600 for count in pairs.values())


def test_a_few_of_many_take_few_draws() -> None:
    """Taking three of a million draws three numbers."""
    stream = Stream("0", 0, "test")
    drawn = 0

    class Counting(Stream):
        def below(self, bound: int) -> int:
            nonlocal drawn
            drawn += 1
            return stream.below(bound)

    order = shuffled(Counting("0", 0, "test"), 1_000_000)
    assert len({next(order) for _ in range(3)}) == 3
    assert drawn == 3
