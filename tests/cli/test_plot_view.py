"""A report's plots carry the figures of its record, and there are none where none can be read."""

from __future__ import annotations

import msgspec
import pytest

from perdure.analysis.plot import Plot, PlotKind
from perdure.analysis.report import Report, build_report
from perdure.cli.plot_view import CHOICES_MAX, SCENARIOS_MAX, share_plots
from perdure.cli.record import opened
from perdure.cli.report_view import report_parts
from perdure.records.scenario import QuestionType


@pytest.fixture
def report(recorded) -> Report:
    """Build the report of the small run: two waves, two seeds, two choices, a held-out outcome."""
    with opened(recorded()) as record:
        return build_report(record)


def plots(report: Report) -> list[Plot]:
    """Give the plots of a report."""
    return [block for block in report_parts(report) if isinstance(block, Plot)]


def of(report: Report, title: str) -> Plot:
    """Give the one plot whose title has these words."""
    (found,) = (plot for plot in plots(report) if title in plot.title)
    return found


def test_shares_are_those_of_the_record(report):
    """At each wave the mean over seeds, what each seed gave, and the real share across."""
    plot = of(report, "shares by tick")
    (panel,) = plot.panels
    (question,) = (one for one in report.questions if one.id == "vote")
    waves = [row for row in question.ticks if row.wave]
    (series,) = panel.series
    assert series.name == "plain"
    assert [mark.at for mark in series.marks] == [row.tick for row in waves] == [0, 2]
    for mark, row in zip(series.marks, waves, strict=True):
        assert mark.value == row.between.spreads["ann"].mean
        assert mark.each == tuple(one.shares["ann"] for one in row.by_seed)
        assert len(mark.each) == 2
        assert mark.text.startswith(f"{100 * (mark.value or 0):.1f} %")
    real = {share.choice: share.share for share in report.predictions[0].overall.real}
    assert panel.real == real["ann"]
    assert "The other choice mirrors it: Bob." in plot.note


def test_changes_are_those_of_the_record(report):
    """The mean over seeds and each seed's own, in points."""
    plot = of(report, "change from first to last wave")
    (mark,) = plot.panels[0].series[0].marks
    (change,) = report.changes
    assert plot.kind is PlotKind.BARS
    assert mark.value == change.between.spreads["ann"].mean
    assert mark.each == tuple(seed.change["ann"] for seed in change.seeds)


def test_predicted_stands_beside_real_for_everyone_and_each_group(report):
    """In the order of the table."""
    found = [plot for plot in plots(report) if plot.kind is PlotKind.DOTS]
    assert len(found) == len(report.predictions)
    marks = found[0].panels[0].series[0].marks
    first = report.predictions[0]
    assert [mark.label for mark in marks] == ["everyone", *(one.label for one in first.groups)]
    assert marks[0].value == first.overall.predicted[0].share
    assert marks[0].real == first.overall.real[0].share


def test_one_seed_has_neither_dots_nor_interval(report):
    """Its share is what it is."""
    (question,) = (one for one in report.questions if one.id == "vote")
    spread = question.ticks[0].between.spreads["ann"]
    alone = msgspec.structs.replace(spread, seeds=1, sd=None, low=None, high=None)
    rows = tuple(
        msgspec.structs.replace(
            row,
            by_seed=row.by_seed[:1],
            between=msgspec.structs.replace(row.between, spreads={"ann": alone, "bob": alone}),
        )
        for row in question.ticks
    )
    (plot,) = share_plots(msgspec.structs.replace(question, ticks=rows), "vote", wave=True)
    marks = plot.panels[0].series[0].marks
    assert {mark.each for mark in marks} == {()}
    assert {mark.low for mark in marks} == {None}
    assert "seed" not in plot.note


def test_what_cannot_be_told_apart_is_not_drawn(report):
    """One wave is no line; with many scenarios there is no picture."""
    (question,) = (one for one in report.questions if one.id == "vote")
    one = tuple(row for row in question.ticks if row.tick == 0)
    assert not list(share_plots(msgspec.structs.replace(question, ticks=one), "vote", wave=True))
    for number, drawn in ((SCENARIOS_MAX, 1), (SCENARIOS_MAX + 1, 0)):
        many = tuple(
            msgspec.structs.replace(row, scenario=f"s{place}")
            for place in range(number)
            for row in question.ticks
            if row.wave
        )
        asked = msgspec.structs.replace(question, ticks=many)
        assert len(list(share_plots(asked, "vote", wave=True))) == drawn


def test_of_many_choices_the_most_common_are_drawn_and_the_rest_counted(report):
    """In their own order, with the number of those in the tables alone."""
    (question,) = (one for one in report.questions if one.id == "vote")
    names = [f"c{place}" for place in range(CHOICES_MAX + 2)]
    rows = []
    for row in question.ticks:
        spread = row.between.spreads["ann"]
        shares = tuple(
            msgspec.structs.replace(row.shares[0], choice=name, count=place)
            for place, name in enumerate(names)
        )
        rows.append(
            msgspec.structs.replace(
                row,
                shares=shares,
                by_seed=(),
                between=msgspec.structs.replace(row.between, spreads=dict.fromkeys(names, spread)),
            )
        )
    asked = msgspec.structs.replace(
        question, ticks=tuple(rows), choices={name: name.upper() for name in names}
    )
    (plot,) = share_plots(asked, "vote", wave=True)
    assert [panel.title for panel in plot.panels] == [name.upper() for name in names[2:]]
    assert "2 of 6 choices are in the tables alone." in plot.note


def test_two_choices_of_several_are_both_drawn(report):
    """An answer may give both or neither, so neither mirrors the other."""
    (question,) = (one for one in report.questions if one.id == "vote")
    several = msgspec.structs.replace(question, asks_for=QuestionType.SEVERAL)
    (plot,) = share_plots(several, "vote", wave=True)
    assert [panel.title for panel in plot.panels] == ["Ann", "Bob"]
    assert "mirrors" not in plot.note
