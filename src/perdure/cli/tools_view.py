"""What personas did with tools, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.address import address
from perdure.analysis.document import Block
from perdure.analysis.figures import MEAN
from perdure.analysis.report import Report
from perdure.analysis.tool_use import CALLS, TURNS_USED, Outcomes, ToolFigures
from perdure.cli.figures import LEVELS, count, plural
from perdure.cli.grouped_table import by_scenario
from perdure.cli.spread_view import Line, several, spread_tables
from perdure.cli.tables import heading, paragraph, table
from perdure.records.drive import EndCause

_OUTCOMES = Outcomes.__struct_fields__
# What stands behind a cause where its name alone does not say it.
_MEANT = {
    EndCause.TURNS: "turns: calls_per_turn",
    EndCause.MONEY: "money: cost_per_turn",
    EndCause.PROVIDER: "provider: a model call failed",
}


def tool_parts(report: Report) -> Iterator[Block]:
    """Draw what was asked of each tool, what came of it, and how turns with tools ended."""
    if not report.tools:
        return
    yield heading("Tools: what was asked for, and what came of it")
    rows, at = [], []
    for use in report.tools:
        for one in use.tools:
            rows.append([use.scenario, *_row(one)])
            at.append(address("tools", use.scenario, one.tool))
        if use.nameless:
            made_up = ["(no such tool)", count(use.nameless), *[""] * (len(_OUTCOMES) + 2)]
            rows.append([use.scenario, *made_up])
            at.append(address("tools", use.scenario))
    columns = ["scenario", "tool", "asked", *_OUTCOMES, "turns", "people"]
    yield from by_scenario(columns, rows, left=2, figures=at, behind="tools/SCENARIO/TOOL")
    yield paragraph(report.notes["tools"], style="dim")
    yield from _effects(report)
    yield from _endings(report)
    yield from _spread(report)


def _row(one: ToolFigures) -> list[str]:
    found = one.count
    return [
        f"{one.tool} (outside)" if one.outside else one.tool,
        count(found.asked),
        *_cells(found.outcomes),
        _of(found.used, found.turns),
        _of(found.people, found.personas),
    ]


def _cells(outcomes: Outcomes) -> list[str]:
    return [count(getattr(outcomes, status)) for status in _OUTCOMES]


def _of(number: int, whole: int) -> str:
    return f"{count(number)} of {count(whole)}"


def _effects(report: Report) -> Iterator[Block]:
    found = [(use.scenario, use.effects) for use in report.tools if use.effects is not None]
    if not found:
        return
    yield heading("Effects outside the world: what calls that may act came to")
    yield table(
        ["scenario", *_OUTCOMES],
        [[scenario, *_cells(effects)] for scenario, effects in found],
        figures=[address("effects", scenario) for scenario, _ in found],
        behind="effects/SCENARIO",
    )
    if unknown := sum(effects.unknown for _, effects in found):
        yield paragraph(
            f"Outcome unknown: {plural(unknown, 'call')}. Nobody knows whether it was done, for "
            "the program was ended while it ran, or it was given up. It was not made again.",
            indent=2,
        )


def _endings(report: Report) -> Iterator[Block]:
    found = [
        (use.scenario, cause, number, use.endings.turns)
        for use in report.tools
        for cause, number in use.endings.causes.items()
    ]
    yield heading("How turns with tools ended")
    yield from by_scenario(
        ["scenario", "cause", "turns"],
        [
            [scenario, _MEANT.get(EndCause(cause), cause.replace("_", " ")), _of(number, turns)]
            for scenario, cause, number, turns in found
        ],
        left=2,
        figures=[address("endings", scenario, cause) for scenario, cause, _, _ in found],
        behind="endings/SCENARIO/CAUSE",
    )


def _spread(report: Report) -> Iterator[Block]:
    """Draw how far the seeds lie apart, where there are several."""
    many = several(report.seeds)
    words = {TURNS_USED: "turns, percent", CALLS: "calls per turn"}
    lines = [
        Line(
            use.scenario,
            one.tool,
            words[figure],
            spread,
            of=MEAN if figure == CALLS else figure,
            address=address("tools", use.scenario, one.tool, figure),
        )
        for use in report.tools
        if use.scenario in many
        for one in use.tools
        for figure, spread in one.between.spreads.items()
        if spread.seeds
    ]
    if lines:
        yield heading("Tools: spread between seeds, of the turns that had each, at worlds' ends")
        yield from spread_tables(lines, "tool", LEVELS, "tools/SCENARIO/TOOL/FIGURE")
