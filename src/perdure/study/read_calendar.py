"""Reads the calendar of a scenario: which date each tick is, and how many ticks that makes.

What makes the same dates is the same calendar, to the last byte of an id: a date that no tick could
have been is not kept, and nor is how the end was written.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from datetime import date, timedelta

from perdure.base.dates import DAYS_A_WEEK, HOURS_A_DAY, WEEKDAYS, Days
from perdure.base.text import a
from perdure.records.calendar import Calendar
from perdure.study import schema
from perdure.study.findings import Findings
from perdure.study.kinds import Spot
from perdure.study.section import Field, Section


@dataclass(frozen=True)
class Dated:
    """A calendar as read, and how many ticks it makes: None where only `horizon` can say it.

    `calendar` is absent if something is wrong with it.
    """

    calendar: Calendar | None = None
    ticks: int | None = None


def counts(section: Section) -> bool:
    """Say whether a calendar says how long it takes."""
    return section.present(schema.CALENDAR_DAYS) or section.present(schema.CALENDAR_END)


def read_calendar(section: Section, tick_unit: str, horizon: int | None) -> Dated:
    """Read a calendar. `horizon` is the number of ticks as the author wrote it, if at all."""
    # What is wrong with it may be known already, from another scenario that has the same.
    own = copy.copy(section)
    own.found = Findings(section.found.file)
    read = _read(own, tick_unit, horizon)
    section.found.take(own.found)
    return Dated() if own.found else read


def _read(section: Section, tick_unit: str, horizon: int | None) -> Dated:
    weekdays = _weekdays(section)
    written = _once(section, schema.SKIP_DATES, "date")
    if tick_unit == "week":
        _refuse_skips(section)
    if not section.has(schema.CALENDAR_START):
        return Dated()
    start = date.fromisoformat(section.get(schema.CALENDAR_START))
    end = _end(section, start)
    _check_places(section, start, end)
    if not section.sound or section.found:
        return Dated()
    days = Days(
        start, [WEEKDAYS.index(one) for one in weekdays], list(map(date.fromisoformat, written))
    )
    ticks = horizon if end is None else _count(section, days, end, tick_unit)
    if not ticks or not _fits(section, days, ticks, tick_unit):
        return Dated()
    last = days.at(_day(ticks - 1, tick_unit))
    if end is None:
        _check_places(section, start, last + timedelta(DAYS_A_WEEK if tick_unit == "week" else 1))
    calendar = Calendar(
        start=days.at(0).isoformat(),
        skip_weekdays=weekdays,
        skip_dates=tuple(str(one) for one in days.skipped if days.at(0) < one < last),
        in_prompt=section.get(schema.IN_PROMPT),
    )
    return Dated(calendar, None if end is None else ticks)


def _day(tick: int, tick_unit: str) -> int:
    """Give the place of a tick's day among the days that have ticks."""
    if tick_unit == "hour":
        return tick // HOURS_A_DAY
    return tick * DAYS_A_WEEK if tick_unit == "week" else tick


def _weekdays(section: Section) -> tuple[str, ...]:
    named = _once(section, schema.SKIP_WEEKDAYS, "day")
    if len(named) == DAYS_A_WEEK:
        wrong = f"`{section.trail}.{schema.SKIP_WEEKDAYS.key}` leaves no day of the week."
        section.wrong(schema.SKIP_WEEKDAYS, wrong, "Leave out those that have ticks.")
    return tuple(sorted(named, key=WEEKDAYS.index))


def _once(section: Section, field: Field[tuple[Spot[str], ...]], what: str) -> tuple[str, ...]:
    named: dict[str, None] = {}
    for spot in section.get(field):
        if spot.value in named:
            section.found.add(spot.line, f"The {what} {spot.value} is skipped twice.", "Keep one.")
        named[spot.value] = None
    return tuple(named)


def _refuse_skips(section: Section) -> None:
    """Refuse to skip days where a tick is a week: each has all of its seven."""
    for field in (schema.SKIP_WEEKDAYS, schema.SKIP_DATES):
        if section.get(field):
            wrong = f"`{section.trail}.{field.key}` skips days, and a tick is a week of seven."
            section.wrong(field, wrong, "Leave it out, or write `tick: day`.")


