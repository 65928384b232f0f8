"""What people came to think of each claim, and how communities part, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.address import address
from perdure.analysis.document import Block
from perdure.analysis.opinions import MEAN, OpinionAt, OpinionPath
from perdure.analysis.polarization import PolarizedAt
from perdure.analysis.report import Report
from perdure.analysis.spread import Spread
from perdure.cli.figures import UNKNOWN, count, hundredths, percent
from perdure.cli.grouped_table import by_scenario
from perdure.cli.tables import heading, paragraph


def opinion_parts(report: Report) -> Iterator[Block]:
    """Draw where each path of opinion begins and ends, and the communities at its end."""
    yield from _paths(report)
    yield from _polarization(report)


def _paths(report: Report) -> Iterator[Block]:
    if not report.opinions:
        return
    yield heading("Opinion of each claim, first and last tick")
    rows = [
        _path_row(path, at)
        for path in report.opinions
        for at in dict.fromkeys((path.at[0].tick, path.at[-1].tick))
    ]
    columns = [
        *("scenario", "claim", "tick", "met"),
        *("mean", "95 % interval", "believe", "doubt", "unsure"),
    ]
    at = [address("beliefs", row[1], row[0], row[2]) for row in rows]
    yield from by_scenario(columns, rows, left=2, figures=at, behind="beliefs/CLAIM/SCENARIO/TICK")
    yield paragraph(
        "Means over seeds; believe, doubt and unsure in percent of those who met it. With --json "
        "there is every tick, and the shares of everybody.",
        indent=2,
    )
    yield paragraph(report.notes["opinions"], style="dim")


def _path_row(path: OpinionPath, tick: int) -> list[str]:
    at = _at(path, tick)
    mean, shares = at.mean.spreads[MEAN], at.shares.spreads
    return [
        path.scenario,
        path.claim,
        str(tick),
        percent(shares["met"].mean),
        _steps(mean.mean),
        _interval(mean),
        hundredths(shares["believing"].mean),
        hundredths(shares["doubting"].mean),
        hundredths(shares["unsure"].mean),
    ]


def _at(path: OpinionPath, tick: int) -> OpinionAt:
    return next(one for one in path.at if one.tick == tick)


def _steps(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:+.2f}"


def _interval(mean: Spread) -> str:
    return "none" if mean.low is None else f"{_steps(mean.low)} to {_steps(mean.high)}"


def _polarization(report: Report) -> Iterator[Block]:
    shown = [one for one in report.polarization if one.at[-1].p is not None]
    rows = [[one.scenario, one.name, *_apart(one.at[-1])] for one in shown]
    if not rows:
        return
    yield heading("Polarization between communities, last tick")
    columns = ["scenario", "over", "tick", "seeds", "divergence", "by chance", "excess", "p"]
    at = [
        address("polarization", one.about, one.name, one.scenario, one.at[-1].tick) for one in shown
    ]
    about = dict.fromkeys(one.about for one in shown)
    behind = " or ".join(f"polarization/{one}/OVER/SCENARIO/TICK" for one in about)
    yield from by_scenario(columns, rows, left=2, figures=at, behind=behind)
    yield paragraph(report.notes["polarization"], style="dim")


def _apart(at: PolarizedAt) -> list[str]:
    spreads = at.between.spreads
    figures = (spreads[name].mean for name in ("divergence", "chance", "excess"))
    return [
        str(at.tick),
        count(len(at.between.seeds)),
        *(UNKNOWN if one is None else f"{one:.3f}" for one in figures),
        UNKNOWN if at.p is None else f"{at.p:.3f}",
    ]
