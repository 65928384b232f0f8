r"""A document as Markdown: what is written is text, whatever it looks like.

Nothing in a text makes a heading, a list, a link, a picture, code or HTML: what Markdown, in its
common form and in GitHub's, would read as more than a character gets a backslash. Plots are told in
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import assert_never

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
from perdure.analysis.plot import Plot, words
from perdure.base.text import printable

# The first line of every such file: by it a file is known to be ours.
MARK = "<!-- perdure report -->\n"

_ANYWHERE = re.compile(r"[\\`*_\[\]<>|~&$#!]|(?<=[A-Za-z]):(?=//)|(?<=www)\.")
_AT_START = re.compile(r"^([-+=]|\d{1,9}(?=[.)]))")
_FENCES = re.compile("`{3,}")


def markdown(blocks: Iterable[Block]) -> str:
    """Write a document, its blocks apart by empty lines."""
    writer = _Writer()
    return MARK + "".join(f"\n{part}\n" for block in blocks for part in writer.written(block))


class _Writer:
    """Writes blocks, and numbers what can be cited: tables and figures."""

    def __init__(self) -> None:
        self._tables = 0
        self._figures = 0

    def written(self, block: Block) -> Iterator[str]:
        """Write one block."""
        match block:
            case Title():
                yield f"# {_line(block.text)}"
            case Heading():
                yield f"{'#' * block.level} {_line(block.text)}"
            case Paragraph():
                mark = {"": "", "bold": "**", "dim": "*"}[block.style]
                if text := block.text.strip():
                    yield "\\\n".join(f"{mark}{_line(one)}{mark}" for one in text.split("\n"))
            case Items(texts=texts, figures=figures):
                named = zip_longest(texts, figures, fillvalue="")
                yield "\n".join(f"- {_line(text)}{_at(figure)}" for text, figure in named)
            case Verbatim() | Folded():
                yield _code(block.text)
            case Table():
                yield from self._table(block)
            case Fitting():
                yield from self._table(block.wide)
            case Plot():
                yield self._plot(block)
            case _:
                assert_never(block)

    def _table(self, table: Table) -> Iterator[str]:
        self._tables += 1
        said = f": {_line(table.caption)}" if table.caption else ""
        yield f"Table {self._tables}{said}"
        rule = ["---" if place < table.left else "---:" for place in range(len(table.columns))]
        rows = [_row(map(_line, table.columns)), _row(rule)]
        rows.extend(_row(map(_line, row)) for row in table.rows)
        yield "\n".join(rows)
        if line := how_to_find(table):
            yield f"*{_line(line)}*"

    def _plot(self, plot: Plot) -> str:
        self._figures += 1
        note = f" {_line(plot.note)}" if plot.note else ""
        lines = [f"**Figure {self._figures}.** {_line(plot.title)}, in words.{note}\n"]
        for panel in plot.panels:
            title = f"{_line(panel.title)}: " if panel.title else ""
            lines.append(f"- {title}{_line(words(plot, panel))}")
        return "\n".join(lines)


def _at(figure: str) -> str:
    return f" {_line(f'[{figure}]')}" if figure else ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _line(text: str) -> str:
    """Escape a text for one line."""
    flat = " ".join(printable(text).split())
    return _AT_START.sub(_started, _ANYWHERE.sub(r"\\\g<0>", flat))


def _started(match: re.Match[str]) -> str:
    found = match.group()
    return f"\\{found}" if not found.isdigit() else found + "\\"


def _code(text: str) -> str:
    """Fence lines, with a longer fence than any of theirs."""
    fences: Sequence[str] = _FENCES.findall(text)
    fence = "`" * max([3, *(len(one) + 1 for one in fences)])
    return f"{fence}text\n{printable(text)}\n{fence}"
