"""The dates of a study's ticks drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from perdure.analysis.calendars import Dates
from perdure.analysis.document import Block
from perdure.base.dates import Moment
from perdure.base.text import a
from perdure.cli.figures import count, plural
from perdure.cli.tables import paragraph

_LISTED_MAX = 8


def calendar_parts(calendars: Sequence[Dates], *, indent: int = 0) -> Iterator[Block]:
    """Say which dates the ticks are, for each calendar of a study."""
    for one in calendars[:_LISTED_MAX]:
        of = f" of {_listed(one.scenarios)}" if len(calendars) > 1 else ""
        yield paragraph(f"Calendar{of}: {_span(one)}{_waves(one)}", indent=indent)
    if len(calendars) > _LISTED_MAX:
        others = plural(len(calendars) - _LISTED_MAX, "other calendar")
        yield paragraph(f"And {others}: --json has all.", indent=indent)


def date_text(stamp: str) -> str:
    """Write a date of a record for people: `Mon 2026-01-05`; nothing for none."""
    if not stamp:
        return ""
    moment = datetime.fromisoformat(stamp)
    return Moment(moment.date(), moment.hour if "T" in stamp else None).short


def _span(one: Dates) -> str:
    span = f"{plural(one.ticks, 'tick')} of {a(one.tick_unit)} each, "
    span += f"from {date_text(one.first)} to {date_text(one.last)}"
    skipped = [f"{name.capitalize()}s" for name in one.skip_weekdays]
    if one.skip_dates:
        skipped.append(f"{plural(len(one.skip_dates), 'date')} ({_listed(one.skip_dates)})")
    if skipped:
        span += f", without {' and '.join(filter(None, (', '.join(skipped[:-1]), skipped[-1])))}"
    return f"{span}. People are told the date." if one.in_prompt else f"{span}."


def _waves(one: Dates) -> str:
    told = [f"tick {tick} is {date_text(day)}" for tick, day in one.waves.items()]
    return f" Waves: {_listed(told)}." if told else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {count(len(names) - _LISTED_MAX)} more" if len(names) > _LISTED_MAX else ""
    return ", ".join(names[:_LISTED_MAX]) + more
