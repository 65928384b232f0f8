"""The few lines that a report begins with: what was answered, what moved, what is missing.

Shares and changes name the same choices: all of them where there are few, else the most common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from perdure.analysis.address import address
from perdure.analysis.answers import Tally
from perdure.analysis.change import Change
from perdure.analysis.difference import Difference
from perdure.analysis.figures import MEAN
from perdure.analysis.prediction import Prediction
from perdure.analysis.questions import QuestionShares, TickShares
from perdure.analysis.replicates import Between
from perdure.analysis.report import Report
from perdure.cli.change_view import same_throughout
from perdure.cli.figures import LEVELS, MOVES, count, figure_name, percent, plain, plural, spend

CHOICES_MAX = 3
SCENARIOS_MAX = 6
MEANS_MAX = 3


class Finding(NamedTuple):
    """A line, and the address of the figure that it tells of."""

    text: str
    figure: str


def headlines(report: Report) -> Iterator[Finding]:
    """Say the findings of a report in a line each, every one with its denominator."""
    waved = {change.question for change in report.changes}
    several = sum(any(row.wave for row in one.ticks) for one in report.questions) > 1
    for question in report.questions:
        rows = [row for row in question.ticks if row.wave]
        name = f"{question.id}, " if several else ""
        if (number := len({row.scenario for row in rows})) > SCENARIOS_MAX:
            line = f"{question.id}: {count(number)} scenarios, each of them in the tables below."
            yield Finding(line, address("answers", question.id))
        elif rows:
            for line, figure in _at_waves(report, question, rows):
                yield Finding(f"{name}{line}", figure)
        elif question.id not in waved:
            yield Finding(_exposed(report, question), address("answers", question.id))
    yield Finding(_totals(report), "worlds")


def _at_waves(
    report: Report, question: QuestionShares, rows: Sequence[TickShares]
) -> Iterator[Finding]:
    yield from _waves(report, question, rows)
    named = _named(report, question)
    for change in report.changes:
        if change.question == question.id:
            line = _changed(change, question.choices, named)
            yield Finding(line, address("changes", question.id, change.scenario))
    for one in _last(report.differences, question.id):
        line = _differed(one, question.choices, named)
        yield Finding(line, address("differences", question.id, one.scenario, one.tick))


def is_end(rows: Sequence[TickShares], row: TickShares) -> bool:
    """Say whether a wave is the first or the last of its scenario."""
    ticks = [one.tick for one in rows if one.scenario == row.scenario]
    return row.tick in {min(ticks), max(ticks)}


def _last(differences: Iterable[Difference], question: str) -> Iterable[Difference]:
    """Give each scenario's difference at its last wave."""
    return {one.scenario: one for one in differences if one.question == question}.values()


def _waves(
    report: Report, question: QuestionShares, rows: Sequence[TickShares]
) -> Iterator[Finding]:
    named = _named(report, question)
    compared = {
        (one.scenario, one.tick): one
        for one in report.predictions
        if report.outcome is not None and report.outcome.question_id == question.id
    }
    for row in rows:
        prediction = compared.get((row.scenario, row.tick))
        if not is_end(rows, row) or (prediction is not None and prediction.same_as):
            continue
        where = f"{row.scenario}, tick {row.tick}"
        at = address("answers", question.id, row.scenario, row.tick)
        if not row.answers.scored:
            yield Finding(f"{where}: {unscored(row.answers)}.", at)
        elif prediction is None:
            shares = _shares(row, question, named)
            of = plural(row.answers.scored, "scored answer")
            yield Finding(f"{where}: {shares} of {of}.", at)
        else:
            told = _by_choice(report, question)
            line = _predicted(where, prediction, question, told, report.grouped_by_label)
            yield Finding(line, address("predictions", row.scenario, row.tick))


def unscored(answers: Tally) -> str:
    """Say why no answer of some could be scored."""
    causes = []
    if answers.answered:
        causes.append(f"{plural(answers.answered, 'answer')} without a score")
    if failed := sum(answers.failed.values()):
        causes.append(f"{plural(failed, 'failed turn')}")
    return f"nothing could be scored ({', '.join(causes) or 'nobody was asked'})"


def _predicted(
    where: str,
    prediction: Prediction,
    question: QuestionShares,
    named: Sequence[str],
    grouped_by: str,
) -> str:
    overall = prediction.overall
    real = {share.choice: share.share for share in overall.real}
    shares = ", ".join(
        f"{question.choices[share.choice]} {percent(share.share)} "
        f"(real {percent(real[share.choice])})"
        for share in overall.predicted
        if share.choice in named
    )
    known = overall.personas - overall.real_unknown
    line = (
        f"{where}: {shares}, of {plural(overall.answers.scored, 'scored answer')} and "
        f"{plural(known, 'real value')}"
    )
    if not overall.fit.compared:
        return f"{line}; no answer has a real value to be compared with."
    right = f"{percent(overall.fit.accuracy)} of {plural(overall.fit.compared, 'answer')} right"
    line = f"{line}; {right}"
    if prediction.always_by_group is not None:
        plain = percent(prediction.always_by_group.accuracy)
        line += f" ({plain} by always giving the most common answer by {grouped_by})"
    return f"{line}."


