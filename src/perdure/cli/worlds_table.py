"""A table with a row for each world: readable for two worlds, and for the thousands of a sweep.

What a grid varies gets a column of its own, so that ids of cells do not have to be read apart. Of
very many rows the first and the last are drawn, and the others counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from perdure.cli.figures import count, plural
from perdure.cli.tables import SCENARIO, fits, paragraph, table
from perdure.study.grid import varied_in

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

ROWS_MAX = 50
ENDS = 20


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


def cause_parts(worlds: Iterable[Stands], *, indent: int = 0) -> Iterator[RenderableType]:
    """Say of each world why it did not come to its end; of very many, of the first."""
    told = [f"{world.world_id}: {world.cause}" for world in worlds if world.cause]
    for line in told[:ENDS]:
        yield paragraph(line, indent=indent)
    if len(told) > ENDS:
        others = plural(len(told) - ENDS, "other world")
        yield paragraph(f"{others} did not either: --json says why.", indent=indent)


class WorldsTable:
    """A row for each world. One of the columns is the id of its scenario.

    The columns up to that one are text, the others numbers. Rows that are neither drawn nor told of
    elsewhere are counted.
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._columns = columns
        self._rows = rows
        self._place = columns.index(SCENARIO)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._drawn(options.max_width)
        if len(self._rows) > ROWS_MAX:
            left_out = count(len(self._rows) - 2 * ENDS)
            yield paragraph(f"{left_out} in the middle are left out: --json lists all.")

    def _drawn(self, width: int) -> Table:
        columns, rows, more = self._apart(width)
        if len(rows) > ROWS_MAX:
            between = ["...", *[""] * (len(columns) - 1)]
            rows = [*rows[:ENDS], between, *rows[-ENDS:]]
        return table(columns, rows, left=self._place + 1 + more, ids=self._place + 1)

    def _apart(self, width: int) -> tuple[Sequence[str], Sequence[Sequence[str]], int]:
        """Give each key that varies a column beside the scenario's, if there is room for it.

        Where there is none, the ids of scenarios are drawn as they are.
        """
        place, after = self._place, self._place + 1
        found = [varied_in(row[place]) for row in self._rows]
        keys = list(dict.fromkeys(key for _, varied in found for key in varied))
        short = [key.rpartition(".")[2] for key in keys]
        heads = short if not set(short) & set(self._columns) else keys
        columns = [*self._columns[:after], *heads, *self._columns[after:]]
        rows = [
            [*row[:place], own, *(varied.get(key, "") for key in keys), *row[after:]]
            for row, (own, varied) in zip(self._rows, found, strict=True)
        ]
        if fits(columns, rows, whole=after + len(keys), width=width):
            return columns, rows, len(keys)
        return self._columns, self._rows, 0
