"""Intervals over personas: by hand, at their edges, by weight, and clusters that are no people."""

import pytest

from perdure.analysis.interval import (
    Unit,
    effective_size,
    mean_interval,
    share_interval,
    units_of,
)


def units(*totals: float, count: int = 1) -> list[Unit]:
    """Make a unit of each total."""
    return [Unit(total=total, count=count) for total in totals]


def test_a_share_by_hand():
    """Six of ten: variance 0.24 / 9, so nine answers, and Wilson's bounds with t of 9 degrees."""
    found = share_interval(units(*[1.0] * 6, *[0.0] * 4))
    t = 2.2621571627
    centre, scale = 0.6 + t**2 / 18, 1 + t**2 / 9
    reach = t * (0.24 / 9 + t**2 / (4 * 81)) ** 0.5
    assert found.value == pytest.approx(0.6)
    assert found.low == pytest.approx((centre - reach) / scale)
    assert found.high == pytest.approx((centre + reach) / scale)


def test_more_seeds_of_the_same_people_are_not_more_people():
    """Ten seeds in which everybody repeats itself leave the interval as it was."""
    once = share_interval(units(*[1.0] * 6, *[0.0] * 4))
    tenfold = share_interval(units(*[10.0] * 6, *[0.0] * 4, count=10))
    assert tenfold.low == pytest.approx(once.low)
    assert tenfold.high == pytest.approx(once.high)


def test_where_all_agree_the_number_of_people_bounds_the_share():
    """Nobody of 20 is not nobody of all: the interval has a width, and less with more people."""
    few, many = (share_interval(units(*[0.0] * number)) for number in (20, 200))
    assert few.low == 0.0
    assert few.high is not None
    assert many.high is not None
    assert 0.0 < many.high < few.high < 0.25


def test_too_few_people_have_no_interval_and_a_reason():
    """Four people give a figure; nobody gives none, which is not zero."""
    assert share_interval(units(1.0, 0.0, 1.0, 0.0)).no_interval == (
        "an interval needs 5 personas, and there are 4"
    )
    assert share_interval([]).value is None
    assert share_interval([]).no_interval == "nothing was measured"


def test_a_difference_by_hand_and_without_width():
    """The mean of per-person differences with Student's t; equal ones have no interval."""
    found = mean_interval(units(1.0, 0.0, 0.0, 1.0, -1.0), (-1.0, 1.0))
    # Residuals .8, -.2, -.2, .8, -1.2: squares 2.8, over 4 * 5.
    reach = 2.7764451052 * (2.8 / 20) ** 0.5
    assert found.value == pytest.approx(0.2)
    assert found.low == pytest.approx(0.2 - reach)
    assert found.high == pytest.approx(min(1.0, 0.2 + reach))
    assert "the same for every persona" in mean_interval(units(*[0.0] * 9), (-1.0, 1.0)).no_interval


def test_weights_move_the_share_and_lessen_the_size():
    """One who stands for three counts thrice; Kish's size falls below the number of people."""
    made = units_of(
        {"a": 1.0},
        dict.fromkeys("abcde", 1),
        {"a": 3.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 0.0},
    )
    assert len(made) == 4
    assert effective_size(made) == pytest.approx(36 / 12)
    many = [Unit(total=1.0, count=1, weight=3.0), *units(*[0.0] * 5)]
    assert share_interval(many).value == pytest.approx(3 / 8)


def test_a_weighted_difference_by_hand():
    """Residuals are by weight: the mean is 1/2, the variance 6 / 5 * 3.5 / 64."""
    heavy = [Unit(total=1.0, count=1, weight=3.0), Unit(total=1.0, count=1)]
    found = mean_interval([*heavy, *units(0.0, 0.0, 0.0, 0.0)], (-1.0, 1.0))
    squares = 9 * 0.25 + 5 * 0.25
    reach = 2.5705818356 * (6 / 5 * squares / 64) ** 0.5
    assert found.value == pytest.approx(0.5)
    assert found.low == pytest.approx(0.5 - reach)
    assert found.high == pytest.approx(min(1.0, 0.5 + reach))
