"""A document as one HTML file: it opens offline, runs nothing, and asks nobody for anything.

Whatever is written is text: it is escaped in one place, never put into a tag, a style or a link.
The page forbids its reader's browser the rest: no script, no picture, no font, no frame, no form,
and no style but the one whose hash it names. The same document gives the same bytes.
"""

from __future__ import annotations

import hashlib
import html
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
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
from perdure.analysis.html_style import STYLE
from perdure.analysis.plot import Plot, PlotKind
from perdure.analysis.svg import SERIES_MAX, dot_sample, sample, svg
from perdure.base.text import printable

# The first bytes of every page: by them a file is known to be ours.
MARK = '<!doctype html>\n<html lang="en">\n<meta name="generator" content="perdure report">\n'

_HASH = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
_ROWS_MAX = 24  # longer tables are shown closed
_WHOLE_MAX = 24  # shorter cells do not break
_SECTION = 2
_NOTHING = {"n/a", "none", "..."}
_UNIT = re.compile(r"(?<=\d) %")
_NEGATIVE = re.compile(r"(?<![\w.])-(?=\d)")


def page(blocks: Sequence[Block]) -> str:
    """Write a document: its lead, its first section, what else there is, and all of that."""
    title = next((block.text for block in blocks if isinstance(block, Title)), "Report")
    lead, sections = _cut(blocks)
    writer = _Writer()
    parts = [f"<header>\n{''.join(writer.written(lead))}</header>\n"]
    for place, (heading, inside) in enumerate(sections, start=1):
        parts.append(_section(heading, "".join(writer.written(inside, heading)), f"s{place}"))
        if place == 1:
            parts.append(_contents([heading for heading, _ in sections]))
    return (
        f"{MARK}"
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(title)}</title>\n"
        f"<style>{STYLE}</style>\n"
        f'<body>\n<main class="sheet">\n{"".join(parts)}</main>\n</body>\n</html>\n'
    )


_Section = tuple[Heading, list[Block]]


def _cut(blocks: Sequence[Block]) -> tuple[list[Block], list[_Section]]:
    """Cut a document into what is before its first section, and its sections."""
    lead: list[Block] = []
    sections: list[_Section] = []
    into = lead
    for block in blocks:
        if isinstance(block, Heading) and block.level <= _SECTION:
            into = []
            sections.append((block, into))
        else:
            into.append(block)
    return lead, sections


def _section(heading: Heading, inside: str, name: str) -> str:
    said = f'<h2 id="{name}">{_text(heading.text)}</h2>'
    if heading.aside:
        inside = f"<details>\n<summary>{said}</summary>\n{inside}</details>\n"
        said = ""
    return f"<section>\n{said}{inside}</section>\n"


def _contents(headings: Sequence[Heading]) -> str:
    entries = "".join(
        f'<li><a href="#s{place}">{_text(heading.text)}</a></li>\n'
        for place, heading in enumerate(headings, start=1)
    )
    return (
        '<nav aria-labelledby="contents">\n<h2 id="contents">Contents</h2>\n'
        f"<ol>\n{entries}</ol>\n</nav>\n"
    )


