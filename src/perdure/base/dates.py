"""Days that are counted one by one: which day has which place, where some are skipped. Pure.

Nothing is worked out by a ratio: 180 days from a Monday hold 130 from Monday to Friday, and those
from a Saturday only 128. There are no time zones: a day has 24 hours, wherever it is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from datetime import date, timedelta
from typing import NamedTuple

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS_A_WEEK = len(WEEKDAYS)
HOURS_A_DAY = 24

# As people write them, and whatever the language of the machine.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


class Days:
    """The days from a start on that are not skipped, each by its place, from 0.

    `weekdays` are skipped in every week (0 is Monday), `dates` once; some weekday must be left.
    """

    def __init__(self, start: date, weekdays: Collection[int], dates: Collection[date]) -> None:
        self.start = start
        # Of the seven days from the start on, those that no week skips.
        self._kept = [
            place
            for place in range(DAYS_A_WEEK)
            if (start.weekday() + place) % DAYS_A_WEEK not in weekdays
        ]
        skipped = (one for one in set(dates) if one >= start and one.weekday() not in weekdays)
        self.skipped = tuple(sorted(skipped))
        self._places = [self._in_weeks(one) for one in self.skipped]
        self._shifted = [place - before for before, place in enumerate(self._places)]

    def before(self, end: date) -> int:
        """Count the days before a date."""
        place = self._in_weeks(end)
        return max(place - bisect_left(self._places, place), 0)

    def at(self, place: int) -> date:
        """Give the day at a place.

        Raises:
            OverflowError: it would be after the last date there is, the end of the year 9999.

        """
        whole = place + bisect_right(self._shifted, place)
        weeks, rest = divmod(whole, len(self._kept))
        return self.start + timedelta(DAYS_A_WEEK * weeks + self._kept[rest])

    def _in_weeks(self, end: date) -> int:
        """Count the days before a date as if no single date were skipped."""
        weeks, rest = divmod((end - self.start).days, DAYS_A_WEEK)
        return weeks * len(self._kept) + bisect_left(self._kept, rest)


class Moment(NamedTuple):
    """When a tick begins: a day; for ticks of an hour the hour too, of a week that it is one."""

    day: date
    hour: int | None = None
    is_week: bool = False

    @property
    def stamp(self) -> str:
        """The moment for programs: `2026-01-05`, or `2026-01-05T14:00`."""
        return self.day.isoformat() + ("" if self.hour is None else f"T{self.hour:02}:00")

    @property
    def short(self) -> str:
        """The moment for a table: `Mon 2026-01-05`, or `Mon 2026-01-05 14:00`."""
        return f"{WEEKDAYS[self.day.weekday()][:3].capitalize()} {self.stamp.replace('T', ' ')}"

    @property
    def words(self) -> str:
        """The moment for a sentence: `Monday, 5 January 2026`, or the week or hour of that."""
        day = f"{WEEKDAYS[self.day.weekday()].capitalize()}, {self.day.day} "
        day += f"{_MONTHS[self.day.month - 1]} {self.day.year}"
        if self.is_week:
            return f"the week of {day}"
        return day if self.hour is None else f"{day}, {self.hour:02}:00"
