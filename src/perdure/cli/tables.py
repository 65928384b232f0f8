"""Tables and headings that read the same on a terminal, in a pipe and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from perdure.base.text import one_line, printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_CELL_MAX = 200
_ID_MAX = 24


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1, ids: int = 0
) -> Table:
    """Draw rows under headings. The first `left` columns are text, the others numbers.

    Cells are made safe, and fold onto further lines rather than lose a character. The first `ids`
    columns hold ids, which do not break unless they are very long.
    """
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - rich is heavy
    from rich.table import Table  # noqa: PLC0415 - rich is heavy
    from rich.text import Text  # noqa: PLC0415 - rich is heavy

    drawn = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    rows = [[one_line(cell, _CELL_MAX) for cell in row] for row in rows]
    for place, name in enumerate(columns):
        drawn.add_column(
            Text(name),
            justify="left" if place < left else "right",
            overflow="fold",
            no_wrap=place < ids and all(len(row[place]) <= _ID_MAX for row in rows),
        )
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn


def heading(text: str) -> RenderableType:
    """Draw a heading with an empty line above."""
    from rich.text import Text  # noqa: PLC0415 - rich is heavy

    return Text(f"\n{one_line(text)}", style="bold")


def paragraph(text: str, *, style: str = "", indent: int = 0) -> RenderableType:
    """Draw a paragraph, safe and wrapped to the width."""
    from rich.padding import Padding  # noqa: PLC0415 - rich is heavy
    from rich.text import Text  # noqa: PLC0415 - rich is heavy

    return Padding(Text(printable(text), style=style), (0, 0, 0, indent))


def digests(pairs: Iterable[tuple[str, str]]) -> Table:
    """Draw each world's digest whole: 12 and 64 characters fit on 80 columns."""
    return table(["world", "digest"], pairs, left=2, ids=1)
