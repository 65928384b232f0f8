"""The blocks that views are made of, safe whatever is in them: tables, headings, paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.analysis.document import (
    Folded,
    Heading,
    Items,
    Paragraph,
    Style,
    Table,
    Title,
    Verbatim,
)
from perdure.base.text import one_line, printable

WIDTH_MIN = 80  # what every table is made to fit
SCENARIO = "scenario"

_GAP = 2
_CELL_MAX = 200


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: int = 1,
    ids: int = 0,
    caption: str = "",
    figures: Iterable[str] = (),
    behind: str = "",
) -> Table:
    """Put rows under headings. The first `left` columns are text, the others numbers.

    Cells are made safe, and fold onto further lines rather than lose a character. The first `ids`
    columns hold ids, which do not break unless they are very long; those under `scenario` then
    break between what varies. Headings do not break inside a word where the table can be drawn
    without that. `caption` says what is in the table, where there are captions. `figures` are the
    addresses of the rows, and `behind` says how they are made.
    """
    return Table(
        columns=tuple(columns),
        rows=tuple(tuple(one_line(cell, _CELL_MAX) for cell in row) for row in rows),
        left=left,
        ids=ids,
        caption=one_line(caption),
        figures=tuple(figures),
        behind=one_line(behind),
    )


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
    return width_of(columns, rows, whole=whole) <= width


def width_of(columns: Sequence[str], rows: Iterable[Sequence[str]], *, whole: int = 0) -> int:
    """Give the least width on which no word of a table breaks; see `fits`."""
    widths = [longest(name) for name in columns]
    for row in rows:
        cells = [len(cell) if n < whole else longest(cell) for n, cell in enumerate(row)]
        widths = [max(pair) for pair in zip(widths, cells, strict=True)]
    return sum(widths) + _GAP * (len(widths) - 1)


def longest(text: str) -> int:
    """Measure the longest word; a figure and its unit are one."""
    whole = text.replace(" %", "_%")
    return max(map(len, whole.split()), default=0)


def title(text: str) -> Title:
    """Say what all of it is."""
    return Title(text=printable(text))


def heading(text: str, *, level: int = 2, quiet: bool = False, aside: bool = False) -> Heading:
    """Begin a section, with an empty line above. Only a page shows a `quiet` one."""
    return Heading(text=one_line(text), level=level, quiet=quiet, aside=aside)


def paragraph(text: str, *, style: Style = "", indent: int = 0) -> Paragraph:
    """Make a paragraph, safe and wrapped to the width."""
    return Paragraph(text=printable(text), style=style, indent=indent)


def items(texts: Iterable[str], figures: Iterable[str] = ()) -> Items:
    """Put sentences beside each other, each a paragraph of its own, with the address of each."""
    return Items(texts=tuple(map(printable, texts)), figures=tuple(figures))


def verbatim(text: str) -> Verbatim:
    """Keep lines as they are, never broken, such as a command to copy."""
    return Verbatim(text=printable(text))


def folded(text: str, *, style: Style = "", indent: int = 0) -> Folded:
    """Make lines, safe, each folded at the edge: nothing of them is lost, cut or runs past it."""
    return Folded(text=printable(text), style=style, indent=indent)


def digests(pairs: Iterable[tuple[str, str]]) -> Table:
    """List each world's digest whole: 12 and 64 characters fit on 80 columns."""
    return table(["world", "digest"], pairs, left=2, ids=1)
