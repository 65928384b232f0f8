"""What is said of a run, as blocks: a document that a terminal, a page and a text file can show.

A block says what something is, never how it looks. Which blocks there are is closed: whoever
renders a document knows all of them. The texts of a block are data; a renderer makes them safe for
where it writes.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.analysis.plot import Plot
from perdure.records.record import Record

Style: TypeAlias = Literal["", "bold", "dim"]


class Title(Record):
    """What the whole document is, said once and first."""

    text: str


class Heading(Record):
    """The start of a section, or at level 3 of a part of one.

    A `quiet` one is left out where lines are scarce: on a terminal. An `aside` section is one that
    most readers skip, such as what a run cost: a page may show it closed.
    """

    text: str
    level: int = 2
    quiet: bool = False
    aside: bool = False


class Paragraph(Record):
    """Text that wraps between words: bold if it must not be missed, dim if it explains."""

    text: str
    style: Style = ""
    indent: int = 0


class Items(Record):
    """Sentences that stand beside each other, one as good as the next.

    `figures` has the address of each, where they are findings.
    """

    texts: tuple[str, ...]
    figures: tuple[str, ...] = ()


class Verbatim(Record):
    """Lines that are never broken, such as a command to copy."""

    text: str


class Folded(Record):
    """Lines that fold at the edge, so that nothing of them is lost: what somebody else wrote."""

    text: str
    style: Style = ""
    indent: int = 0


class Table(Record):
    """Rows under headings. The first `left` columns are text, the others numbers.

    The first `ids` columns hold ids, which do not break. `caption` says what is in it where the
    heading above does not. `figures` has the address of each row, and `behind` says how such an
    address is made of the row, with the headings in capitals.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    ids: int = 0
    caption: str = ""
    figures: tuple[str, ...] = ()
    behind: str = ""


def how_to_find(table: Table) -> str:
    """Say how the events behind a row are found; empty where there are none."""
    return f"Events behind a row: perdure show DIR {table.behind}" if table.behind else ""


class Fitting(Record):
    """One table in two shapes: the `wide` one needs `width` characters not to break a word."""

    wide: Table
    narrow: Table
    width: int


Block: TypeAlias = Title | Heading | Paragraph | Items | Verbatim | Folded | Table | Fitting | Plot
