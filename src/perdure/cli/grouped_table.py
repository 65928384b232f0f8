"""A table of rows that begin with a scenario: one where it fits, else one for each scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.analysis.document import Block
from perdure.cli.tables import fits, paragraph, table


def by_scenario(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int
) -> Iterator[Block]:
    """Draw rows whose first cell is a scenario; the first `left` columns are text.

    Where no cell has to break on 80 columns it is one table, else the scenario is said above its
    own rows.
    """
    if fits(columns, [columns, *rows], whole=len(columns)):
        yield table(columns, rows, left=left)
        return
    mine: dict[str, list[Sequence[str]]] = {}
    for scenario, *cells in rows:
        mine.setdefault(scenario, []).append(cells)
    for scenario, own in mine.items():
        yield paragraph(f"\n{scenario}", indent=2)
        yield table(columns[1:], own, left=left - 1)
