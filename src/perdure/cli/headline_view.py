"""The few lines that a report begins with: what was predicted, what moved, what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.change import Change
from perdure.analysis.prediction import Prediction
from perdure.analysis.report import Outcome, Report
from perdure.cli.figures import count, percent, plural, points, spend, spread


def headlines(report: Report) -> Iterator[str]:
    """Say the findings of a report in a line each, every one with its denominator."""
    if report.outcome is not None:
        for prediction in report.predictions:
            if not prediction.same_as:
                yield _predicted(prediction, report.outcome, report.grouped_by_label)
        for change in report.changes:
            yield _changed(change, report.outcome)
    turns = sum(world.turns for world in report.worlds)
    failed = sum(world.turns_failed for world in report.worlds)
    cost = spend(report.cost.total.amount, report.cost.total.unknown, report.cost.currency)
    gaps = "nothing unmeasured" if not report.gaps else f"{plural(len(report.gaps), 'gap')} below"
    yield f"{plural(turns, 'turn')} taken, {count(failed)} failed; {cost}; {gaps}."


def _predicted(prediction: Prediction, outcome: Outcome, grouped_by: str) -> str:
    overall = prediction.overall
    where = f"{prediction.scenario}, tick {prediction.tick}"
    if not overall.answers.scored:
        return f"{where}: none of {count(overall.answers.asked)} answers could be scored."
    best = max(overall.real, key=lambda share: share.count)
    predicted = next(share for share in overall.predicted if share.choice == best.choice)
    name = outcome.choices.get(best.choice, best.choice)
    line = (
        f"{where}: {name} {percent(predicted.share)} predicted, {percent(best.share)} real; "
        f"{percent(overall.fit.accuracy)} of {count(overall.fit.compared)} answers right"
    )
    if prediction.always_by_group is not None:
        plain = percent(prediction.always_by_group.accuracy)
        line += f" ({plain} by always giving the most common answer by {grouped_by})"
    return f"{line}."


def _changed(change: Change, outcome: Outcome) -> str:
    where = f"{change.scenario}, tick {change.first} to {change.last}"
    first = change.choices[0] if change.choices else None
    if first is None or first.mean is None:
        return f"{where}: change not measurable, {change.unmeasured}."
    name = outcome.choices.get(first.choice, first.choice)
    deviation = (
        "spread not measurable"
        if first.sd is None
        else f"sd {spread(first.sd)} over {plural(first.seeds, 'seed')}"
    )
    return f"{where}: {name} {points(first.mean)} points ({deviation})."
