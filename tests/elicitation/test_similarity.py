"""The semantic-similarity rating gives what the published implementation gives, on any machine."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from perdure.elicitation.similarity import (
    NoShareError,
    masses,
    mean_point,
    set_masses,
    similarities,
)

FILE = Path(__file__).parent / "data" / "similarity_reference.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
SETS = (((1.0, 0.0), (1.0, 1.0), (0.0, 1.0)), ((2.0, 0.1), (3.0, 2.0), (-1.0, 1.0)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['epsilon']}-{case['temperature']}")
def test_each_published_value_is_met(case: dict[str, Any]) -> None:
    """Each published value is met."""
    sets = [[tuple(anchor) for anchor in anchors] for anchors in case["anchor_sets"]]
    for number, answer in enumerate(case["responses"]):
        found = similarities(tuple(answer), sets)
        by_set = set_masses(found, epsilon=case["epsilon"])
        for alone, published in zip(by_set, case["per_set_pmf"], strict=True):
            assert alone == pytest.approx(published[number], abs=1e-9, rel=0)
        together = masses(found, epsilon=case["epsilon"], temperature=case["temperature"])
        assert together == pytest.approx(case["pmf"][number], abs=1e-9, rel=0)


def test_the_published_values_cover_what_is_asked_of_them() -> None:
    """The published values cover what is asked of them."""
    assert len(CASES) == 40
    assert {case["epsilon"] for case in CASES} == {0.0, 0.01, 0.1}
    assert {case["temperature"] for case in CASES} == {0.5, 1.0, 2.0, 10.0}


def test_a_similarity_is_half_of_one_and_the_cosine() -> None:
    """A similarity is half of one and the cosine."""
    found = similarities((3.0, 0.0), (((1.0, 0.0), (0.0, 5.0), (-2.0, 0.0)),))
    assert found == ((1.0, 0.5, 0.0),)


def test_the_length_of_a_vector_decides_nothing() -> None:
    """The length of a vector decides nothing."""
    assert similarities((0.3, 0.7), SETS) == similarities((30.0, 70.0), SETS)


def test_a_similarity_has_twelve_decimals() -> None:
    """A similarity has twelve decimals."""
    for points in similarities((0.3, 0.7), SETS):
        assert all(value == round(value, 12) for value in points)


# Of 400,000 pairs made by this rule, those in which a plain sum, taken backwards, rounds otherwise.
@pytest.mark.parametrize("number", [61_066, 79_360, 239_243, 303_461])
def test_the_order_of_a_sum_decides_nothing(number: int) -> None:
    """The order of a sum decides nothing, not even a last digit that tips a rounding."""
    answer = tuple(math.sin(number + place * 1.7) for place in range(24))
    anchor = tuple(math.cos(number * 0.7 * place + 0.3) for place in range(24))
    backwards = similarities(answer[::-1], ((anchor[::-1],),))
    assert similarities(answer, ((anchor,),)) == backwards


def test_the_farthest_point_of_a_set_has_nothing() -> None:
    """The farthest point of a set has nothing."""
    (shares,) = set_masses(((0.6, 0.8, 0.5),))
    assert shares == pytest.approx((0.25, 0.75, 0.0))


def test_epsilon_goes_to_the_first_of_the_farthest_points() -> None:
    """Epsilon goes to the first of the farthest points."""
    (shares,) = set_masses(((0.9, 0.5, 0.5),), epsilon=0.1)
    assert shares == pytest.approx((0.8, 0.2, 0.0))


def test_with_epsilon_equal_similarities_are_the_first_point() -> None:
    """With epsilon equal similarities are the first point."""
    assert masses(((0.7, 0.7, 0.7),), epsilon=0.1) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_equal_similarities_have_no_shares(temperature: float) -> None:
    """Equal similarities have no shares."""
    with pytest.raises(NoShareError, match="equally near"):
        masses(((0.1, 0.2, 0.9), (0.7, 0.7, 0.7)), temperature=temperature)


def test_at_temperature_zero_the_first_largest_share_is_all() -> None:
    """At temperature zero the first largest share is all."""
    assert masses(((0.5, 0.9, 0.7),), temperature=0.0) == (0.0, 1.0, 0.0)
    assert masses(((0.5, 0.9, 0.9),), temperature=0.0) == (0.0, 1.0, 0.0)


def test_at_temperature_zero_equal_shares_stay_equal() -> None:
    """At temperature zero equal shares stay equal."""
    opposed = ((0.0, 1.0), (1.0, 0.0))
    assert masses(opposed, temperature=0.0) == (0.5, 0.5)


def test_a_tiny_temperature_keeps_the_largest_share() -> None:
    """A tiny temperature keeps the largest share."""
    found = masses(((0.5, 0.6, 0.61, 0.62, 0.615),), temperature=0.0001)
    assert found == (0.0, 0.0, 0.0, 1.0, 0.0)


def test_the_temperature_comes_after_the_mean_of_the_sets() -> None:
    """The temperature comes after the mean of the sets."""
    apart = ((0.0, 1.0, 3.0), (0.0, 3.0, 1.0), (0.0, 1.0, 1.0))
    mean = ((1 / 4 + 3 / 4 + 1 / 2) / 3, (3 / 4 + 1 / 4 + 1 / 2) / 3)
    powers = [share**2 for share in mean]
    expected = (0.0, powers[0] / sum(powers), powers[1] / sum(powers))
    assert masses(apart, temperature=0.5) == pytest.approx(expected)


def test_the_expected_point_counts_from_one() -> None:
    """The expected point counts from one."""
    assert mean_point((1.0, 0.0, 0.0)) == 1.0
    assert mean_point((0.0, 0.0, 1.0)) == 3.0
    assert mean_point((0.1, 0.2, 0.7)) == pytest.approx(2.6)


@pytest.mark.parametrize("answer", [(0.0, 0.0), (math.nan, 1.0), (math.inf, 1.0), ()])
def test_a_vector_without_a_direction_is_refused(answer: tuple[float, ...]) -> None:
    """A vector without a direction is refused."""
    anchor = tuple(1.0 for _ in answer)
    with pytest.raises(ValueError, match="no direction"):
        similarities(answer, ((anchor,),))


def test_an_anchor_without_a_direction_is_refused() -> None:
    """An anchor without a direction is refused."""
    with pytest.raises(ValueError, match="no direction"):
        similarities((1.0, 0.0), (((1.0, 0.0), (0.0, 0.0)),))


def test_vectors_of_two_models_are_refused() -> None:
    """Vectors of two models are refused."""
    with pytest.raises(ValueError, match="of 2 and 3 numbers"):
        similarities((1.0, 0.0), (((1.0, 0.0, 0.0),),))


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf])
def test_what_is_no_epsilon_or_temperature_is_refused(wrong: float) -> None:
    """What is no epsilon or temperature is refused."""
    with pytest.raises(ValueError, match="epsilon"):
        masses(((0.1, 0.2),), epsilon=wrong)
    with pytest.raises(ValueError, match="temperature"):
        masses(((0.1, 0.2),), temperature=wrong)


def test_no_sets_and_uneven_sets_are_refused() -> None:
    """No sets and uneven sets are refused."""
    with pytest.raises(ValueError, match="no set"):
        masses(())
    with pytest.raises(ValueError, match=r"shorter|longer"):
        masses(((0.1, 0.2), (0.1, 0.2, 0.3)))
