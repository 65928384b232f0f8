"""Proves that days are counted as somebody with a wall calendar counts them, one by one."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.base.dates import WEEKDAYS, Days, Moment

WEEKEND = (5, 6)
STARTS = st.dates(date(1996, 1, 1), date(2104, 12, 31))
WEEKENDS = st.sets(st.integers(0, 6), max_size=6)
SKIPPED = st.lists(st.integers(-20, 400), max_size=30)


def one_by_one(start: date, weekdays: set[int], dates: set[date], number: int) -> list[date]:
    """Go through the days from a start on, and take those that are not skipped."""
    every = (start + timedelta(place) for place in count())
    kept = (one for one in every if one.weekday() not in weekdays and one not in dates)
    return list(islice(kept, number))


@given(STARTS, WEEKENDS, SKIPPED)
def test_places_and_counts_are_those_of_counting(
    start: date, weekdays: set[int], skipped: list[int]
) -> None:
    """Every place has the day that counting gives it, and as many days are before it."""
    dates = {start + timedelta(one) for one in skipped}
    days = Days(start, weekdays, dates)
    due = one_by_one(start, weekdays, dates, 60)
    assert [days.at(place) for place in range(60)] == due
    assert [days.before(one) for one in due] == list(range(60))
    for after in range(90):
        end = start + timedelta(after)
        if end <= due[-1]:
            assert days.before(end) == sum(one < end for one in due)


@pytest.mark.parametrize(
    ("weekday", "working"),
    list(zip(WEEKDAYS, (130, 129, 128, 128, 128, 128, 129), strict=True)),
)
def test_half_a_year_from_each_weekday(weekday: str, working: int) -> None:
    """180 days hold 130 working days from a Monday on, and fewer from others; 5/7 says 128."""
    start = date(2026, 1, 5) + timedelta(WEEKDAYS.index(weekday))
    assert Days(start, WEEKEND, ()).before(start + timedelta(180)) == working


def test_weekends_of_another_country() -> None:
    """Where Friday and Saturday are the weekend, a Sunday is a working day."""
    days = Days(date(2026, 1, 4), (4, 5), ())
    assert [days.at(place).weekday() for place in range(6)] == [6, 0, 1, 2, 3, 6]
    assert days.before(date(2026, 1, 4) + timedelta(180)) == 130


def test_a_date_on_a_weekend_is_skipped_once() -> None:
    """A holiday on a Saturday takes no day away; on a Friday it takes one."""
    start, end = date(2026, 1, 5), date(2026, 1, 19)
    assert Days(start, WEEKEND, [date(2026, 1, 10)]).before(end) == 10
    assert Days(start, WEEKEND, [date(2026, 1, 10)]).skipped == ()
    assert Days(start, WEEKEND, [date(2026, 1, 9), date(2026, 1, 9)]).before(end) == 9


@pytest.mark.parametrize(("year", "days"), [(2023, 365), (2024, 366), (2000, 366), (2100, 365)])
def test_leap_years(year: int, days: int) -> None:
    """A leap year has a 29 February; a whole century has one only every four hundred years."""
    counted = Days(date(year, 1, 1), (), ())
    assert counted.before(date(year + 1, 1, 1)) == days
    assert counted.at(59) == (date(year, 2, 29) if days == 366 else date(year, 3, 1))


def test_a_moment_is_written_for_everyone() -> None:
    """For programs, for tables and for sentences, and the same whatever the machine's language."""
    monday = date(2026, 1, 5)
    told = [
        (one.stamp, one.short, one.words)
        for one in (Moment(monday), Moment(monday, 9), Moment(monday, is_week=True))
    ]
    assert told == [
        ("2026-01-05", "Mon 2026-01-05", "Monday, 5 January 2026"),
        ("2026-01-05T09:00", "Mon 2026-01-05 09:00", "Monday, 5 January 2026, 09:00"),
        ("2026-01-05", "Mon 2026-01-05", "the week of Monday, 5 January 2026"),
    ]