class _Writer:
    """Writes blocks, and numbers what can be cited: tables and figures."""

    def __init__(self) -> None:
        self._tables = 0
        self._figures = 0
        self._under = ""

    def written(self, blocks: Sequence[Block], under: Heading | None = None) -> Iterator[str]:
        """Write some blocks that stand under a heading."""
        self._under = under.text if under else ""
        for block in blocks:
            yield from self._block(block)

    def _block(self, block: Block) -> Iterator[str]:
        match block:
            case Title():
                yield f"<h1>{_text(block.text)}</h1>\n"
            case Heading():
                self._under = block.text
                yield f"<h3>{_text(block.text)}</h3>\n"
            case Paragraph():
                kind = {"": "", "bold": ' class="must"', "dim": ' class="note"'}[block.style]
                if text := block.text.strip():
                    yield f"<p{kind}>{_broken(text)}</p>\n"
            case Items(texts=texts, figures=figures):
                named = zip_longest(texts, figures, fillvalue="")
                entries = "".join(
                    f"<li{_data(figure)}>{_broken(text.strip())}{_at(figure)}</li>\n"
                    for text, figure in named
                )
                yield f'<ul class="findings">\n{entries}</ul>\n'
            case Verbatim() | Folded():
                yield f'<pre dir="auto">{_text(block.text)}</pre>\n'
            case Table():
                yield self._table(block)
            case Fitting():
                yield self._table(block.wide)
            case Plot():
                yield self._figure(block)
            case _:
                assert_never(block)

    def _table(self, table: Table) -> str:
        self._tables += 1
        number, name = f"Table {self._tables}", f"t{self._tables}"
        under = f'<span class="vh">: {_text(self._under)}</span>' if self._under else ""
        caption = f": {_text(table.caption)}" if table.caption else under
        heads = "".join(
            f'<th scope="col"{_class(table, place)}>{_text(column)}</th>'
            for place, column in enumerate(table.columns)
        )
        rows = "".join(
            f"<tr{_data(figure)}>{_cells(table, row)}</tr>\n"
            for row, figure in zip_longest(table.rows, table.figures, fillvalue="")
        )
        line = how_to_find(table)
        behind = f'<p class="note">{_text(line)}</p>\n' if line else ""
        drawn = (
            f'<div class="scroll" role="region" aria-labelledby="{name}" tabindex="0">\n<table>\n'
            f'<caption id="{name}">{number}{caption}</caption>\n'
            f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{behind}"
        )
        if len(table.rows) <= _ROWS_MAX:
            return drawn
        said = f"{number}: {len(table.rows):,} rows"
        return f"<details>\n<summary>{said}</summary>\n{drawn}</details>\n"

    def _figure(self, plot: Plot) -> str:
        self._figures += 1
        note = f" {_text(plot.note)}" if plot.note else ""
        panels = []
        for place, panel in enumerate(plot.panels, start=1):
            title = f"<p>{_text(panel.title)}</p>\n" if panel.title else ""
            drawn = svg(plot, panel, f"f{self._figures}-{place}")
            panels.append(f'<div class="panel">\n{title}{drawn}\n</div>\n')
        return (
            f"<figure>\n<figcaption><b>Figure {self._figures}.</b> {_text(plot.title)}.{note}"
            f"</figcaption>\n{_key(plot)}"
            f'<div class="panels">\n{"".join(panels)}</div>\n</figure>\n'
        )


def _data(figure: str) -> str:
    """Name the address of a row or finding, for who points at it and for programs."""
    return f' data-figure="{_text(figure)}" title="{_text(figure)}"' if figure else ""


def _at(figure: str) -> str:
    return f' <span class="at">[{_text(figure)}]</span>' if figure else ""


def _key(plot: Plot) -> str:
    """Say which mark is which, where there are several kinds of them."""
    if plot.kind is PlotKind.DOTS:
        said = [(dot_sample(real=False), "predicted"), (dot_sample(real=True), "real")]
    else:
        names = [series.name for series in plot.panels[0].series[:SERIES_MAX]]
        said = [(sample(place), name) for place, name in enumerate(names) if name]
    if not said:
        return ""
    entries = "".join(f"<li>{drawn}{_text(name)}</li>\n" for drawn, name in said)
    return f'<ul class="key">\n{entries}</ul>\n'


def _cells(table: Table, row: Sequence[str]) -> str:
    cells = []
    for place, cell in enumerate(row):
        text = cell if place < table.left else _NEGATIVE.sub("\N{MINUS SIGN}", cell)
        if place == 0 and cell:
            cells.append(f'<th scope="row"{_class(table, place, cell)}>{_text(text)}</th>')
        else:
            cells.append(f"<td{_class(table, place, cell)}>{_text(text)}</td>")
    return "".join(cells)


def _class(table: Table, place: int, cell: str = "") -> str:
    kinds = [
        *(["n"] if place >= table.left else []),
        *(["whole"] if place < table.left and 0 < len(cell) <= _WHOLE_MAX else []),
        *(["none"] if cell in _NOTHING else []),
    ]
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _broken(text: str) -> str:
    """Escape a text of our own making: a figure and its unit stay on one line."""
    return "<br>\n".join(_UNIT.sub("\N{NO-BREAK SPACE}%", _text(line)) for line in text.split("\n"))


def _text(text: str) -> str:
    """Escape a text, for a tag's content and its attributes alike."""
    return html.escape(printable(text))