def _end(section: Section, start: date) -> date | None:
    """Find the day after the last one; None if nothing says it, or not so that it is one."""
    days, last = schema.CALENDAR_DAYS, schema.CALENDAR_END
    if section.present(days) and section.present(last):
        wrong = f"`{days.key}` and `{last.key}` in `{section.trail}` both say how long it takes."
        section.wrong(days, wrong, "Keep one of them.")
        return None
    try:
        if section.has(days):
            return start + timedelta(section.get(days))
        if section.has(last):
            return date.fromisoformat(section.get(last)) + timedelta(1)
    except OverflowError:
        section.wrong(days, *_too_late(section))
    return None


def _check_places(section: Section, start: date, end: date | None) -> None:
    """Check that what is skipped, and the last day, are not outside of it all."""
    last = section.get(schema.CALENDAR_END) if section.has(schema.CALENDAR_END) else ""
    if last and date.fromisoformat(last) < start:
        wrong = f"`{section.trail}` ends on {last}, before it starts."
        section.wrong(schema.CALENDAR_END, wrong, f"Write a date from {start} on.")
        return
    for spot in section.get(schema.SKIP_DATES):
        skipped = date.fromisoformat(spot.value)
        if skipped < start or (end is not None and skipped >= end):
            until = "" if end is None else f" to {end - timedelta(1)}"
            wrong = (
                f"The date {spot.value} is skipped, but `{section.trail}` is from {start}{until}."
            )
            section.found.add(spot.line, wrong, "Leave it out, or write the year that is meant.")


def _count(section: Section, days: Days, end: date, tick_unit: str) -> int:
    """Count the ticks of a calendar whose length is written; 0 if that is refused."""
    field = schema.CALENDAR_DAYS if section.has(schema.CALENDAR_DAYS) else schema.CALENDAR_END
    if tick_unit == "week":
        weeks, rest = divmod((end - days.start).days, DAYS_A_WEEK)
        if not rest:
            return weeks
        whole = max(weeks, 1) * DAYS_A_WEEK
        value = whole if field is schema.CALENDAR_DAYS else days.start + timedelta(whole - 1)
        wrong = f"`{section.trail}` has {weeks} weeks and {rest} days, and a tick is a week."
        section.wrong(field, wrong, f"Write whole weeks, such as `{field.key}: {value}`.")
        return 0
    number = days.before(end) * (HOURS_A_DAY if tick_unit == "hour" else 1)
    if not number:
        wrong = f"`{section.trail}` skips every day that it has."
        section.wrong(field, wrong, "Skip fewer, or let it take longer.")
    return number


def _fits(section: Section, days: Days, ticks: int, tick_unit: str) -> bool:
    """Check that there are not too many ticks, and that the last of them has a date."""
    if ticks > schema.HORIZON_MAX:
        wrong = f"`{section.trail}` has {ticks:,} ticks of {a(tick_unit)}."
        section.wrong(schema.CALENDAR_DAYS, wrong, f"At most {schema.HORIZON_MAX:,} can be run.")
        return False
    try:
        days.at(_day(ticks, tick_unit))
    except OverflowError:
        section.wrong(schema.CALENDAR_START, *_too_late(section))
        return False
    return True


def _too_late(section: Section) -> tuple[str, str]:
    wrong = f"`{section.trail}` goes on beyond the year 9999, for which there are no dates."
    return wrong, "Start earlier, or let it take less long."


def week_of(factors: tuple[float, ...], calendar: Calendar, ticks: int) -> tuple[float, ...]:
    """Give each tick of a day the factor of its weekday, over and over where weeks are alike."""
    if not calendar.skip_dates:
        ticks = DAYS_A_WEEK - len(calendar.skip_weekdays)
    moments = (calendar.moment(tick, "day") for tick in range(ticks))
    return tuple(factors[moment.day.weekday()] for moment in moments)
