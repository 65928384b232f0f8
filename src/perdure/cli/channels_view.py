"""What was shown and done on the channels of a study, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perdure.analysis.address import address
from perdure.analysis.channels import ChannelFigures, most_shown
from perdure.analysis.document import Block
from perdure.analysis.replicates import Between
from perdure.analysis.report import Report
from perdure.cli.figures import UNKNOWN, count, percent
from perdure.cli.grouped_table import by_scenario
from perdure.cli.tables import heading, paragraph

_MESSAGES_MAX = 3
_BEHIND = "channels/CHANNEL/SCENARIO"
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
        for name, _, found in _shown(one)
    ]
    at = [_at(one, key) for one in report.channels for _, key, _ in _shown(one)]
    yield from by_scenario(columns, rows, left=3, figures=at, behind=f"{_BEHIND}/FIGURE")
    yield paragraph(report.notes["channels"], style="dim")
    deeds = [
        [one.scenario, one.channel, what, *_cells(name, found, name=name)]
        for one in report.channels
        for what, name, _, found in _deeds(one)
    ]
    if deeds:
        yield heading("Channels: what was done, and what was dropped")
        columns = ["scenario", "channel", "what", *columns[3:]]
        at = [_at(one, key) for one in report.channels for _, _, key, _ in _deeds(one)]
        yield from by_scenario(columns, deeds, left=3, figures=at, behind=f"{_BEHIND}/did-WHAT")
    yield heading("Messages that were shown most")
    messages = [
        [one.scenario, one.channel, event, message.claim]
        + [count(number) for number in (message.exposures, message.reached)]
        for one in report.channels
        for event, message in most_shown(one)[:_MESSAGES_MAX]
    ]
    names = ["scenario", "channel", "event", "claim", "exposures", "people"]
    at = [
        _at(one, f"message-{event}")
        for one in report.channels
        for event, _ in most_shown(one)[:_MESSAGES_MAX]
    ]
    yield from by_scenario(names, messages, left=4, figures=at, behind=f"{_BEHIND}/message-EVENT")


def _at(one: ChannelFigures, key: str) -> str:
    return address("channels", one.channel, one.scenario, key)


def _shown(one: ChannelFigures) -> Iterator[tuple[str, str, Between]]:
    for name, found in one.figures.items():
        if one.figures["told"].spreads["told"].most or name not in {"told", "first_hand"}:
            yield name, name, found
    for claim, found in one.claims.items():
        yield f"reach of {claim}", f"reach-{claim}", found


def _deeds(one: ChannelFigures) -> Iterator[tuple[str, str, str, Between]]:
    kinds: tuple[tuple[str, Mapping[str, Between]], ...] = (
        ("did", one.actions),
        ("rejected", one.rejected),
        ("dropped", one.dropped),
    )
    for kind, by_name in kinds:
        for name, found in by_name.items():
            key = f"{kind}-{name.replace(': ', ':')}"
            yield f"{kind}: {name.replace('_', ' ')}", name, key, found


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
