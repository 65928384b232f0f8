"""Seeded draws are pinned: these values never change."""

import statistics

import pytest

from perdure.base.chance import Stream

PINNED_WORDS = [
    17370775896130487934,
    953624303067051304,
    5069366681053312700,
    16337007448157558057,
    964785169375185398,
]
PINNED_UNIFORM = 0.9416716482171754
PINNED_NORMAL = -0.3390549599003948
PINNED_BELOW = [0, 2, 5, 1, 4, 3, 4, 1]
PINNED_SHUFFLE = "hbaefcdg"


def stream(index: int | str = 0, purpose: str = "test") -> Stream:
    """Make a stream of a fixed world."""
    return Stream("3f45e1b0c2d4a697", 3, purpose, index)


def test_draws_are_pinned():
    """A study drawn today is drawn the same by every later version."""
    draws = stream()
    assert [draws.uint64() for _ in range(5)] == PINNED_WORDS
    assert stream().uniform() == PINNED_UNIFORM
    assert stream().normal() == PINNED_NORMAL
    assert [stream(i).below(6) for i in range(8)] == PINNED_BELOW
    items = list("abcdefgh")
    stream().shuffle(items)
    assert "".join(items) == PINNED_SHUFFLE


def test_streams_are_independent():
    """Another seed, tick, purpose or index is another stream."""
    firsts = {
        Stream(seed, tick, purpose, index).uint64()
        for seed in ("a", "b")
        for tick in (0, 1)
        for purpose in ("x", "y")
        for index in (0, "0 ", "p")
    }
    assert len(firsts) == 2 * 2 * 2 * 3


def test_uniform_and_normal_have_their_moments():
    """Ten thousand draws have the mean and spread of their distribution."""
    draws = stream()
    uniform = [draws.uniform() for _ in range(10_000)]
    normal = [draws.normal() for _ in range(10_000)]
    assert all(0.0 <= value < 1.0 for value in uniform)
    assert statistics.mean(uniform) == pytest.approx(0.5, abs=0.02)
    assert statistics.mean(normal) == pytest.approx(0.0, abs=0.05)
    assert statistics.stdev(normal) == pytest.approx(1.0, abs=0.05)


def test_a_smaller_sample_is_a_prefix_of_a_larger_one():
    """Drawing fewer gives a nested subset."""
    pool = list(range(100))
    assert stream().sample(pool, 10) == stream().sample(pool, 60)[:10]


def test_below_refuses_an_empty_range():
    """There is nothing to draw below 1."""
    with pytest.raises(ValueError, match="at least 1"):
        stream().below(0)


def test_words_by_the_million_are_pinned():
    """They are those of this stream, one draw of it, and the same on every machine."""
    stream = Stream("a", 1, "b")
    words = stream.many(3)
    assert words.hex() == "a11d65079ad7a5fad7bfa3d730b80c9af109a3aad81cb1d5"
    assert stream.many(3) != words
    assert Stream("a", 1, "b").many(5)[:24] == words
