"""That time which nobody could look at is not counted, and that all other time is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.base.running_time import RunningTime


def test_a_gap_counts_for_so_much_and_no_more() -> None:
    """Between looks that are close together time counts; of a long gap only the start does."""
    time = RunningTime(100.0, gap_max_s=0.25)
    assert time.look(100.1) == pytest.approx(0.1)
    assert time.look(100.3) == pytest.approx(0.3)
    assert time.look(3_700.3) == pytest.approx(0.55)
    assert time.look(3_700.4) == pytest.approx(0.65)
    assert time.skipped_s == pytest.approx(3_599.75)


def test_a_clock_that_goes_back_counts_nothing_twice() -> None:
    """An instant before the last look changes nothing."""
    time = RunningTime(100.0, gap_max_s=1.0)
    time.look(100.5)
    assert time.look(90.0) == pytest.approx(0.5)
    assert time.look(100.75) == pytest.approx(0.75)


@given(st.lists(st.floats(0, 50), max_size=40), st.floats(0.01, 10))
def test_all_time_is_either_counted_or_left_out(gaps: list[float], gap_max_s: float) -> None:
    """Both parts add up to what passed, and the counted one grows by no more than the gap's."""
    time, now_s = RunningTime(0.0, gap_max_s=gap_max_s), 0.0
    for gap_s in gaps:
        before_s = time.passed_s
        now_s += gap_s
        assert before_s <= time.look(now_s) <= before_s + gap_max_s + 1e-9
    assert time.passed_s + time.skipped_s == pytest.approx(now_s)
