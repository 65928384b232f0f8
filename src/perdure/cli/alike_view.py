"""Which cells of a run can be compared, in words."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.document import Block
from perdure.cli.budget_view import rungs_text
from perdure.cli.figures import count, percent, plural
from perdure.cli.tables import paragraph
from perdure.records.comparability import Alike, Comparability

_SHOWN = 12


def alike_parts(found: Comparability, worlds: int) -> Iterator[Block]:
    """Say which of a run's worlds can be compared; nothing of a run of one world."""
    if worlds <= 1:
        return
    if not found.groups:
        yield paragraph("No two worlds can be compared yet: none is at its end.")
        return
    if not found.unlike:
        yield paragraph(f"All {count(worlds)} worlds can be compared: {_ran(found.groups[0])}.")
        return
    largest = found.groups[0].worlds
    if len(largest) == 1:
        yield paragraph(f"No two of {count(worlds)} worlds can be compared with each other.")
    for number, group in enumerate(found.groups):
        if len(group.worlds) > 1:
            which = "can be compared with each other" if number == 0 else "with each other alone"
            size = plural(len(group.worlds), "world")
            yield paragraph(f"{size} of {count(worlds)} {which}: {_ran(group)}.")
    other = "the largest group" if len(largest) > 1 else largest[0]
    yield paragraph(f"Not to be compared with {other}:")
    for one in found.unlike[:_SHOWN]:
        yield paragraph(f"{one.world_id}: {one.why}", indent=2)
    left = len(found.unlike) - _SHOWN
    if left > 0:
        yield paragraph(f"and {plural(left, 'more world')}; --json names each", indent=2)


def _ran(group: Alike) -> str:
    rungs = rungs_text(group.rungs) or "no restraining rung"
    low, high = percent(group.failed_min), percent(group.failed_max)
    shares = low if low == high else f"{low} to {high}"
    return f"{rungs}, {shares} of turns failed"
