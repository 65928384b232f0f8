"""What the rules of anomalies found, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.address import address
from perdure.analysis.anomalies import Anomaly, Rule
from perdure.analysis.document import Block
from perdure.analysis.report import Report
from perdure.cli.figures import count, plural
from perdure.cli.tables import heading, paragraph, table

_ROWS_MAX = 5
_EVENTS_MAX = 2


def anomaly_parts(report: Report) -> Iterator[Block]:
    """Draw what each rule found, or that none found anything, or why it could not be asked."""
    rules = report.anomalies.rules
    if not rules:
        return
    yield heading("Anomalies, by rule")
    for rule in rules:
        mine = [one for one in report.anomalies.found if one.rule == rule.name]
        if mine:
            yield from _found(rule, mine)
    asked = [rule for rule in rules if rule.looked and not rule.found]
    if asked:
        names = ", ".join(f"{_name(rule)} ({plural(rule.looked, 'place')})" for rule in asked)
        yield paragraph(f"None found by: {names}.", indent=2)
    for rule in rules:
        if rule.why:
            yield paragraph(f"Not asked: {_name(rule)}, {rule.why}.", indent=2)


def _found(rule: Rule, found: list[Anomaly]) -> Iterator[Block]:
    yield paragraph(
        f"{_name(rule).capitalize()}, at {count(rule.found)} of {plural(rule.looked, 'place')}: "
        f"{rule.asks} ({rule.threshold:g}). It may mean: {rule.meaning}.",
        indent=2,
    )
    rows = [
        [
            one.scenario,
            one.about,
            "" if one.tick < 0 else str(one.tick),
            f"{one.figure:.2f}",
            ", ".join(one.events[:_EVENTS_MAX]),
        ]
        for one in found[:_ROWS_MAX]
    ]
    yield table(
        ["scenario", "about", "tick", "figure", "events"],
        rows,
        left=2,
        figures=[address("anomalies", rule.name, place) for place in range(len(rows))],
        behind=f"{address('anomalies', rule.name)}/0, .../1, ...",
    )
    if rule.found > _ROWS_MAX:
        yield paragraph(f"With --json there are {count(rule.found - _ROWS_MAX)} more.", indent=2)


def _name(rule: Rule) -> str:
    return rule.name.replace("_", " ")
