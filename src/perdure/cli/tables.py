"""Tables and headings that read the same on a terminal, in a pipe and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from perdure.base.text import one_line, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

WIDTH_MIN = 80  # what every table is made to fit
SCENARIO = "scenario"

_GAP = 2
_CELL_MAX = 200
_ID_MAX = 24


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1, ids: int = 0
) -> Table:
    """Draw rows under headings. The first `left` columns are text, the others numbers.

    Cells are made safe, and fold onto further lines rather than lose a character. The first `ids`
    columns hold ids, which do not break unless they are very long; those under `scenario` then
    break between what varies. Headings do not break inside a word where the table can be drawn
    without that.
    """
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - rich is heavy
    from rich.table import Table  # noqa: PLC0415 - rich is heavy
    from rich.text import Text  # noqa: PLC0415 - rich is heavy

    from perdure.cli.scenario_text import ScenarioText  # noqa: PLC0415 - rich is heavy

    drawn = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    rows = [[one_line(cell, _CELL_MAX) for cell in row] for row in rows]
    whole = fits(columns, [])
    for place, name in enumerate(columns):
        drawn.add_column(
            Text(name),
            min_width=_longest(name) if whole else None,
            justify="left" if place < left else "right",
            overflow="fold",
            no_wrap=place < ids and all(len(row[place]) <= _ID_MAX for row in rows),
        )
    kinds = [ScenarioText if name == SCENARIO else Text for name in columns]
    for row in rows:
        drawn.add_row(*(kind(cell) for kind, cell in zip(kinds, row, strict=True)))
    return drawn


def fits(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    whole: int = 0,
    width: int = WIDTH_MIN,
) -> bool:
    """Say whether a table can be drawn on `width` columns without breaking a word.

    The cells of the first `whole` columns must not break between words either.
    """
    widths = [_longest(name) for name in columns]
    for row in rows:
        cells = [len(cell) if n < whole else _longest(cell) for n, cell in enumerate(row)]
        widths = [max(pair) for pair in zip(widths, cells, strict=True)]
    return sum(widths) + _GAP * (len(widths) - 1) <= width


def _longest(text: str) -> int:
    """Measure the longest word; a figure and its unit are one."""
    whole = text.replace(" %", "_%")
    return max(map(len, whole.split()), default=0)


def heading(text: str) -> RenderableType:
    """Draw a heading with an empty line above."""
    from rich.text import Text  # noqa: PLC0415 - rich is heavy

    return Text(f"\n{one_line(text)}", style="bold")


def paragraph(text: str, *, style: str = "", indent: int = 0) -> Paragraph:
    """Draw a paragraph, safe and wrapped to the width."""
    return Paragraph(text, style=style, indent=indent, wrapped=True)


def verbatim(text: str) -> Paragraph:
    """Draw lines that are never broken, such as a command to copy."""
    return Paragraph(text, style="", indent=0, wrapped=False)


def folded(text: str, *, style: str = "", indent: int = 0) -> RenderableType:
    """Draw lines, safe, each folded at the edge: nothing of them is lost, cut or runs past it."""
    from rich.padding import Padding  # noqa: PLC0415 - rich is heavy
    from rich.text import Text  # noqa: PLC0415 - rich is heavy

    drawn = Text(printable(text), style=style, overflow="fold")
    return Padding(drawn, (0, 0, 0, indent))


class Paragraph:
    """Text that wraps between words only, so that a long path can still be copied whole."""

    def __init__(self, text: str, *, style: str, indent: int, wrapped: bool) -> None:
        self._lines = printable(text).split("\n")
        self._style = style
        self._indent = " " * indent
        self._wrapped = wrapped

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment  # noqa: PLC0415 - rich is heavy
        from rich.style import Style  # noqa: PLC0415 - rich is heavy

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


def digests(pairs: Iterable[tuple[str, str]]) -> Table:
    """Draw each world's digest whole: 12 and 64 characters fit on 80 columns."""
    return table(["world", "digest"], pairs, left=2, ids=1)
