"""Which dates the ticks of a study's scenarios are. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.records.record import Record
from perdure.records.scenario import Scenario


class Dates(Record):
    """The dates of scenarios that have the same: the first day and the last, and of each wave.

    Dates are as programs read them, `2026-01-05` or `2026-01-05T14:00`. `waves` are by tick.
    """

    scenarios: tuple[str, ...]
    tick_unit: str
    ticks: int
    first: str
    last: str
    skip_weekdays: tuple[str, ...]
    skip_dates: tuple[str, ...]
    in_prompt: bool
    waves: dict[str, str]


def dates_of(scenarios: Iterable[Scenario]) -> tuple[Dates, ...]:
    """Say which dates the ticks of scenarios are; those without a calendar are left out."""
    alike: dict[tuple[object, ...], list[Scenario]] = {}
    for one in scenarios:
        if one.calendar is not None:
            alike.setdefault((one.calendar, one.tick_unit, one.horizon, one.waves), []).append(one)
    return tuple(_dates(same) for same in alike.values())


def stamp(scenario: Scenario, tick: int) -> str:
    """Give the date of a tick for programs; empty without a calendar, and before tick 0."""
    moment = scenario.moment(tick) if tick >= 0 else None
    return "" if moment is None else moment.stamp


def _dates(same: list[Scenario]) -> Dates:
    one = same[0]
    assert one.calendar is not None, "only those with a calendar are grouped"
    return Dates(
        scenarios=tuple(scenario.id for scenario in same),
        tick_unit=one.tick_unit,
        ticks=one.horizon,
        first=stamp(one, 0),
        last=stamp(one, one.horizon - 1),
        skip_weekdays=one.calendar.skip_weekdays,
        skip_dates=one.calendar.skip_dates,
        in_prompt=one.calendar.in_prompt,
        waves={str(tick): stamp(one, tick) for tick in one.waves},
    )
