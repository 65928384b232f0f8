"""What a study can tell, over whom, and how well calibrated it is, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

from perdure.analysis.address import address
from perdure.analysis.beside import Beside
from perdure.analysis.calibration import Calibration
from perdure.analysis.document import Block
from perdure.analysis.figures import MEAN
from perdure.analysis.interval import Interval
from perdure.analysis.over_personas import PersonaFigures
from perdure.analysis.prediction import Fit, Prediction
from perdure.analysis.questions import QuestionShares
from perdure.analysis.report import Outcome, Report
from perdure.analysis.weighting import Weighting
from perdure.cli.change_view import in_points
from perdure.cli.figures import (
    LEVELS,
    MOVES,
    count,
    figure_name,
    hundredths,
    percent,
    plural,
    points,
    score,
)
from perdure.cli.grouped_table import by_scenario
from perdure.cli.spread_view import in_percent
from perdure.cli.tables import heading, paragraph, table

_ROWS_MAX = 60


def telling_parts(report: Report) -> Iterator[Block]:
    """Draw the warning that a report begins with, if there is one."""
    if report.telling.sentence:
        yield paragraph(report.telling.sentence, style="bold")


def statistics_parts(report: Report) -> Iterator[Block]:
    """Draw the intervals over personas, the calibration, and the run beside this one."""
    yield from _over_personas(report)
    if report.outcome is not None:
        last = {one.scenario: one for one in report.predictions}
        for prediction in last.values():
            if not prediction.same_as:
                yield from _calibration(prediction, report.outcome, report.grouped_by)
        if len(last) < len(report.predictions):
            yield paragraph("Calibration and log loss of earlier waves: --json.", indent=2)
    if report.beside is not None:
        yield from _beside(report.beside, report.run_id)
    if report.telling.compared and not report.telling.sentence:
        yield paragraph(f"\n{report.notes['telling']}", style="dim")


def _over_personas(report: Report) -> Iterator[Block]:
    if not any(one.figures for one in report.over_personas):
        return
    yield heading("Over personas: shares and differences at waves")
    for question in report.questions:
        mine = [one for one in report.over_personas if one.question == question.id and one.figures]
        for reference in dict.fromkeys(one.reference for one in mine):
            what = f", difference from {reference}{in_points(question)}" if reference else ""
            said = what or in_percent(question)
            yield heading(f"{question.id}: over personas{said}", level=3)
            found = [one for one in mine if one.reference == reference]
            yield from _persona_table(found, question, weighted=report.weighting.applied)
    yield paragraph(_weighting(report.weighting), indent=2)
    yield paragraph(report.notes["over_personas"], style="dim")


def _persona_table(
    found: Sequence[PersonaFigures], question: QuestionShares, *, weighted: bool
) -> Iterator[Block]:
    """Draw figures of one question that are against one scenario, or none: whole waves of them."""
    sizes = accumulate(len(one.figures) for one in found)
    drawn = found[: max(1, sum(size <= _ROWS_MAX for size in sizes))]
    against = {"against": found[0].reference} if found[0].reference else {}
    more = ["by weight", "95 % interval"] if weighted else []
    behind = address("personas", question.id, "SCENARIO", "TICK", **against)
    yield from by_scenario(
        ["scenario", "tick", "figure", "people", "value", "95 % interval", *more],
        [row for one in drawn for row in _rows(one, question.choices, weighted=weighted)],
        left=3,
        figures=[
            address("personas", question.id, one.scenario, one.tick, key, **against)
            for one in drawn
            for key in ("mean" if name == MEAN else name for name in one.figures)
        ],
        behind=f"'{behind}'" if against else behind,
    )
    if left := sum(len(one.figures) for one in found[len(drawn) :]):
        yield paragraph(f"With --json: {plural(left, 'more row')} of {question.id}.", indent=2)


def _rows(
    one: PersonaFigures, labels: Mapping[str, str], *, weighted: bool
) -> Iterator[Sequence[str]]:
    for choice, found in one.figures.items():
        heavy = one.weighted.figures[choice] if one.weighted else Interval(value=None)
        write = (MOVES if one.reference else LEVELS).of(choice)
        more = [write(heavy.value), _bounds(heavy, write)] if weighted else []
        yield [
            one.scenario,
            str(one.tick),
            figure_name(choice, labels),
            count(one.personas),
            write(found.value),
            _bounds(found, write),
            *more,
        ]


def _bounds(found: Interval, write: Callable[[float | None], str]) -> str:
    return "none" if found.low is None else f"{write(found.low)} to {write(found.high)}"


def _weighting(weighting: Weighting) -> str:
    if not weighting.applied:
        return f"Not by weight: {weighting.why}."
    return (
        f"By weight: {plural(weighting.personas, 'persona')} count as much as "
        f"{hundredths((weighting.effective or 0.0) / 100)} of equal weight (Kish)."
    )


def _calibration(prediction: Prediction, outcome: Outcome, by: str) -> Iterator[Block]:
    found, choices, name = prediction.calibration, outcome.choices, outcome.name
    keys = ("predictions", prediction.scenario, prediction.tick)
    yield heading(f"{name}: calibration, {prediction.scenario}, wave at tick {prediction.tick}")
    if found.groups:
        yield table(
            ["group", "choice", "people", "predicted", "real", "gap"],
            [
                [
                    one.label,
                    choices.get(one.choice, one.choice),
                    count(one.personas),
                    percent(one.predicted),
                    percent(one.real),
                    points(one.predicted - one.real),
                ]
                for one in found.groups
            ],
            left=2,
            figures=[
                address(*keys, by=by, group=one.group) if by else address(*keys)
                for one in found.groups
            ],
            behind=address(*keys),
        )
    if found.bins:
        yield paragraph("")
        yield table(
            ["probability", "pairs", "predicted", "real", "gap"],
            [
                [
                    f"{percent(one.low, 0)} to {percent(one.high, 0)}",
                    count(one.pairs),
                    percent(one.predicted),
                    percent(one.real),
                    points(one.predicted - one.real),
                ]
                for one in found.bins
            ],
            figures=[address(*keys) for _ in found.bins],
            behind=address(*keys),
        )
    yield paragraph(_gap_line(found), indent=2)
    fit = prediction.overall.fit
    yield paragraph(
        f"Log loss {score(fit.log_loss)}; always the most common value "
        f"{score(prediction.overall.always.log_loss)}; {plural(fit.floored, 'persona')} at the "
        "floor.",
        indent=2,
    )


def _gap_line(found: Calibration) -> str:
    groups = (
        f"mean absolute gap over groups {percent(found.group_gap)}"
        if found.group_gap is not None
        else f"no groups: {found.no_groups}"
    )
    bins = (
        f"over bins of probability {percent(found.bin_gap)}"
        if found.bin_gap is not None
        else f"no bins: {found.no_bins}"
    )
    return f"{groups[0].upper()}{groups[1:]}; {bins}."


def _beside(beside: Beside, run_id: str) -> Iterator[Block]:
    models = ", ".join(beside.models)
    yield heading(f"Beside run {beside.run_id} ({beside.study}: {models})")
    if beside.why:
        yield paragraph(f"Not compared: {beside.why}.", indent=2)
        return
    columns = ["scenario", "tick", "who", "people", "accuracy", "Brier", "log loss"]
    rows: list[list[str]] = []
    for one in beside.rows:
        named = ((run_id, one.own), (beside.run_id, one.other), ("most common", one.always))
        rows.extend(
            [one.scenario, str(one.tick), who, count(one.personas), *_fits(found)]
            for who, found in named
        )
    at = [address("beside", one.scenario, one.tick) for one in beside.rows for _ in range(3)]
    yield table(columns, rows, left=3, figures=at, behind="beside/SCENARIO/TICK --beside DIR2")
    yield paragraph("Each wave over the personas that both runs have an answer of.", style="dim")


def _fits(found: Fit) -> list[str]:
    return [percent(found.accuracy), score(found.brier), score(found.log_loss)]
