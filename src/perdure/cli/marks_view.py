"""What marks a run, in words: what it was forced past, where it diverged, what moved beside."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.document import Block
from perdure.cli.figures import count, plural
from perdure.cli.tables import paragraph
from perdure.records.registry import Moved
from perdure.trace.forced import ForceMark, Marks

_WORLDS_SHOWN = 4
_DIVERGED_SHOWN = 10


def mark_parts(marks: Marks) -> Iterator[Block]:
    """Say what marks the results of a run for ever; nothing if nothing does."""
    for force in marks.forced:
        yield paragraph(f"Forced past {_moved(force.moved)}.", style="bold")
        yield paragraph(f"{_before(force)}; what follows was made after.", indent=2)
    for one in marks.diverged[:_DIVERGED_SHOWN]:
        yield paragraph(
            f"World {one.world_id} diverged at tick {one.tick}: {one.event}: {one.wrong}. "
            "It went on from the recorded turns.",
            indent=2,
        )
    left = len(marks.diverged) - _DIVERGED_SHOWN
    if left > 0:
        yield paragraph(f"and {plural(left, 'more world')} diverged", indent=2)


def transport_parts(marks: Marks) -> Iterator[Block]:
    """Say what moved that only carries bytes."""
    if marks.transport:
        yield paragraph(f"Moved, and only carries bytes: {_moved(marks.transport)}.")


def _moved(moved: tuple[Moved, ...]) -> str:
    return "; ".join(_one(one) for one in moved)


def _one(moved: Moved) -> str:
    if moved.parts:
        return f"{moved.name} ({'; '.join(moved.parts)})"
    return f"{moved.name} (from {moved.was or 'nothing'} to {moved.now or 'nothing'})"


def _before(force: ForceMark) -> str:
    if not force.ticks:
        return "No tick was closed before"
    ticks = sum(tick + 1 for tick in force.ticks.values())
    shown = list(force.ticks.items())[:_WORLDS_SHOWN]
    listed = ", ".join(f"{world} up to tick {tick}" for world, tick in shown)
    left = len(force.ticks) - len(shown)
    more = f" and {count(left)} more worlds" if left > 0 else ""
    return f"{plural(ticks, 'tick')} closed before: {listed}{more}"
