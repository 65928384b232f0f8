"""What of a report is drawn: shares over ticks, changes and differences, predicted against real.

Where there are more scenarios or choices than can be told apart by eye, there is no picture of all
of them, and the tables have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from perdure.analysis.address import address
from perdure.analysis.change import Change
from perdure.analysis.difference import Difference
from perdure.analysis.figures import MEAN
from perdure.analysis.plot import Mark, Panel, Plot, PlotKind, Series
from perdure.analysis.prediction import GroupFit, Prediction
from perdure.analysis.questions import ClaimShares, QuestionShares, TickShares
from perdure.analysis.replicates import Between
from perdure.analysis.shares import Share
from perdure.analysis.spread import Spread
from perdure.cli.figures import percent, points, signed

SCENARIOS_MAX = 6
CHOICES_MAX = 4
_ROWS_MAX = 16
_LINE_MIN = 2  # ticks that a line joins

_Write = Callable[[float | None], str]


def share_plots(
    question: QuestionShares,
    name: str,
    *,
    wave: bool,
    predictions: Sequence[Prediction] = (),
) -> Iterator[Plot]:
    """Draw the shares of a question over its waves, or over its other ticks."""
    rows = [row for row in question.ticks if row.wave is wave]
    scenarios = list(dict.fromkeys(row.scenario for row in rows))
    if len({row.tick for row in rows}) < _LINE_MIN or len(scenarios) > SCENARIOS_MAX:
        return
    if not question.choices:
        return
    chosen = _chosen(question, rows)
    real = {one.choice: one.share for one in predictions[0].overall.real} if predictions else {}
    panels = [
        Panel(
            title=question.choices[choice],
            series=tuple(
                Series(
                    name=scenario,
                    marks=tuple(
                        _tick(question.id, row, choice) for row in rows if row.scenario == scenario
                    ),
                )
                for scenario in scenarios
            ),
            real=real.get(choice),
            real_text=percent(real.get(choice)),
        )
        for choice in chosen
    ]
    yield Plot(
        kind=PlotKind.LINES,
        title=f"{name}: shares by tick",
        panels=tuple(panels),
        note=_note([row.between for row in rows], _left_out(question, chosen)),
    )


def claim_plots(question: QuestionShares, claims: Sequence[ClaimShares]) -> Iterator[Plot]:
    """Draw the shares of one choice by the claim that was shown."""
    scenarios = list(dict.fromkeys(one.scenario for one in claims))
    if len(scenarios) > SCENARIOS_MAX or len(claims) > len(scenarios) * _ROWS_MAX:
        return
    if not question.choices:
        return
    chosen = _chosen(question, claims)[:1]
    label = question.choices[chosen[0]]
    panels = [
        Panel(
            title=scenario,
            series=(
                Series(
                    name="",
                    marks=tuple(
                        _claim(question.id, one, chosen[0])
                        for one in claims
                        if one.scenario == scenario
                    ),
                ),
            ),
        )
        for scenario in scenarios
    ]
    yield Plot(
        kind=PlotKind.BARS,
        title=f"{question.id}: share of {label} by claim shown",
        panels=tuple(panels),
        note=_note([one.between for one in claims], _left_out(question, chosen)),
    )


def change_plots(changes: Sequence[Change], name: str, question: QuestionShares) -> Iterator[Plot]:
    """Draw how far the shares of each scenario moved from its first wave to its last."""
    rows = [(one.scenario, one) for one in changes]
    yield from _moved(rows, f"{name}: change from first to last wave", question)


def difference_plots(
    differences: Sequence[Difference], name: str, question: QuestionShares
) -> Iterator[Plot]:
    """Draw how far the shares of scenarios are from those of one of them."""
    if not differences:
        return
    rows = [(f"{one.scenario}, tick {one.tick}", one) for one in differences]
    yield from _moved(rows, f"{name}: difference from {differences[0].reference}", question)


def group_figure(prediction: Prediction, group: GroupFit, by: str, *choice: str) -> str:
    """Give the address of a group's prediction; `by` is the attribute that it is a group of."""
    filters = {"by": by, "group": group.group} if group.group else {}
    return address("predictions", prediction.scenario, prediction.tick, *choice, **filters)


def group_plots(
    prediction: Prediction, name: str, question: QuestionShares, by: str
) -> Iterator[Plot]:
    """Draw what was predicted for each group of people beside what is real.

    `by` is the attribute that they are groups of.
    """
    groups = [("everyone", prediction.overall)]
    groups.extend((group.label, group) for group in prediction.groups)
    if len(groups) > _ROWS_MAX:
        return
    chosen = _most(question, {one.choice: one.count for one in prediction.overall.real})
    panels = [
        Panel(
            title=question.choices[choice],
            series=(
                Series(
                    name="",
                    marks=tuple(
                        _pair(label, fit, choice, group_figure(prediction, fit, by, choice))
                        for label, fit in groups
                    ),
                ),
            ),
        )
        for choice in chosen
    ]
    yield Plot(
        kind=PlotKind.DOTS,
        title=f"{name}: predicted and real, {prediction.scenario}, tick {prediction.tick}",
        panels=tuple(panels),
        note=_left_out(question, chosen),
    )


