"""What was shown and done on the channels of a study, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perdure.analysis.channels import ChannelFigures, most_shown
from perdure.analysis.document import Block
from perdure.analysis.replicates import Between
from perdure.analysis.report import Report
from perdure.cli.figures import UNKNOWN, count, percent
from perdure.cli.grouped_table import by_scenario
from perdure.cli.tables import heading, paragraph

_MESSAGES_MAX = 3
_SHARES = frozenset({"reached", "told", "first_hand", "first_tenth"})


def channel_parts(report: Report) -> Iterator[Block]:
    """Draw each channel: its figures over seeds, what was done, and what was shown most."""
    if not report.channels:
        return
    yield heading("Channels: what was shown")
    columns = ["scenario", "channel", "figure", "mean", "95 % interval", "seeds"]
    rows = [
        [one.scenario, one.channel, name.replace("_", " "), *_cells(name, found)]
        for one in report.channels
        for name, found in _shown(one)
    ]
    yield from by_scenario(columns, rows, left=3)
    yield paragraph(report.notes["channels"], style="dim")
    deeds = [
        [one.scenario, one.channel, what, *_cells(name, found, name=name)]
        for one in report.channels
        for what, name, found in _deeds(one)
    ]
    if deeds:
        yield heading("Channels: what was done, and what was dropped")
        yield from by_scenario(["scenario", "channel", "what", *columns[3:]], deeds, left=3)
    yield heading("Messages that were shown most")
    messages = [
        [one.scenario, one.channel, event, message.claim]
        + [count(number) for number in (message.exposures, message.reached)]
        for one in report.channels
        for event, message in most_shown(one)[:_MESSAGES_MAX]
    ]
    names = ["scenario", "channel", "event", "claim", "exposures", "people"]
    yield from by_scenario(names, messages, left=4)


def _shown(one: ChannelFigures) -> Iterator[tuple[str, Between]]:
    for name, found in one.figures.items():
        if one.figures["told"].spreads["told"].most or name not in {"told", "first_hand"}:
            yield name, found
    for claim, found in one.claims.items():
        yield f"reach of {claim}", found


def _deeds(one: ChannelFigures) -> Iterator[tuple[str, str, Between]]:
    kinds: tuple[tuple[str, Mapping[str, Between]], ...] = (
        ("did", one.actions),
        ("rejected", one.rejected),
        ("dropped", one.dropped),
    )
    for kind, by_name in kinds:
        for name, found in by_name.items():
            yield f"{kind}: {name.replace('_', ' ')}", name, found


def _cells(title: str, found: Between, *, name: str = "") -> list[str]:
    (spread,) = found.spreads.values()
    share = not name and (title in _SHARES or title.startswith("reach of "))

    def write(value: float | None) -> str:
        if value is None:
            return UNKNOWN
        if share:
            return percent(value)
        return f"{value:.3f}" if title == "gini" else f"{value:,.1f}"

    interval = "none" if spread.low is None else f"{write(spread.low)} to {write(spread.high)}"
    return [
        write(spread.mean),
        interval,
        f"{count(spread.effective)} of {count(spread.seeds)}",
    ]
