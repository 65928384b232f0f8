"""The calendar of a scenario: which date each of its ticks is."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from perdure.base.dates import DAYS_A_WEEK, HOURS_A_DAY, WEEKDAYS, Days, Moment
from perdure.records.record import Record


class Calendar(Record):
    """Which date each tick is: from a start on, day by day, without those that are skipped.

    `start` is the date of tick 0, as `2026-01-05`. `skip_weekdays` are in the order of a week from
    Monday, `skip_dates` in their own: those alone on which a tick would have been. A day is skipped
    with all its hours. `in_prompt` tells people the date.
    """

    start: str
    skip_weekdays: tuple[str, ...] = ()
    skip_dates: tuple[str, ...] = ()
    in_prompt: bool = False

    def moment(self, tick: int, tick_unit: str) -> Moment:
        """Say when a tick begins.

        Raises:
            OverflowError: it would be after the end of the year 9999.

        """
        days = _days(self.start, self.skip_weekdays, self.skip_dates)
        if tick_unit == "week":
            return Moment(days.at(DAYS_A_WEEK * tick), is_week=True)
        if tick_unit == "hour":
            day, hour = divmod(tick, HOURS_A_DAY)
            return Moment(days.at(day), hour)
        return Moment(days.at(tick))


# Of every turn's prompt and of every row of a table the date may be asked.
@lru_cache(maxsize=1_024)
def _days(start: str, skip_weekdays: tuple[str, ...], skip_dates: tuple[str, ...]) -> Days:
    return Days(
        date.fromisoformat(start),
        frozenset(map(WEEKDAYS.index, skip_weekdays)),
        frozenset(map(date.fromisoformat, skip_dates)),
    )