def _moved(
    rows: Sequence[tuple[str, Change | Difference]], title: str, question: QuestionShares
) -> Iterator[Plot]:
    measured = [
        (label, moved)
        for label, moved in rows
        if any(one.seeds for one in moved.between.spreads.values())
    ]
    if not question.choices or not measured or len(measured) > _ROWS_MAX:
        return
    yield from _moved_means(measured, title)
    chosen = _most(question, _reach(question.choices, measured))
    panels = [
        Panel(
            title=question.choices[choice],
            series=(
                Series(
                    name="",
                    marks=tuple(_shift(label, moved, choice) for label, moved in measured),
                ),
            ),
        )
        for choice in chosen
    ]
    yield Plot(
        kind=PlotKind.BARS,
        title=f"{title}, in percentage points",
        panels=tuple(panels),
        unit="points",
        note=_note([moved.between for _, moved in measured], _left_out(question, chosen)),
    )


def _moved_means(rows: Sequence[tuple[str, Change | Difference]], title: str) -> Iterator[Plot]:
    """Draw the means of a scale, where it has one: one bar for what its points say in many."""
    found = [one for _, one in rows]
    if any(MEAN not in one.between.spreads for one in found):
        return
    marks = tuple(_shift(label, one, MEAN, signed) for label, one in rows)
    yield Plot(
        kind=PlotKind.BARS,
        title=f"{title}, in points of the scale",
        panels=(Panel(title="mean", series=(Series(name="", marks=marks),)),),
        unit="",
        note=_note([one.between for one in found]),
    )


def _reach(
    choices: Mapping[str, str], rows: Sequence[tuple[str, Change | Difference]]
) -> dict[str, float]:
    return {
        choice: max(abs(moved.between.spreads[choice].mean or 0.0) for _, moved in rows)
        for choice in choices
    }


def _chosen(
    question: QuestionShares, rows: Sequence[TickShares] | Sequence[ClaimShares]
) -> list[str]:
    counts: dict[str, float] = dict.fromkeys(question.choices, 0)
    for row in rows:
        for share in row.shares:
            counts[share.choice] += share.count
    return _most(question, counts)


def _most(question: QuestionShares, weight: Mapping[str, float]) -> list[str]:
    """Choose what is drawn, in its order; what only mirrors another choice is not."""
    choices = [choice for choice in question.choices if choice != question.mirrored]
    ranked = sorted(choices, key=lambda choice: -weight.get(choice, 0))[:CHOICES_MAX]
    return [choice for choice in choices if choice in ranked]


def _note(found: Sequence[Between], left_out: str = "") -> str:
    spreads = [one for over in found for one in over.spreads.values()]
    parts = []
    if any(one.seeds > 1 for one in spreads):
        parts.append("Means over seeds; small dots: each seed.")
    if any(one.low is not None for one in spreads):
        parts.append("Whiskers: 95 % interval of the mean.")
    return " ".join([*parts, left_out]).strip()


def _left_out(question: QuestionShares, chosen: Sequence[str]) -> str:
    if question.mirrored:
        return f"The other choice mirrors it: {question.choices[question.mirrored]}."
    if left := len(question.choices) - len(chosen):
        return f"{left} of {len(question.choices)} choices are in the tables alone."
    return ""


def _mark(
    spread: Spread,
    each: Sequence[float | None],
    *,
    label: str = "",
    at: float = 0.0,
    pooled: float | None = None,
    write: _Write = percent,
    figure: str = "",
) -> Mark:
    """Mark a mean over seeds with its interval; or what was pooled, of one seed."""
    value = spread.mean if spread.seeds > 1 or pooled is None else pooled
    bounds = f" ({write(spread.low)} to {write(spread.high)})" if spread.low is not None else ""
    return Mark(
        value=value,
        text=f"{write(value)}{bounds}",
        label=label,
        at=at,
        low=spread.low,
        high=spread.high,
        each=tuple(one for one in each if one is not None) if spread.seeds > 1 else (),
        figure=figure,
    )


def _tick(question: str, row: TickShares, choice: str) -> Mark:
    each = [one.shares[choice] for one in row.by_seed]
    pooled = _share(row.shares, choice)
    figure = address("answers", question, row.scenario, row.tick, choice)
    return _mark(row.between.spreads[choice], each, at=row.tick, pooled=pooled, figure=figure)


def _claim(question: str, row: ClaimShares, choice: str) -> Mark:
    each = [one.shares[choice] for one in row.by_seed]
    pooled = _share(row.shares, choice)
    figure = address("claims", question, row.scenario, row.claim, choice)
    return _mark(row.between.spreads[choice], each, label=row.claim, pooled=pooled, figure=figure)


def _shift(label: str, moved: Change | Difference, name: str, write: _Write = points) -> Mark:
    each = [seed.change.get(name) for seed in moved.seeds]
    figure = address(*moved_keys(moved), "mean" if name == MEAN else name)
    return _mark(moved.between.spreads[name], each, label=label, write=write, figure=figure)


def moved_keys(moved: Change | Difference) -> tuple[object, ...]:
    """Give the keys of the address of a change or difference."""
    if isinstance(moved, Change):
        return "changes", moved.question, moved.scenario
    return "differences", moved.question, moved.scenario, moved.tick


def _pair(label: str, group: GroupFit, choice: str, figure: str) -> Mark:
    value, real = _share(group.predicted, choice), _share(group.real, choice)
    said = f"{percent(value)}, real {percent(real)}"
    return Mark(value=value, real=real, label=label, text=said, figure=figure)


def _share(shares: Sequence[Share], choice: str) -> float | None:
    return next((one.share for one in shares if one.choice == choice), None)
