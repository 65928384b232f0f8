"""A study's calendar is read: horizons are counted, dates decide a world, nonsense is refused."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from tests.support.sample_study import SAMPLE

from perdure.base.canonical import encode, hash_hex
from perdure.records.calendar import Calendar
from perdure.records.scenario import Scenario
from perdure.study.findings import Findings
from perdure.study.lengths import lengths
from perdure.study.parse import parse
from perdure.study.schema import RHYTHMS
from perdure.study.varying import varying

WORKING = "skip_weekdays: [saturday, sunday]"
# The hash of the sample's first scenario, as it was before there were calendars.
WITHOUT = "8a8b2711a1811211755a7f769ef70f5344398c303154e14431f716abd94bdb4b"


def dated(calendar: str, *, horizon: str = "", more: str = "") -> str:
    """Give the sample with a calendar, and a horizon only if one is written."""
    lines = f"{horizon}  calendar: {calendar}\n{more}"
    return SAMPLE.replace("  horizon: 4\n", lines)


def scenarios_of(text: str) -> tuple[Scenario, ...]:
    """Give the scenarios of a study in which nothing is wrong."""
    found = Findings("study.yaml")
    study = parse(text.encode(), found).study
    assert study is not None, [str(problem) for problem in found.listed()]
    return study.scenarios


def wrong_with(text: str) -> list[str]:
    """Give what is wrong with a study, in words."""
    found = Findings("study.yaml")
    assert parse(text.encode(), found).study is None
    return [problem.wrong for problem in found.listed()]


def test_without_a_calendar_nothing_moves() -> None:
    """A scenario without one has the bytes, and the hash, that it always had."""
    one = scenarios_of(SAMPLE)[0]
    assert one.calendar is None
    assert one.moment(0) is None
    assert b"calendar" not in encode(one)
    assert hash_hex(one) == WITHOUT


@pytest.mark.parametrize("length", ["days: 180", "end: 2026-07-03"])
def test_the_horizon_is_counted(length: str) -> None:
    """180 days from a Monday are 130 ticks, by their number or by the last of them."""
    for one in scenarios_of(dated(f"{{start: 2026-01-05, {length}, {WORKING}}}")):
        assert one.horizon == 130
        assert [str(one.moment(tick).day) for tick in (0, 4, 5, 129)] == [  # type: ignore[union-attr]
            *("2026-01-05", "2026-01-09", "2026-01-12", "2026-07-03"),
        ]


@pytest.mark.parametrize("after", range(7))
def test_from_every_weekday(after: int) -> None:
    """From whichever weekday it starts, there are as many ticks as working days."""
    start = date(2026, 1, 5) + timedelta(after)
    days = [start + timedelta(place) for place in range(180)]
    working = [one for one in days if one.weekday() < 5]
    for one in scenarios_of(dated(f"{{start: {start}, days: 180, {WORKING}}}")):
        assert one.horizon == len(working)
        assert [one.moment(tick).day for tick in range(one.horizon)] == working  # type: ignore[union-attr]


def test_equal_dates_are_the_same_calendar() -> None:
    """What no tick could be is not kept: holidays on weekends, an earlier start, another end."""
    plain = dated(f"{{start: 2026-01-05, days: 8, {WORKING}, skip_dates: [2026-01-07]}}")
    other = dated(
        "{start: 2026-01-03, end: 2026-01-13, skip_weekdays: [sunday, saturday], "
        "skip_dates: [2026-01-10, 2026-01-07, 2026-01-13], in_prompt: false}"
    )
    assert [encode(one) for one in scenarios_of(plain)] == [
        encode(one) for one in scenarios_of(other)
    ]
    assert scenarios_of(plain)[0].calendar == Calendar(
        start="2026-01-05", skip_weekdays=("saturday", "sunday"), skip_dates=("2026-01-07",)
    )


def test_a_written_horizon_goes_with_a_start() -> None:
    """Without a length, `horizon` says it, and ticks have dates."""
    text = dated(f"{{start: 2026-01-09, {WORKING}}}", horizon="  horizon: 4\n")
    (one, _) = scenarios_of(text)
    assert (one.horizon, one.moment(3)) == (4, (date(2026, 1, 14), None, False))


def test_hours_and_weeks() -> None:
    """An hour is one of a day that is not skipped; a week is seven days."""
    hours = scenarios_of(
        dated(f"{{start: 2026-01-09, days: 4, {WORKING}}}", more="  tick: hour\n")
    )[0]
    assert hours.horizon == 48
    assert [hours.moment(tick).stamp for tick in (0, 23, 24, 47)] == [  # type: ignore[union-attr]
        *("2026-01-09T00:00", "2026-01-09T23:00", "2026-01-12T00:00", "2026-01-12T23:00"),
    ]
    weeks = scenarios_of(dated("{start: 2026-01-07, days: 28}", more="  tick: week\n"))[0]
    assert (weeks.horizon, str(weeks.moment(3).day)) == (4, "2026-01-28")  # type: ignore[union-attr]


OUTSIDE = "The date {} is skipped, but `timeline.calendar` is from 2026-01-05 to {}."
REFUSED = {
    "both lengths": (
        dated("{start: 2026-01-05, days: 4, end: 2026-01-08}"),
        ["`days` and `end` in `timeline.calendar` both say how long it takes."],
    ),
    "a horizon that is counted": (
        dated("{start: 2026-01-05, days: 4}", horizon="  horizon: 4\n"),
        ["`timeline.horizon` is written, and `timeline.calendar` counts it."],
    ),
    "no length at all": (
        dated("{start: 2026-01-05}"),
        ["The scenario `s1` has no horizon.", "The scenario `s2` has no horizon."],
    ),
    "a date that there is not": (
        dated("{start: 2026-02-29, days: 4}"),
        ["There is no date `2026-02-29`."],
    ),
    "a date in another notation": (
        dated("{start: 5.1.2026, days: 4}"),
        ["`timeline.calendar.start` is `5.1.2026`."],
    ),
    "no start": (dated("{days: 4}"), ["`timeline.calendar.start` is missing."]),
    "an end before the start": (
        dated("{start: 2026-01-05, end: 2026-01-04}"),
        ["`timeline.calendar` ends on 2026-01-04, before it starts."],
    ),
    "every weekday": (
        dated(
            "{start: 2026-01-05, days: 9, skip_weekdays: "
            "[monday, tuesday, wednesday, thursday, friday, saturday, sunday]}"
        ),
        ["`timeline.calendar.skip_weekdays` leaves no day of the week."],
    ),
    "every day": (
        dated(f"{{start: 2026-01-03, days: 2, {WORKING}}}"),
        ["`timeline.calendar` skips every day that it has."],
    ),
    "weeks that are not whole": (
        dated("{start: 2026-01-05, days: 180}", more="  tick: week\n"),
        ["`timeline.calendar` has 25 weeks and 5 days, and a tick is a week."],
    ),
    "skipping where a tick is a week": (
        dated(
            f"{{start: 2026-01-05, days: 14, {WORKING}, skip_dates: [2026-01-07]}}",
            more="  tick: week\n",
        ),
        [
            "`timeline.calendar.skip_weekdays` skips days, and a tick is a week of seven.",
            "`timeline.calendar.skip_dates` skips days, and a tick is a week of seven.",
        ],
    ),
    "a date after the end": (
        dated("{start: 2026-01-05, days: 6, skip_dates: [2027-01-07]}"),
        [OUTSIDE.format("2027-01-07", "2026-01-10")],
    ),
    "a date after the last tick": (
        dated("{start: 2026-01-05, skip_dates: [2026-01-10]}", horizon="  horizon: 4\n"),
        [OUTSIDE.format("2026-01-10", "2026-01-08")],
    ),
    "too many ticks": (
        dated("{start: 2026-01-05, days: 5000}", more="  tick: hour\n"),
        ["`timeline.calendar` has 120,000 ticks of an hour."],
    ),
    "dates beyond all years": (
        dated("{start: 9999-12-30, days: 5}"),
        ["`timeline.calendar` goes on beyond the year 9999, for which there are no dates."],
    ),
    "a last tick beyond all years": (
        dated("{start: 9999-12-30}", horizon="  horizon: 4\n"),
        ["`timeline.calendar` goes on beyond the year 9999, for which there are no dates."],
    ),
    "a wave after the last tick": (
        dated("{start: 2026-01-05, days: 3}"),
        ["The wave at tick 3 is beyond the last tick, 2."],
    ),
    "all of it at once": (
        dated(
            "{start: 2026-01-05, days: 4, end: 2026-01-01, skip_weekdays: [saturday, saturday], "
            "skip_dates: [2025-04-03, 2026-01-06, 2026-01-06]}",
            horizon="  horizon: 4\n",
        ),
        [
            "`timeline.horizon` is written, and `timeline.calendar` counts it.",
            "The day saturday is skipped twice.",
            "The date 2026-01-06 is skipped twice.",
            "`days` and `end` in `timeline.calendar` both say how long it takes.",
            "`timeline.calendar` ends on 2026-01-01, before it starts.",
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused(case: str) -> None:
    """Each mistake is told once, though two scenarios share the calendar, and all at once."""
    text, due = REFUSED[case]
    assert wrong_with(text) == due


def test_a_named_rhythm_goes_by_the_date() -> None:
    """The factor of a Saturday is that of every Saturday, wherever the week begins."""
    week = RHYTHMS["week"][1]
    whole = scenarios_of(dated("{start: 2026-01-08, days: 10}", more="  rhythm: week\n"))[0]
    assert whole.rhythm == (*week[3:], *week[:3])
    working = scenarios_of(
        dated(f"{{start: 2026-01-08, days: 10, {WORKING}}}", more="  rhythm: week\n")
    )[0]
    assert working.rhythm == week[:5]
    broken = "{start: 2026-01-08, days: 10, skip_dates: [2026-01-09]}"
    holiday = scenarios_of(dated(broken, more="  rhythm: week\n"))[0]
    assert holiday.rhythm == tuple(
        week[holiday.moment(tick).day.weekday()]  # type: ignore[union-attr]
        for tick in range(holiday.horizon)
    )
    assert len(holiday.rhythm) == 9


def test_a_grid_varies_it() -> None:
    """The start of a calendar varies as any other key, and each cell has its own dates."""
    text = dated(f"{{start: 2026-01-05, days: 14, {WORKING}}}").replace(
        "  s2:\n", "  s2:\n    grid: {calendar.start: [2026-01-06, 2026-01-10]}\n"
    )
    found = scenarios_of(text)
    assert [(one.id, one.horizon) for one in found] == [
        ("s1", 10),
        ("s2--calendar.start-2026-01-06", 10),
        ("s2--calendar.start-2026-01-10", 10),
    ]
    assert [str(one.moment(0).day) for one in found] == [  # type: ignore[union-attr]
        *("2026-01-05", "2026-01-06", "2026-01-12"),
    ]
    assert {"calendar"} <= {name for one in varying(found) for name in one}


def test_a_longer_prompt_is_reserved_for() -> None:
    """Where people are told the date, a prompt is forecast longer."""

    def sizes(more: str) -> tuple[int, int, int]:
        text = dated(f"{{start: 2026-01-05, days: 4{more}}}")
        study = parse(text.encode(), Findings("study.yaml")).study
        assert study is not None
        found = lengths(study)
        return found.turn, found.turn_worst, found.reflection_worst

    plain, told = sizes(""), sizes(", in_prompt: true")
    assert all(one < other for one, other in zip(plain, told, strict=True))
