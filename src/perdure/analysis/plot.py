"""Plots as data: what is drawn, in which units, and the same in words. Pure.

Every plot stands beside a table that has its numbers, so a renderer that cannot draw leaves nothing
out but the picture.
"""

from __future__ import annotations

from enum import StrEnum

from perdure.records.record import Record


class PlotKind(StrEnum):
    """What is drawn.

    LINES: a value at each tick. BARS: a value of each row, from zero. DOTS: two values of each row,
    one predicted and one real. CALIBRATION: how often what was said came true.
    """

    LINES = "lines"
    BARS = "bars"
    DOTS = "dots"
    CALIBRATION = "calibration"


class Unit(StrEnum):
    """What values are written in: both are hundredths of a share."""

    PERCENT = "percent"
    POINTS = "points"


class Mark(Record):
    """One value, and what it stands at.

    `at` is the tick of LINES, and the probability that was said of CALIBRATION; rows have a `label`
    instead. `low` and `high` bound the value, where that could be measured; `real` is what it is
    compared with; `weight` is how many answers it rests on, where that is drawn.
    """

    value: float | None
    label: str = ""
    at: float = 0.0
    low: float | None = None
    high: float | None = None
    real: float | None = None
    weight: int = 0


class Series(Record):
    """Values that belong together, and their name."""

    name: str
    marks: tuple[Mark, ...]


class Panel(Record):
    """One picture of a plot. `real` is drawn across it, where there is one real value of all."""

    title: str
    series: tuple[Series, ...]
    real: float | None = None


class Plot(Record):
    """Pictures that share their scale, so that they can be compared by eye.

    `low` and `high` are the ends of the scale of values. `bounds` says what an interval is of, and
    is empty if nothing has one.
    """

    kind: PlotKind
    title: str
    panels: tuple[Panel, ...]
    unit: Unit = Unit.PERCENT
    low: float = 0.0
    high: float = 1.0
    across: str = "tick"
    bounds: str = ""
    note: str = ""
