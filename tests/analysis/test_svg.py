"""A picture shows what it is given, on a scale with room for it, and says the same in words."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from perdure.analysis.plot import Mark, Panel, Plot, PlotKind, Series, scale_of, words
from perdure.analysis.svg import SERIES_MAX, WIDTH, sample, svg


def lines(*values: float | None, real: float | None = None, series: int = 1) -> Plot:
    """Make a plot of values at ticks 0, 1, ..."""
    marks = tuple(
        Mark(value=value, text=f"{value}", at=float(at)) for at, value in enumerate(values)
    )
    panel = Panel(
        title="Ann",
        series=tuple(Series(name=f"s{n}", marks=marks) for n in range(series)),
        real=real,
        real_text=f"{real}",
    )
    return Plot(kind=PlotKind.LINES, title="t", panels=(panel,))


def rows(kind: PlotKind, *marks: Mark, unit: str = "points") -> Plot:
    """Make a plot of rows."""
    panel = Panel(title="Ann", series=(Series(name="", marks=marks),))
    return Plot(kind=kind, title="t", panels=(panel,), unit=unit)


def drawn(plot: Plot) -> list[tuple[str, dict[str, str]]]:
    """Draw the first panel, and give its parts."""
    root = ET.fromstring(svg(plot, plot.panels[0], "p"))
    return [(one.tag, dict(one.attrib)) for one in root.iter()]


def of(plot: Plot, kind: str) -> list[dict[str, str]]:
    """Give the parts of one class."""
    return [attributes for _, attributes in drawn(plot) if attributes.get("class") == kind]


def test_a_scale_has_room_for_all_and_ends_at_round_values():
    """Real values, bounds and single seeds count too."""
    scale = scale_of(lines(0.514, 0.534, real=0.584))
    assert (scale.low, scale.high) == (0.5, 0.6)
    assert scale.steps == (0.5, 0.52, 0.54, 0.56, 0.58, 0.6)
    wide = scale_of(rows(PlotKind.BARS, Mark(value=0.1, text="", low=-0.3, high=0.72, each=(0.9,))))
    assert wide.low <= -0.3
    assert wide.high >= 0.9


def test_bars_begin_at_zero():
    """Else a small difference would look like a large one."""
    scale = scale_of(rows(PlotKind.BARS, Mark(value=0.5, text=""), Mark(value=0.6, text="")))
    assert scale.low == 0.0
    plot = rows(PlotKind.BARS, Mark(value=0.2, text=""), Mark(value=-0.1, text=""))
    right, left = (float(one["width"]) for one in of(plot, "bar"))
    assert right == pytest.approx(2 * left, abs=0.2)


def test_a_scale_of_one_value_is_no_point():
    """Where all values are the same there is a scale around them."""
    for value in (0.0, 0.5, 1.0):
        scale = scale_of(lines(value))
        assert scale.low <= value <= scale.high
        assert scale.high > scale.low


def test_higher_is_up_and_later_is_right():
    """Values stand where the scale says."""
    points = [(float(one["cx"]), float(one["cy"])) for one in of(lines(0.2, 0.8, 0.5), "dot")]
    assert points[0][0] < points[1][0] < points[2][0]
    assert points[1][1] < points[2][1] < points[0][1]


def test_what_was_not_measured_breaks_the_line():
    """Nothing is drawn between two values with an unknown one between them."""
    assert len(of(lines(0.2, 0.3, None, 0.4, 0.5), "line")) == 2
    assert len(of(lines(0.2, 0.3, 0.35, 0.4, 0.5), "line")) == 1
    assert len(of(lines(0.2, None, 0.5), "dot")) == 2


def test_bounds_are_drawn_where_there_are_some():
    """A whisker at each value that has an interval, and none at others."""
    marks = (
        Mark(value=0.5, text="", at=0, low=0.4, high=0.6),
        Mark(value=0.5, text="", at=1, low=0.3, high=0.7),
        Mark(value=0.5, text="", at=2),
    )
    panel = Panel(title="", series=(Series(name="", marks=marks),))
    plot = Plot(kind=PlotKind.LINES, title="t", panels=(panel,))
    assert len(of(plot, "whisker")) == 2
    assert len(of(plot, "band")) == 1
    assert len(of(rows(PlotKind.BARS, *marks), "whisker")) == 2


def test_colour_is_never_the_only_thing_that_tells_series_apart():
    """Each has a shape and dashes of its own."""
    shapes, dashes = set(), set()
    for place in range(SERIES_MAX):
        line, shape = list(ET.fromstring(sample(place)))
        dashes.add(line.get("stroke-dasharray"))
        shapes.add((shape.tag, (shape.get("d") or "")[6:]))
    assert len(shapes) == len(dashes) == SERIES_MAX


def test_predicted_and_real_have_marks_of_their_own():
    """A dot and a hollow diamond, linked; what is unknown is not drawn."""
    plot = rows(
        PlotKind.DOTS,
        Mark(value=0.5, real=0.6, text="", label="a"),
        Mark(value=None, real=0.6, text="", label="b"),
    )
    assert [len(of(plot, kind)) for kind in ("dot", "hollow", "link")] == [1, 2, 1]


def test_what_is_said_truly_is_on_the_diagonal():
    """A share that equals its probability is as far across as it is up."""
    mark = Mark(value=0.25, text="", at=0.25)
    panel = Panel(title="", series=(Series(name="", marks=(mark,)),))
    plot = Plot(kind=PlotKind.CALIBRATION, title="t", panels=(panel,), across="said")
    (dot,) = of(plot, "dot")
    start, end = (
        tuple(map(float, part.split())) for part in of(plot, "real")[0]["d"][1:].split("L")
    )
    across = (float(dot["cx"]) - start[0]) / (end[0] - start[0])
    up = (start[1] - float(dot["cy"])) / (start[1] - end[1])
    assert across == pytest.approx(0.25, abs=0.01)
    assert up == pytest.approx(0.25, abs=0.01)


def test_everything_lies_inside_the_picture():
    """Nothing is cut off at its edges."""
    for kind in PlotKind:
        least = 0.0 if kind is PlotKind.CALIBRATION else -1.0
        marks = [
            Mark(value=value, text="+100.0", low=least, high=1.0, label="x" * 90, at=max(value, 0))
            for value in (least, 1.0)
        ]
        plot = rows(kind, *marks)
        root = ET.fromstring(svg(plot, plot.panels[0], "p"))
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        assert width == WIDTH
        for one in root.iter():
            for name in ("x", "cx"):
                assert 0 <= float(one.get(name, "0")) <= width
            for name in ("y", "cy"):
                assert 0 <= float(one.get(name, "0")) <= height


def test_it_is_an_image_with_a_name_and_the_values_in_words():
    """Who cannot see it is told every value, and of very many how many are left."""
    plot = lines(0.2, 0.8, real=0.5)
    drawing = svg(plot, plot.panels[0], "p")
    assert 'role="img" aria-labelledby="p-t p-d"' in drawing
    assert '<title id="p-t">t: Ann</title>' in drawing
    told = "s0, tick 0: 0.2; s0, tick 1: 0.8; real value 0.5."
    assert words(plot, plot.panels[0]) == told
    assert f'<desc id="p-d">{told}</desc>' in drawing
    many = lines(*[0.5] * 45)
    assert "; and 5 more, which the tables have." in words(many, many.panels[0])


def test_no_more_series_are_drawn_than_can_be_told_apart():
    """The views ask for no more; a plot with more does not break."""
    groups = {one["class"] for one in of(lines(0.1, 0.2, series=9), "s5")}
    assert groups == {"s5"}
    many = lines(0.1, series=9)
    assert 'class="s6"' not in svg(many, many.panels[0], "p")
