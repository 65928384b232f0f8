"""Blocks drawn so that they read the same on a terminal, in a pipe and without colour.

Imports rich, which is heavy: import this where something is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import assert_never

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as Grid
from rich.text import Text

from perdure.analysis.document import (
    Block,
    Fitting,
    Folded,
    Heading,
    Items,
    Paragraph,
    Table,
    Title,
    Verbatim,
    how_to_find,
)
from perdure.analysis.plot import Plot
from perdure.cli.scenario_text import ScenarioText
from perdure.cli.tables import SCENARIO, fits, longest

_ID_MAX = 24
_ITEM_INDENT = 2


def drawn(blocks: Iterable[Block]) -> Iterator[RenderableType]:
    """Draw blocks in their order. What only a page can show is left out."""
    for block in blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[RenderableType]:  # noqa: C901 - one case for each block
    match block:
        case Title(text=text):
            yield _Lines(text, style="bold")
        case Heading():
            if not block.quiet:
                yield Text(f"\n{block.text}", style="bold")
        case Paragraph():
            yield _Lines(block.text, style=block.style, indent=block.indent)
        case Items(texts=texts):
            for text in texts:
                yield _Lines(text, indent=_ITEM_INDENT)
        case Verbatim(text=text):
            yield _Lines(text, wrapped=False)
        case Folded():
            lines = Text(block.text, style=block.style, overflow="fold")
            yield Padding(lines, (0, 0, 0, block.indent))
        case Table():
            yield _grid(block)
            yield from _behind(block)
        case Fitting():
            yield _Fitting(block)
            yield from _behind(block.wide)
        case Plot():
            pass  # its numbers are in the table beside it
        case _:
            assert_never(block)


def _behind(table: Table) -> Iterator[RenderableType]:
    if line := how_to_find(table):
        yield _Lines(line, style="dim")


def _grid(table: Table) -> Grid:
    grid = Grid(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    whole = fits(table.columns, [])
    for place, name in enumerate(table.columns):
        grid.add_column(
            Text(name),
            min_width=longest(name) if whole else None,
            justify="left" if place < table.left else "right",
            overflow="fold",
            no_wrap=place < table.ids and all(len(row[place]) <= _ID_MAX for row in table.rows),
        )
    kinds = [ScenarioText if name == SCENARIO else Text for name in table.columns]
    for row in table.rows:
        grid.add_row(*(kind(cell) for kind, cell in zip(kinds, row, strict=True)))
    return grid


class _Fitting:
    """A table in the shape that fits on the width there is."""

    def __init__(self, block: Fitting) -> None:
        self._block = block

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        fitting = self._block.width <= options.max_width
        yield _grid(self._block.wide if fitting else self._block.narrow)


class _Lines:
    """Text that wraps between words only, so that a long path can still be copied whole."""

    def __init__(
        self, text: str, *, style: str = "", indent: int = 0, wrapped: bool = True
    ) -> None:
        self._lines = text.split("\n")
        self._style = style
        self._indent = " " * indent
        self._wrapped = wrapped

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        style = Style.parse(self._style) if self._style else None
        for line in self._lines:
            start = self._indent + line[: len(line) - len(line.lstrip())]
            wrapped = wrap(
                line.lstrip(),
                width=options.max_width if self._wrapped else len(line) + 1,
                initial_indent=start,
                subsequent_indent=start,
                break_long_words=False,
                break_on_hyphens=False,
            )
            for piece in wrapped or [""]:
                yield Segment(piece, style)
                yield Segment.line()
