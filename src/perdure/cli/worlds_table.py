"""A table with a row for each world: readable for two worlds, and for the thousands of a sweep.

What a grid varies gets a column of its own, so that ids of cells do not have to be read apart. Of
very many rows the first and the last are drawn, and the others counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from perdure.analysis.document import Block, Fitting, Table
from perdure.cli.figures import count, plural
from perdure.cli.tables import SCENARIO, paragraph, table, width_of
from perdure.study.grid import varied_in

ROWS_MAX = 50
ENDS = 20
_LEFT_OUT = "..."


class Stands(Protocol):
    """How one world stands."""

    @property
    def world_id(self) -> str:
        """Its id."""
        ...

    @property
    def cause(self) -> str:
        """Why it did not come to its end, if that is known."""
        ...


def cause_parts(worlds: Iterable[Stands], *, indent: int = 0) -> Iterator[Block]:
    """Say of each world why it did not come to its end; of very many, of the first."""
    told = [f"{world.world_id}: {world.cause}" for world in worlds if world.cause]
    for line in told[:ENDS]:
        yield paragraph(line, indent=indent)
    if len(told) > ENDS:
        others = plural(len(told) - ENDS, "other world")
        yield paragraph(f"{others} did not either: --json says why.", indent=indent)


def world_rows(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, behind: str = ""
) -> Iterator[Block]:
    """Put worlds under each other. One of the columns is the id of its scenario.

    The columns up to that one are text, the others numbers. Rows that are neither drawn nor told of
    elsewhere are counted. `behind` is the address of a row, of which `WORLD` is the first cell.
    """
    place, after = columns.index(SCENARIO), columns.index(SCENARIO) + 1
    keys, apart, wide = _apart(columns, rows, place)
    yield Fitting(
        wide=_some(apart, wide, left=after + keys, ids=after, behind=behind),
        narrow=_some(columns, rows, left=after, ids=after, behind=behind),
        width=width_of(apart, wide, whole=after + keys),
    )
    if len(rows) > ROWS_MAX:
        left_out = count(len(rows) - 2 * ENDS)
        yield paragraph(f"{left_out} in the middle are left out: --json lists all.")


_Rows = Sequence[Sequence[str]]


def _some(columns: Sequence[str], rows: _Rows, *, left: int, ids: int, behind: str) -> Table:
    if len(rows) > ROWS_MAX:
        between = [_LEFT_OUT, *[""] * (len(columns) - 1)]
        rows = [*rows[:ENDS], between, *rows[-ENDS:]]
    at = [behind.replace("WORLD", row[0]) if row[0] != _LEFT_OUT else "" for row in rows]
    return table(columns, rows, left=left, ids=ids, figures=at if behind else (), behind=behind)


def _apart(
    columns: Sequence[str], rows: _Rows, place: int
) -> tuple[int, Sequence[str], Sequence[Sequence[str]]]:
    """Give each key that varies a column beside the scenario's, and say how many they are."""
    after = place + 1
    found = [varied_in(row[place]) for row in rows]
    keys = list(dict.fromkeys(key for _, varied in found for key in varied))
    short = [key.rpartition(".")[2] for key in keys]
    heads = short if not set(short) & set(columns) else keys
    named = [*columns[:after], *heads, *columns[after:]]
    wide = [
        [*row[:place], own, *(varied.get(key, "") for key in keys), *row[after:]]
        for row, (own, varied) in zip(rows, found, strict=True)
    ]
    return len(keys), named, wide