def _exposed(report: Report, question: QuestionShares) -> str:
    """Sum the answers to a question that is not asked at waves."""
    named = _named(report, question)
    scored = sum(row.answers.scored for row in question.ticks)
    if not scored:
        asked = sum(row.answers.asked for row in question.ticks)
        return f"{question.id}: nothing could be scored of {plural(asked, 'turn')}."
    if MEAN in named:
        means = ", ".join(
            f"tick {row.tick} {plain(row.mean)}" for row in question.ticks[-MEANS_MAX:]
        )
        return f"{question.id}, mean: {means} of {plural(scored, 'scored answer')}."
    counts = {
        choice: sum(s.count for row in question.ticks for s in row.shares if s.choice == choice)
        for choice in named
    }
    shares = ", ".join(
        f"{question.choices[choice]} {percent(number / scored)}"
        for choice, number in counts.items()
    )
    return f"{question.id}, all ticks: {shares} of {plural(scored, 'scored answer')}."


def _changed(change: Change, choices: Mapping[str, str], named: Sequence[str]) -> str:
    where = f"{change.scenario}, tick {change.first} to {change.last}"
    moved = _moved(change.between, choices, named)
    return f"{where}: {moved or f'change not measurable, {change.unmeasured}'}."


def _differed(difference: Difference, choices: Mapping[str, str], named: Sequence[str]) -> str:
    where = f"{difference.scenario} against {difference.reference}, tick {difference.tick}"
    if same_throughout(difference):
        return f"{where}: nobody answered otherwise."
    moved = _moved(difference.between, choices, named)
    return f"{where}: {moved or 'difference not measurable'}."


def _moved(between: Between, choices: Mapping[str, str], named: Sequence[str]) -> str:
    """Say how far shares moved over the seeds; empty if it could not be measured."""
    parts = [
        f"{figure_name(name, choices)} {MOVES.of(name)(one.mean)}"
        + (f" (sd {LEVELS.of(name)(one.sd)})" if between.effective > 1 else "")
        for name, one in between.spreads.items()
        if name in named and one.mean is not None
    ]
    seeds = len(between.seeds)
    over = plural(seeds, "seed")
    if between.missing:
        over = f"{count(seeds)} of {plural(seeds + len(between.missing), 'seed')}"
    if seeds == 1:
        over = f"{over}, spread not measurable"
    elif between.effective == 1:
        over = f"the same with {over}, spread not measurable"
    elif between.effective < seeds:
        over = f"over {over}, {count(between.effective)} of them effective"
    else:
        over = f"over {over}"
    unit = "" if MEAN in named else " points"
    return f"{', '.join(parts)}{unit}, {over}" if parts else ""


def _totals(report: Report) -> str:
    turns = sum(world.turns for world in report.worlds)
    failed = sum(world.turns_failed for world in report.worlds)
    cost, beside = report.cost, report.cost.outside
    spent = spend(
        cost.total.amount + beside.amount, cost.total.unknown + beside.unknown, cost.currency
    )
    if beside.attempts:
        spent += ", calls outside closed ticks included"
    gaps = "nothing unmeasured" if not report.gaps else f"{plural(len(report.gaps), 'gap')} below"
    return f"{plural(turns, 'turn')} taken, {count(failed)} failed; {spent}; {gaps}."


def _shares(row: TickShares, question: QuestionShares, named: Sequence[str]) -> str:
    if MEAN in named:
        unit = question.unit or (f"of {len(question.choices)}" if question.choices else "")
        return f"mean {plain(row.mean)} {unit}".rstrip() + ","
    return ", ".join(
        f"{question.choices[share.choice]} {percent(share.share)}"
        for share in row.shares
        if share.choice in named
    )


def _named(report: Report, question: QuestionShares) -> tuple[str, ...]:
    """Choose what the lines of a question name: by the real values, where there are some."""
    if any(row.mean is not None for row in question.ticks):
        return (MEAN,)
    return _by_choice(report, question)


def _by_choice(report: Report, question: QuestionShares) -> tuple[str, ...]:
    if len(question.choices) <= CHOICES_MAX:
        return tuple(question.choices)
    outcome = report.outcome
    real = report.predictions[0].overall.real if report.predictions else ()
    if outcome is not None and outcome.question_id == question.id and any(s.count for s in real):
        return (max(real, key=lambda share: share.count).choice,)
    return _most(question)


def _most(question: QuestionShares) -> tuple[str, ...]:
    if len(question.choices) <= CHOICES_MAX:
        return tuple(question.choices)
    totals: dict[str, float] = dict.fromkeys(question.choices, 0)
    for row in question.ticks:
        for share in row.shares:
            totals[share.choice] += share.count
    return (max(totals, key=lambda choice: totals[choice]),)
