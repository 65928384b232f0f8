"""A report drawn for a terminal: findings first, then what they rest on and what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from perdure.analysis.address import address
from perdure.analysis.document import Block
from perdure.analysis.models import ModelUse
from perdure.analysis.outside import Outside
from perdure.analysis.prediction import Fit, GroupFit, Prediction
from perdure.analysis.questions import QuestionShares
from perdure.analysis.report import Outcome, Report
from perdure.analysis.unmeasured import Gap
from perdure.cli.alike_view import alike_parts
from perdure.cli.anomalies_view import anomaly_parts
from perdure.cli.budget_view import standing_parts
from perdure.cli.calendar_view import calendar_parts, date_text
from perdure.cli.change_view import change_parts, difference_parts
from perdure.cli.channels_view import channel_parts
from perdure.cli.cost_view import cost_table, outside_line, outside_parts
from perdure.cli.figures import amount, count, percent, plural, score, spend
from perdure.cli.headline_view import SCENARIOS_MAX, headlines
from perdure.cli.marks_view import mark_parts
from perdure.cli.opinion_view import opinion_parts
from perdure.cli.plot_view import group_figure, group_plots, share_plots
from perdure.cli.population_view import failure_parts
from perdure.cli.questions_view import denominators, exposure_parts, wave_parts
from perdure.cli.spread_view import seeds_parts, several, spread_parts
from perdure.cli.statistics_view import statistics_parts, telling_parts
from perdure.cli.tables import fits, heading, items, paragraph, table, title, verbatim
from perdure.cli.tools_view import tool_parts
from perdure.cli.verbatims_view import verbatim_parts
from perdure.cli.worlds_table import cause_parts, world_rows


def report_parts(report: Report, folder: str = "") -> Iterator[Block]:
    """Tell every part of a report in order. A report that is kept does not name its folder."""
    yield from telling_parts(report)
    yield title(f"Report of {report.study}: {report.title}")
    if folder:
        yield verbatim(f"{folder}, run {report.run_id}, {report.state}")
    else:
        yield paragraph(f"Run {report.run_id}, {report.state}")
    if report.partial:
        yield paragraph(f"\n{report.partial}", style="bold")
    yield from calendar_parts(report.calendars)
    if report.marks.forced:
        yield paragraph("")
        yield from mark_parts(report.marks)
    if report.population is not None:
        yield from failure_parts(report.population)
    yield heading("In short")
    findings = list(headlines(report))
    yield items([one.text for one in findings], [one.figure for one in findings])
    yield from _models(report.models, report.cost.outside)
    yield from _scored_by(report)
    yield from seeds_parts(report.seeds, report.notes["spread"])
    if report.outcome is not None:
        yield from _outcome(report, report.outcome)
    for question in report.questions:
        if parts := list(_question(report, question)):
            yield heading(f"Answers to {_name(report, question)}", quiet=True)
            yield from parts
    yield from statistics_parts(report)
    yield from opinion_parts(report)
    yield from channel_parts(report)
    yield from tool_parts(report)
    yield from verbatim_parts(report)
    yield from anomaly_parts(report)
    yield from _activation(report)
    yield from _gaps(report)
    yield from _cost(report)
    yield from _worlds(report)


def _question(report: Report, question: QuestionShares) -> Iterator[Block]:
    name = _name(report, question)
    outcome = report.outcome
    own = outcome is not None and outcome.question_id == question.id
    predictions = report.predictions if own else ()
    yield from share_plots(question, name, wave=True, predictions=predictions)
    yield from wave_parts(question, name, predictions)
    many = several(report.seeds)
    yield from spread_parts(question, name, many, wave=True, predictions=predictions)
    changes = [change for change in report.changes if change.question == question.id]
    yield from change_parts(changes, name, question, report.notes["change"])
    differences = [one for one in report.differences if one.question == question.id]
    yield from difference_parts(differences, name, question, report.notes["difference"])
    yield from exposure_parts(question)
    yield from spread_parts(question, f"Answers to {question.id}", many, wave=False)


def _name(report: Report, question: QuestionShares) -> str:
    outcome = report.outcome
    return outcome.name if outcome and outcome.question_id == question.id else question.id


def _models(models: Sequence[ModelUse], outside: Outside) -> Iterator[Block]:
    yield heading("Who answered")
    for use in models:
        name = use.model if use.model == use.provider else f"{use.model} ({use.provider})"
        yield paragraph(f"{use.role}: {name}, {_served(use)}", indent=2)
    for (provider, model), said in {
        (use.provider, use.model): use.statement for use in models
    }.items():
        if said:
            name = provider if provider == model else f"{provider} {model}"
            yield paragraph(f"{name}: {said}.", indent=2)
    if line := outside_line(outside):
        yield paragraph(f"Outside closed ticks, by whichever role: {line}.", indent=2)


def _scored_by(report: Report) -> Iterator[Block]:
    for one in report.scored_by:
        formula = f"epsilon {one.epsilon:g}, temperature {one.temperature:g}"
        again = f"; scored again after the run, scores {one.scores}" if one.scores else ""
        yield paragraph(
            f"{one.question}: scored by likeness to the anchors {one.construct}, version "
            f"{one.version} ({one.anchors_hash[:12]}), under {one.model}; {formula}{again}.",
            indent=2,
        )


def _served(use: ModelUse) -> str:
    if not use.served and not use.failed:
        return "not called in any closed tick"
    if list(use.served) == [use.model]:
        answered = f"answered {plural(use.served[use.model], 'call')}"
    else:
        names = ", ".join(f"{name} {count(number)}" for name, number in use.served.items())
        answered = f"answered by {names or 'nobody'}"
    return f"{answered}, {plural(use.failed, 'failed attempt')}" if use.failed else answered


def _outcome(report: Report, outcome: Outcome) -> Iterator[Block]:
    yield heading(f"Held-out outcome: {outcome.name}")
    yield paragraph(outcome.question, indent=2)
    known = f"Known for {count(outcome.known)} of {count(outcome.personas)} personas."
    beside = (
        "beside each stands the real one, of all whose real value is known, scored or not. "
        "Accuracy and Brier score are of those who have both"
    )
    if outcome.withheld:
        known = "The real values were left out of this export; --with-held-out writes them too."
        beside = "there is no real one to stand beside them"
    yield paragraph(f"{known} Shares below are of scored answers; {beside}.", indent=2)
    ticks: dict[str, list[int]] = defaultdict(list)
    for prediction in report.predictions:
        ticks[prediction.scenario].append(prediction.tick)
    ends = [
        one
        for one in report.predictions
        if one.tick in {min(ticks[one.scenario]), max(ticks[one.scenario])}
    ]
    if len(ticks) > SCENARIOS_MAX:
        yield from _everyone(ends, outcome)
    else:
        for prediction in ends:
            yield from _prediction(prediction, outcome, report)
    if report.predictions:
        yield paragraph(f"\n{report.notes['yardstick']}", style="dim")
        yield paragraph(report.notes["brier"], style="dim")


def _everyone(predictions: Sequence[Prediction], outcome: Outcome) -> Iterator[Block]:
    """Draw many scenarios in one table, a row for each of their ends."""
    yield heading(f"{outcome.name}: predicted and real, first and last wave", level=3)
    rows = [
        [
            one.scenario,
            str(one.tick),
            outcome.choices.get(predicted.choice, predicted.choice),
            count(one.overall.answers.scored),
            percent(predicted.share),
            percent(real.share),
            *_fit_cells(one.overall.fit),
        ]
        for one in predictions
        for predicted, real in zip(one.overall.predicted, one.overall.real, strict=True)
    ]
    columns = ["scenario", "tick", "choice", "scored", "predicted", "real", "accuracy", "Brier"]
    at = [
        address("predictions", one.scenario, one.tick, share.choice)
        for one in predictions
        for share in one.overall.predicted
    ]
    yield table(columns, rows, left=3, figures=at, behind="predictions/SCENARIO/TICK")
    yield paragraph("By group, and beside the yardsticks: --json.", indent=2)


def _prediction(prediction: Prediction, outcome: Outcome, report: Report) -> Iterator[Block]:
    yield heading(
        f"{outcome.name}: predicted and real, {prediction.scenario}, wave at tick "
        f"{prediction.tick}{_date(prediction, report)}",
        level=3,
    )
    if prediction.same_as:
        yield paragraph(
            f"Every answer is the same as under the scenario {prediction.same_as}, shown above; "
            "each scenario counts its own gaps.",
            indent=2,
        )
        return
    yield paragraph(
        denominators(prediction.overall.answers, len(prediction.seeds)),
        indent=2,
    )
    asked = next(one for one in report.questions if one.id == outcome.question_id)
    yield from group_plots(prediction, outcome.name, asked, report.grouped_by)
    yield _shares(prediction, outcome, report)
    yield paragraph("")
    yield _yardsticks(prediction, outcome, report.grouped_by_label)


def _date(prediction: Prediction, report: Report) -> str:
    """Give the date of a wave, if it has one."""
    dates = (
        one.waves.get(str(prediction.tick), "")
        for one in report.calendars
        if prediction.scenario in one.scenarios
    )
    return "".join(f" ({date_text(one)})" for one in dates if one)


def _shares(prediction: Prediction, outcome: Outcome, report: Report) -> Block:
    parts = [("everyone", prediction.overall)]
    parts.extend((group.label, group) for group in prediction.groups)
    name, by = report.grouped_by_label or "group", report.grouped_by
    at = [group_figure(prediction, group, by) for _, group in parts]
    behind = address("predictions", prediction.scenario, prediction.tick)
    behind = f"'{behind}?by={by}&group=GROUP'" if prediction.groups else behind
    named = [name for label in outcome.choices.values() for name in (label, "real")]
    columns = [name, "scored", *named, "accuracy", "Brier"]
    wide = [_wide_row(label, group) for label, group in parts]
    if fits(columns, wide):
        return table(columns, wide, figures=at, behind=behind)
    drawn = [list(_long_rows(label, group, outcome)) for label, group in parts]
    return table(
        [name, "choice", "scored", "predicted", "real", "accuracy", "Brier"],
        [row for rows in drawn for row in rows],
        left=2,
        figures=[figure for figure, rows in zip(at, drawn, strict=True) for _ in rows],
        behind=behind,
    )


def _wide_row(label: str, group: GroupFit) -> list[str]:
    pairs = zip(group.predicted, group.real, strict=True)
    shares = [percent(part.share) for pair in pairs for part in pair]
    return [label, count(group.answers.scored), *shares, *_fit_cells(group.fit)]


def _long_rows(label: str, group: GroupFit, outcome: Outcome) -> Iterator[list[str]]:
    yield [label, "", count(group.answers.scored), "", "", *_fit_cells(group.fit)]
    for predicted, real in zip(group.predicted, group.real, strict=True):
        name = outcome.choices.get(predicted.choice, predicted.choice)
        yield ["", name, "", percent(predicted.share), percent(real.share), "", ""]


def _fit_cells(fit: Fit) -> list[str]:
    return [percent(fit.accuracy), score(fit.brier)]


def _yardsticks(prediction: Prediction, outcome: Outcome, grouped_by: str) -> Block:
    overall = prediction.overall
    constant = outcome.choices.get(overall.always_choice, overall.always_choice)
    rows = [
        _fit_row("these answers", overall.fit),
        _fit_row(f"always {constant} (most common)", overall.always),
    ]
    if prediction.always_by_group is not None:
        label = f"most common by {grouped_by}"
        rows.append(_fit_row(label, prediction.always_by_group))
    worlds = prediction.by_world if len(prediction.by_world) > 1 else ()
    rows.extend(
        _fit_row(f"world {world.world_id} (seed {world.seed}) alone", world.fit) for world in worlds
    )
    keys = ("predictions", prediction.scenario, prediction.tick)
    at, alone = address(*keys), [address(*keys, seed=str(world.seed)) for world in worlds]
    return table(
        ["compared with the real value", "answers", "correct", "accuracy", "Brier"],
        rows,
        caption="beside the yardsticks",
        figures=[*[at] * (len(rows) - len(alone)), *alone],
        behind=at,
    )


def _fit_row(label: str, fit: Fit) -> list[str]:
    return [label, count(fit.compared), amount(fit.correct), *_fit_cells(fit)]


def _activation(report: Report) -> Iterator[Block]:
    if not any(world.activation.ticks for world in report.worlds):
        return
    yield heading("Activations at exposure ticks: expected and realised", aside=True)
    rows = [
        [
            world.world_id,
            world.scenario,
            str(world.activation.ticks),
            f"{world.activation.expected:,.0f}",
            count(world.activation.realised),
            str(world.activation.thinned_ticks),
            count(sum(world.activation.dropped.values())),
        ]
        for world in report.worlds
    ]
    columns = ["world", "scenario", "ticks", "expected", "realised", "thinned", "dropped"]
    yield from world_rows(columns, rows, behind="activations/WORLD")
    yield paragraph(
        "Expected: everybody's chance to be active, over closed exposure ticks; who is active "
        "is drawn, so what is realised lies on either side of it.",
        style="dim",
    )


def _gaps(report: Report) -> Iterator[Block]:
    yield heading("What was not measured, and why")
    if not report.gaps:
        yield paragraph(
            "Nothing: every turn was taken and scored, every amount is known.", indent=2
        )
        return
    rows = [[gap.what, gap.why, _how_many(gap)] for gap in report.gaps]
    at = [address("gaps", place) for place in range(len(rows))]
    yield table(["what", "why", "how many"], rows, left=2, figures=at, behind="gaps/0, gaps/1, ...")


def _how_many(gap: Gap) -> str:
    if gap.of:
        return f"{count(gap.count)} of {count(gap.of)}"
    return count(gap.count) if gap.count else ""


def _cost(report: Report) -> Iterator[Block]:
    cost = report.cost
    beside = cost.outside
    total = spend(
        cost.total.amount + beside.amount, cost.total.unknown + beside.unknown, cost.currency
    )
    yield heading(f"Cost: {total}", aside=True)
    yield paragraph(
        f"In closed ticks: {spend(cost.total.amount, cost.total.unknown, cost.currency)} over "
        f"{plural(cost.total.attempts, 'attempt')}.",
        indent=2,
    )
    yield from outside_parts(cost.outside, cost.currency)
    spent = cost.total.amount + beside.amount
    yield from standing_parts(report.budget, report.rungs, report.worlds, cost.currency, spent)
    if not cost.total.attempts:
        return
    yield cost_table("model", cost.by_model, cost.currency, behind=True)
    yield paragraph("")
    yield cost_table("purpose", cost.by_purpose, cost.currency, behind=True)
    if len(cost.by_role) > 1:
        yield paragraph("")
        yield cost_table("role", cost.by_role, cost.currency, behind=True)


def _worlds(report: Report) -> Iterator[Block]:
    yield heading("Worlds", aside=True)
    rows = [
        [
            world.world_id,
            world.scenario,
            str(world.seed),
            world.state.replace("_", " "),
            f"{world.tick + 1}/{world.horizon}",
            *([date_text(world.date)] if report.calendars else []),
            count(world.turns),
            count(world.turns_failed),
            count(world.events),
        ]
        for world in report.worlds
    ]
    columns = ["world", "scenario", "seed", "state", "ticks", "turns", "failed", "events"]
    if report.calendars:
        columns.insert(5, "date")
    yield from world_rows(columns, rows, behind="worlds/WORLD")
    yield from cause_parts(report.worlds, indent=2)
    if len(report.worlds) > 1:
        yield heading("Which worlds can be compared", level=3)
        yield from alike_parts(report.comparability, len(report.worlds))
