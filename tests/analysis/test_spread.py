"""The spread of a figure over seeds is the textbook's; an interval is refused rather than wrong."""

import math
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from perdure.analysis.spread import spread

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SHARES = st.lists(st.integers(0, 40).map(lambda count: count / 40), min_size=3, max_size=12)


def known(figure: float | None) -> float:
    """Take a figure that must be there."""
    assert figure is not None
    return figure


def test_a_spread_worked_by_hand():
    """0.2, 0.4 and 0.6: mean 0.4, deviation 0.2, error 0.2 / sqrt 3, t with 2 is 4.3027."""
    found = spread([0.2, 0.6, 0.4], 3, bounds=(-1.0, 1.0))
    assert (found.seeds, found.effective) == (3, 3)
    assert found.mean == pytest.approx(0.4)
    assert found.sd == pytest.approx(0.2)
    assert (found.least, found.most) == (0.2, 0.6)
    assert found.low == pytest.approx(0.4 - 4.302653 * 0.1154701, abs=1e-6)
    assert found.high == pytest.approx(0.4 + 4.302653 * 0.1154701, abs=1e-6)
    assert found.no_interval == ""


def test_an_interval_stays_within_what_a_share_can_be():
    """The same of shares is cut at 0: no share is less."""
    found = spread([0.2, 0.6, 0.4], 3, bounds=(0.0, 1.0))
    assert found.low == 0.0
    assert found.high == pytest.approx(0.896828, abs=1e-6)
    assert spread([0.4, 0.8, 1.0], 3, bounds=(0.0, 1.0)).high == 1.0


def test_repeated_worlds_do_not_count_for_the_interval():
    """Of four worlds three differ: t has 2 degrees of freedom, and the error is over 3.

    0.2, 0.2, 0.4, 0.6: mean 0.35, mean square deviation 0.0275, error sqrt(0.0275 / 2).
    """
    found = spread([0.2, 0.2, 0.4, 0.6], 3, bounds=(-1.0, 1.0))
    assert found.mean == pytest.approx(0.35)
    assert found.sd == pytest.approx(math.sqrt(0.11 / 3))
    reach = 4.302653 * math.sqrt(0.0275 / 2)
    assert (found.low, found.high) == pytest.approx((0.35 - reach, 0.35 + reach), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "effective", "why"),
    [
        ([], 0, "nothing was measured"),
        ([0.5], 1, "a spread needs 2 seeds, and there is 1"),
        ([0.5, 0.5, 0.5, 0.5], 1, "the seeds made no difference"),
        ([0.5, 0.6], 2, "an interval needs 3 effective replicates, and there are 2"),
        ([0.5, 0.6, 0.6, 0.6], 2, "an interval needs 3 effective replicates, and there are 2"),
        ([0.5, 0.5, 0.5], 3, "the figure came out the same for every seed"),
    ],
)
def test_an_interval_is_refused_with_its_reason(values, effective, why):
    """Identical worlds, too few of them, and equal figures have no interval, rather than none."""
    found = spread(values, effective, bounds=(0.0, 1.0))
    assert found.no_interval == why
    assert (found.low, found.high) == (None, None)


def test_worlds_under_other_rungs_have_no_interval():
    """Worlds that were degraded differently are averaged, and are no replicates of one another."""
    found = spread([0.2, 0.4, 0.6], 3, bounds=(0.0, 1.0), alike=False)
    assert found.mean == pytest.approx(0.4)
    assert found.low is None
    assert "same rungs" in found.no_interval


def test_identical_worlds_have_a_spread_of_exactly_zero():
    """No rounding makes a difference out of none, whatever the figure."""
    for count, seeds in product(range(1, 40), range(2, 9)):
        found = spread([count / 40] * seeds, 1, bounds=(0.0, 1.0))
        assert found.sd == 0.0
        assert found.mean == found.least == found.most == count / 40


@PATIENT
@given(SHARES)
def test_mean_and_interval_lie_where_they_must(values):
    """The mean is between the extremes, and the interval is around it and has a width."""
    found = spread(values, len(values), bounds=(0.0, 1.0))
    least, mean, sd, most = map(known, (found.least, found.mean, found.sd, found.most))
    assert least <= mean <= most
    assert 0 <= sd <= most - least
    if found.no_interval:
        assert sd == 0
    else:
        low, high = known(found.low), known(found.high)
        assert 0 <= low <= mean <= high <= 1
        assert low < high


@PATIENT
@given(SHARES, st.randoms(use_true_random=False))
def test_the_order_of_seeds_is_of_no_matter(values, chance):
    """Mean, spread and interval are those of the set of worlds."""
    shuffled = list(values)
    chance.shuffle(shuffled)
    assert spread(shuffled, len(values), bounds=(0.0, 1.0)) == spread(
        values, len(values), bounds=(0.0, 1.0)
    )


@PATIENT
@given(SHARES, st.integers(2, 4))
def test_the_same_worlds_again_tell_nothing_new(values, times):
    """Every world run several times more, with the same answers, leaves the interval as it was."""
    assume(len(set(values)) > 1)
    once = spread(values, len(values), bounds=(-1.0, 1.0))
    again = spread(values * times, len(values), bounds=(-1.0, 1.0))
    assert (again.low, again.high) == pytest.approx((once.low, once.high))


@PATIENT
@given(SHARES)
def test_fewer_effective_replicates_never_narrow_an_interval(values):
    """What repeats itself makes the mean less well known."""
    assume(len(set(values)) > 1)
    intervals = [
        spread(values, effective, bounds=(-1.0, 1.0)) for effective in range(3, len(values) + 1)
    ]
    widths = [known(one.high) - known(one.low) for one in intervals]
    assert widths == sorted(widths, reverse=True)
