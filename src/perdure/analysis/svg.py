"""One picture of a plot as inline SVG: no script, no style of its own, nothing from elsewhere.

Sizes are in CSS pixels of a picture that is `WIDTH` wide. A page shows it at least 320 wide, so
that no text comes out below 11 pixels. Colour comes from the page by class, and is never the only
thing that tells two series apart: each has its own dashes and its own shape of mark.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from perdure.analysis.plot import Mark, Panel, Plot, PlotKind, Scale, scale_of, words
from perdure.base.text import one_line, printable

WIDTH = 340
SERIES_MAX = 6

_LEFT, _RIGHT, _TOP, _FOOT = 46, 14, 12, 40
_TALL = 230
_ROW = 40
_SIDE = 20
_DODGE = 5
_LABEL_MAX = 50  # characters beside each other, at twelve pixels
_TICKS_MAX = 6
_SPAN = 2
_BANDS_MAX = 2  # more of them over each other tell nothing apart
_NEGATIVE = re.compile(r"(?<![\w.])-(?=\d)")

_Drawn = tuple[int, str]  # a height, and what is in it
_Scaled = Callable[[float], float]  # where a value lies, in pixels


def svg(plot: Plot, panel: Panel, name: str) -> str:
    """Draw a panel. `name` is an id that is unique on the page."""
    scale = scale_of(plot)
    draw = _CHARTS.get(plot.kind, _rows)
    height, body = draw(plot, panel, scale)
    return (
        f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}">'
        f'<title id="{name}-t">{_text(f"{plot.title}: {panel.title}".removesuffix(": "))}</title>'
        f'<desc id="{name}-d">{_text(words(plot, panel))}</desc>'
        f"{body}</svg>"
    )


def sample(place: int) -> str:
    """Draw how a series looks, for the key beside its name."""
    line = f'<path class="line" d="M1 8H35"{_dashes(place)}/>'
    return (
        f'<svg class="s{place}" aria-hidden="true" viewBox="0 0 36 16" width="36" height="16">'
        f"{line}{_shape(place, 18, 8)}</svg>"
    )


def dot_sample(*, real: bool) -> str:
    """Draw the mark of a predicted or of a real value, for the key."""
    drawn = _diamond(10, 8) if real else '<circle class="dot" cx="10" cy="8" r="5"/>'
    return (
        '<svg class="s0" aria-hidden="true" viewBox="0 0 20 16" width="20" height="16">'
        f"{drawn}</svg>"
    )


def _lines(plot: Plot, panel: Panel, scale: Scale) -> _Drawn:
    bottom = _TALL - _FOOT
    ats = sorted({mark.at for series in panel.series for mark in series.marks})
    first, last = (ats[0], ats[-1]) if ats else (0.0, 0.0)
    inner = _LEFT + 12, WIDTH - _RIGHT - 12

    def across(at: float) -> float:
        if last == first:
            return (inner[0] + inner[1]) / 2
        return inner[0] + (at - first) / (last - first) * (inner[1] - inner[0])

    def up(value: float) -> float:
        return _place(value, scale, bottom, _TOP)

    parts = [_levels(plot, scale, up)]
    parts.extend(_label(across(at), bottom + 16, f"{at:g}", "middle") for at in _few(ats))
    parts.append(_label((_LEFT + WIDTH - _RIGHT) / 2, _TALL - 6, plot.across, "middle", "axis"))
    for place, series in enumerate(panel.series[:SERIES_MAX]):
        shift = (place - (len(panel.series[:SERIES_MAX]) - 1) / 2) * _DODGE
        points = [(across(mark.at) + shift, mark) for mark in series.marks]
        if len(panel.series) <= _BANDS_MAX:
            parts.append(f'<g class="s{place}">{"".join(_bands(points, up))}</g>')
        parts.append(f'<g class="s{place}">{"".join(_series(points, place, up))}</g>')
    if panel.real is not None:
        level = up(panel.real)
        above = level - 5 if level > _TOP + 14 else level + 14
        parts.append(f'<path class="real" d="M{_LEFT} {_n(level)}H{WIDTH - _RIGHT}"/>')
        parts.append(_label(WIDTH - _RIGHT, above, f"real {panel.real_text}", "end", "real-label"))
    return _TALL, "".join(parts)


def _bands(points: Sequence[tuple[float, Mark]], up: _Scaled) -> Iterator[str]:
    """Shade between the bounds of values that follow each other."""
    for bounded, run in groupby(points, key=lambda one: _bounds(one[1]) is not None):
        ends = [(x, bounds) for x, mark in run if bounded and (bounds := _bounds(mark))]
        if len(ends) >= _SPAN:
            there = " ".join(f"{_n(x)} {_n(up(high))}" for x, (_, high) in ends)
            back = " ".join(f"{_n(x)} {_n(up(low))}" for x, (low, _) in reversed(ends))
            yield f'<path class="band" d="M{there} {back}Z"/>'


def _series(points: Sequence[tuple[float, Mark]], place: int, up: _Scaled) -> Iterator[str]:
    known = [(x, mark, mark.value) for x, mark in points if mark.value is not None]
    for x, mark in points:
        if bounds := _bounds(mark):
            yield _whisker_up(x, up(bounds[0]), up(bounds[1]))
    for _, run in groupby(points, key=lambda one: one[1].value is not None):
        line = [(x, mark.value) for x, mark in run if mark.value is not None]
        if len(line) >= _SPAN:
            path = " ".join(f"{_n(x)} {_n(up(value))}" for x, value in line)
            yield f'<path class="line" d="M{path}"{_dashes(place)}/>'
    for x, mark, _ in known:
        for value in mark.each:
            yield f'<circle class="each" cx="{_n(x)}" cy="{_n(up(value))}" r="2"/>'
    for x, mark, value in known:
        yield f"<g{_data(mark)}>{_shape(place, x, up(value))}</g>"


def _rows(plot: Plot, panel: Panel, scale: Scale) -> _Drawn:
    marks = [mark for series in panel.series for mark in series.marks]
    bottom = _TOP + _ROW * len(marks)

    def along(value: float) -> float:
        return _place(value, scale, _SIDE, WIDTH - _SIDE)

    parts = []
    for step in scale.steps:
        x = _n(along(step))
        kind = "zero" if step == 0 else "grid"
        lines = "".join(f"M{x} {_TOP + _ROW * place + 17}v16" for place in range(len(marks)))
        parts.append(f'<path class="{kind}" d="{lines}"/>')
    parts.extend(
        _label(along(step), bottom + 16, _level(step, plot.unit), "middle") for step in scale.steps
    )
    for place, mark in enumerate(marks):
        y = _TOP + _ROW * place
        said = _NEGATIVE.sub("\N{MINUS SIGN}", mark.text.partition(" (")[0])
        parts.append(_label(0, y + 12, one_line(mark.label, _LABEL_MAX - len(said)), "start"))
        parts.append(_label(WIDTH, y + 12, said, "end", "value"))
        draw = _pair if plot.kind is PlotKind.DOTS else _bar
        parts.append(f'<g class="s0"{_data(mark)}>{"".join(draw(mark, y + 25, along))}</g>')
    return bottom + 24, "".join(parts)


def _data(mark: Mark) -> str:
    return f' data-figure="{_text(mark.figure)}"' if mark.figure else ""


def _bar(mark: Mark, y: float, along: _Scaled) -> Iterator[str]:
    if mark.value is None:
        return
    start, end = sorted((along(0.0), along(mark.value)))
    yield (
        f'<rect class="bar" x="{_n(start)}" y="{_n(y - 5)}" width="{_n(end - start)}" height="10"/>'
    )
    for value in mark.each:
        yield f'<circle class="each" cx="{_n(along(value))}" cy="{_n(y)}" r="2"/>'
    bounds = _bounds(mark)
    if bounds is not None:
        low, high = map(along, bounds)
        yield (
            f'<path class="whisker" d="M{_n(low)} {_n(y)}H{_n(high)}'
            f'M{_n(low)} {_n(y - 4)}v8M{_n(high)} {_n(y - 4)}v8"/>'
        )


def _pair(mark: Mark, y: float, along: _Scaled) -> Iterator[str]:
    if mark.value is not None and mark.real is not None:
        yield f'<path class="link" d="M{_n(along(mark.value))} {_n(y)}H{_n(along(mark.real))}"/>'
    if mark.value is not None:
        yield f'<circle class="dot" cx="{_n(along(mark.value))}" cy="{_n(y)}" r="5"/>'
    if mark.real is not None:
        yield _diamond(along(mark.real), y)


def _calibration(plot: Plot, panel: Panel, scale: Scale) -> _Drawn:
    side = WIDTH - _LEFT - _RIGHT
    bottom = _TOP + side

    def across(value: float) -> float:
        return _place(value, scale, _LEFT, WIDTH - _RIGHT)

    def up(value: float) -> float:
        return _place(value, scale, bottom, _TOP)

    parts = [_levels(plot, scale, up)]
    parts.extend(
        _label(across(step), bottom + 16, _level(step, plot.unit), "middle") for step in scale.steps
    )
    parts.append(_label((_LEFT + WIDTH - _RIGHT) / 2, bottom + 34, plot.across, "middle", "axis"))
    parts.append(f'<path class="real" d="M{_LEFT} {bottom}L{WIDTH - _RIGHT} {_TOP}"/>')
    for place, series in enumerate(panel.series[:SERIES_MAX]):
        points = [(across(mark.at), mark) for mark in series.marks]
        parts.append(f'<g class="s{place}">{"".join(_series(points, place, up))}</g>')
    return bottom + 40, "".join(parts)


def _levels(plot: Plot, scale: Scale, up: _Scaled) -> str:
    """Draw a line across for each step of an upright scale."""
    parts = []
    for step in scale.steps:
        y = up(step)
        kind = "zero" if step == 0 and scale.low < 0 else "grid"
        parts.append(f'<path class="{kind}" d="M{_LEFT} {_n(y)}H{WIDTH - _RIGHT}"/>')
        parts.append(_label(_LEFT - 6, y + 4, _level(step, plot.unit), "end"))
    return "".join(parts)


def _level(step: float, unit: str) -> str:
    if not unit:
        return _signed(step)
    hundredths = round(100 * step, 4)
    return f"{hundredths:g} %" if unit == "%" else _signed(hundredths)


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "\N{MINUS SIGN}") if value else "0"


def _few(ats: Sequence[float]) -> Sequence[float]:
    """Choose the ticks that are named: all, or a few with the last one."""
    if len(ats) <= _TICKS_MAX:
        return ats
    every = -(-len(ats) // _TICKS_MAX)
    return [at for place, at in enumerate(reversed(ats)) if place % every == 0]


def _bounds(mark: Mark) -> tuple[float, float] | None:
    return None if mark.low is None or mark.high is None else (mark.low, mark.high)


def _place(value: float, scale: Scale, start: float, end: float) -> float:
    return start + (value - scale.low) / (scale.high - scale.low) * (end - start)


def _whisker_up(x: float, low: float, high: float) -> str:
    return (
        f'<path class="whisker" d="M{_n(x)} {_n(low)}V{_n(high)}'
        f'M{_n(x - 4)} {_n(low)}h8M{_n(x - 4)} {_n(high)}h8"/>'
    )


def _dashes(place: int) -> str:
    dashes = ("", "7 3", "2 3", "10 3 2 3", "4 2", "12 4")[place]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _shape(place: int, x: float, y: float) -> str:
    """Draw the mark of a series: each has a shape of its own."""
    if place == 0:
        return f'<circle class="dot" cx="{_n(x)}" cy="{_n(y)}" r="4.5"/>'
    paths = (
        "m-4.2-4.2h8.4v8.4h-8.4z",  # a square
        "m0-5.4 5 9h-10z",  # a triangle
        "m0-5.8 5.8 5.8-5.8 5.8-5.8-5.8z",  # a diamond
        "m0 5.4 5-9h-10z",  # a triangle on its tip
        "m-5-2h3v-3h4v3h3v4h-3v3h-4v-3h-3z",  # a cross
    )
    return f'<path class="dot" d="M{_n(x)} {_n(y)}{paths[place - 1]}"/>'


def _diamond(x: float, y: float) -> str:
    return f'<path class="hollow" d="M{_n(x)} {_n(y - 6.5)}l6.5 6.5-6.5 6.5-6.5-6.5z"/>'


def _label(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{_text(text)}</text>'


def _text(text: str) -> str:
    return html.escape(printable(text))


def _n(number: float) -> str:
    """Write a length: a tenth of a pixel is more than can be seen, and the same everywhere."""
    return f"{number + 0.0:.1f}".removesuffix(".0")


_CHARTS = {PlotKind.LINES: _lines, PlotKind.CALIBRATION: _calibration}
