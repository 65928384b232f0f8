"""The divergence of communities: by hand, at its ends, and how often chance is taken for it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from perdure.analysis.divergence import NONE, Shuffler
from perdure.base.chance import Stream


def of(communities: Sequence[int | None], opinions: Sequence[int], kinds: int = 7) -> Any:
    """Compare communities by these opinions."""
    return Shuffler(communities).divergence(np.array(opinions), kinds)


@pytest.mark.parametrize(
    ("sizes", "bits"),
    [
        ((6, 6), 1.0),
        ((3, 9), -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))),
        ((4, 4, 4), None),
    ],
)
def test_opinions_that_give_a_community_away_are_1(sizes, bits):
    """Each community of one mind and no two of the same: 1, and the entropy of the sizes."""
    communities = [place for place, size in enumerate(sizes) for _ in range(size)]
    found, _ = of(communities, communities)
    assert found.value == 1.0
    assert found.bits == pytest.approx(math.log2(3) if bits is None else bits)
    assert (found.personas, found.communities, found.why) == (12, len(sizes), "")


def test_communities_that_think_alike_are_0():
    """The same mixture in both: exactly 0, while chance gives more."""
    found, _ = of([0] * 8 + [1] * 8, [0, 1, 2, 3, 0, 1, 2, 3] * 2)
    assert found.value == found.bits == 0.0
    assert found.chance > 0.1


def test_by_hand():
    """Three of four against one of four: 1 - H(1/4) bits, since the sizes are equal."""
    found, _ = of([0] * 4 + [1] * 4, [1, 1, 1, 0, 1, 0, 0, 0], 2)
    assert found.bits == pytest.approx(1 + 0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))


def test_one_community_is_unmeasured_and_not_0():
    """Nobody but one community has an opinion, or nobody at all: there is nothing to compare."""
    found, chance = of([0, 0, 1, 1, None], [3, 4, NONE, NONE, 5])
    assert found.why == "only one community has anybody with one"
    assert len(chance) == 0
    assert of([0, 1], [NONE, NONE])[0].why == "nobody in a community has one"


def test_what_chance_gives_is_near_what_theory_says():
    """Two halves of 400, two opinions: the mean of 2 n ln 2 * bits is 1, the degree of freedom."""
    found, chance = of([0, 1] * 200, [0, 0, 1, 1] * 100, 2)
    assert 2 * 400 * math.log(2) * found.chance == pytest.approx(1.0, abs=0.25)
    assert len(chance) == 199


def test_chance_alone_is_rarely_taken_for_polarization():
    """Of 200 planted nulls about one in twenty is above all but 5 % of the relabellings."""
    shuffler = Shuffler([number % 3 for number in range(60)])
    false = 0
    for place in range(200):
        draw = Stream("null", 0, "opinions", place)
        opinions = np.array([draw.below(7) for _ in range(60)])
        found, chance = shuffler.divergence(opinions, 7)
        false += (1 + (chance >= found.value - 1e-12).sum()) / (len(chance) + 1) <= 0.05
    assert 2 <= false <= 20, false


def test_it_is_pinned():
    """The same people are shuffled in the same way on every machine, to the last bit."""
    found, chance = of([0, 0, 0, 1, 1, 1, 2, 2, None], [6, 6, 5, 5, 0, 0, 6, NONE, 3])
    assert (found.personas, found.communities) == (7, 3)
    assert (found.value, found.chance, float(chance[0])) == (
        0.531155223334003,
        0.43581679912216154,
        0.8027945870637093,
    )
