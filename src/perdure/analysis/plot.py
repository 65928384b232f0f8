"""Plots as data: what is drawn, on which scale, and the same in words. Pure.

Every plot stands beside a table that has its numbers, so a renderer that cannot draw leaves nothing
out but the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from enum import StrEnum

from perdure.records.record import Record

_SPAN_MIN = 0.02
_STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0)
_STEPS_MAX = 5
_TOLD_MAX = 40


class PlotKind(StrEnum):
    """What is drawn.

    LINES: a value at each tick. BARS: a value of each row, from zero. DOTS: two values of each row,
    one predicted and one real. CALIBRATION: how often something came true, by the probability that
    was given to it.
    """

    LINES = "lines"
    BARS = "bars"
    DOTS = "dots"
    CALIBRATION = "calibration"


class Mark(Record):
    """One value as a share or a difference of shares, with the `text` that says it.

    `at` is the tick of LINES, and the probability that was said of CALIBRATION; a row has a `label`
    instead. `low` and `high` bound the value, where that could be measured; `each` has what every
    seed gave. `real` is what the value of DOTS is compared with. `figure` is the mark's address.
    """

    value: float | None
    text: str
    label: str = ""
    at: float = 0.0
    low: float | None = None
    high: float | None = None
    real: float | None = None
    each: tuple[float, ...] = ()
    figure: str = ""


class Series(Record):
    """Values that belong together, and their name, which is empty if there is only one such."""

    name: str
    marks: tuple[Mark, ...]


class Panel(Record):
    """One picture of a plot. `real` is drawn across it, where one real value is that of all."""

    title: str
    series: tuple[Series, ...]
    real: float | None = None
    real_text: str = ""


class Plot(Record):
    """Pictures that share one scale, so that they can be compared by eye.

    `unit` is what the scale's hundredths are called; if it is empty the scale has the values as
    they are: differences of means. `across` names what lies across from it.
    `note` says what is drawn beside the values themselves.
    """

    kind: PlotKind
    title: str
    panels: tuple[Panel, ...]
    unit: str = "%"
    across: str = "tick"
    note: str = ""


class Scale(Record):
    """The ends of a scale and the values that are written at it."""

    low: float
    high: float
    steps: tuple[float, ...]


def scale_of(plot: Plot) -> Scale:
    """Find a scale that has room for every value of a plot and ends at round ones.

    Bars begin at zero, and a calibration has all of 0 to 1.
    """
    if plot.kind is PlotKind.CALIBRATION:
        return _scale(0.0, 1.0)
    values = [value for panel in plot.panels for value in _values(panel)]
    if plot.kind is PlotKind.BARS:
        values.append(0.0)
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low < _SPAN_MIN:
        middle = (low + high) / 2
        low, high = min(low, middle - _SPAN_MIN / 2), max(high, middle + _SPAN_MIN / 2)
        if plot.unit == "%":
            low = max(low, 0.0)
    return _scale(low, high)


def _scale(low: float, high: float) -> Scale:
    step = next((one for one in _STEPS if (high - low) / one <= _STEPS_MAX), _STEPS[-1])
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    steps = tuple(round(place * step, 6) for place in range(first, last + 1))
    return Scale(low=steps[0], high=steps[-1], steps=steps)


def _values(panel: Panel) -> Iterator[float]:
    found: list[float | None] = [panel.real]
    for series in panel.series:
        for mark in series.marks:
            found.extend((mark.value, mark.low, mark.high, mark.real, *mark.each))
    return (value for value in found if value is not None)


def words(plot: Plot, panel: Panel) -> str:
    """Say what a picture shows to somebody who does not see it, value by value."""
    told = [part for series in panel.series for part in _told(plot, series)]
    left = len(told) - _TOLD_MAX
    if left > 0:
        told = [*told[:_TOLD_MAX], f"and {left:,} more, which the tables have"]
    if panel.real is not None:
        told.append(f"real value {panel.real_text}")
    return f"{'; '.join(told)}." if told else "Nothing could be drawn."


def _told(plot: Plot, series: Series) -> Iterable[str]:
    start = f"{series.name}, " if series.name else ""
    for mark in series.marks:
        where = mark.label or f"{plot.across} {mark.at:g}"
        yield f"{start}{where}: {mark.text}"
