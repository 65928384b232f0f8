"""A table of rows that begin with a scenario: one where it fits, else one for each scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.analysis.address import address
from perdure.analysis.document import Block
from perdure.cli.tables import fits, paragraph, table

_Rows = list[tuple[Sequence[str], str]]


def by_scenario(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int,
    figures: Sequence[str] = (),
    behind: str = "",
) -> Iterator[Block]:
    """Draw rows whose first cell is a scenario; the first `left` columns are text.

    Where no cell has to break on 80 columns it is one table, else the scenario is said above its
    own rows. `figures` and `behind` are as in `table`, the scenario being its own there.
    """
    if fits(columns, [columns, *rows], whole=len(columns)):
        yield table(columns, rows, left=left, figures=figures, behind=behind)
        return
    mine: dict[str, _Rows] = {}
    for (scenario, *cells), figure in zip(rows, figures or [""] * len(rows), strict=True):
        mine.setdefault(scenario, []).append((cells, figure))
    for scenario, own in mine.items():
        yield paragraph(f"\n{scenario}", indent=2)
        yield table(
            columns[1:],
            [cells for cells, _ in own],
            left=left - 1,
            figures=[figure for _, figure in own] if figures else (),
            behind=behind.replace("SCENARIO", address(scenario)),
        )
