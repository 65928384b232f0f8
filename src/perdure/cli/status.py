"""`perdure status`: how far a run is, and whether anything works on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from perdure.base.errors import EXIT_DONE
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand
from perdure.cli.drive_folder import holds_drive

if TYPE_CHECKING:
    from perdure.analysis.document import Block
    from perdure.analysis.standing import Standing
    from perdure.records.registry import WorldState
    from perdure.records.result import Progress

_URGENCY = ("failed", "partial", "not_started", "completed")

HELP = """\
Show how far a run is: its state, its worlds, what it spent.

A run that no process holds is never shown as running: if it neither ended nor
paused by itself, it is interrupted. Reading a live run does not disturb it. Of the
folder of a drive it shows what the agent does, and how full its window is.

\b
Example:
  perdure status runs/first
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status", help=HELP, cls=PlainCommand)(status)


def status(folder: RunFolder, *, json: Json = False) -> int:
    """Show how far a run is.

    Raises:
        UsageError: the folder holds no run.
        DamagedRecordError: its registry cannot be read.

    """
    if holds_drive(folder):
        from perdure.cli.drive_standing import show_standing  # noqa: PLC0415 - heavy

        return show_standing(folder, json=json)
    from perdure.analysis.standing import standing  # noqa: PLC0415 - heavy
    from perdure.cli.output import as_tree, show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.runner.meter import latest  # noqa: PLC0415 - heavy
    from perdure.trace.lock import is_held  # noqa: PLC0415 - heavy

    held = is_held(folder)
    with opened(folder) as record:
        found = standing(
            record.entry,
            record.worlds,
            record.outcomes,
            record.log,
            held=held,
            journal=record.journal,
            journal_fault=record.journal_fault,
        )
    progress = latest(folder) if held else None
    if json:
        write_json({**as_tree(found), "progress": as_tree(progress)})
    else:
        show(*_parts(found, str(folder), progress))
    return EXIT_DONE


def _shown(state: WorldState) -> str:
    return state.replace("_", " ")


def _total(found: Standing) -> str:
    from perdure.cli.figures import spend  # noqa: PLC0415 - heavy

    beside = found.outside
    return spend(found.cost + beside.amount, found.unknown_costs + beside.unknown, found.currency)


def _parts(found: Standing, folder: str, progress: Progress | None) -> Iterator[Block]:
    from perdure.cli.alike_view import alike_parts  # noqa: PLC0415 - heavy
    from perdure.cli.budget_view import standing_parts  # noqa: PLC0415 - heavy
    from perdure.cli.calendar_view import calendar_parts, date_text  # noqa: PLC0415 - heavy
    from perdure.cli.cost_view import outside_parts  # noqa: PLC0415 - heavy
    from perdure.cli.figures import count, plural, spend  # noqa: PLC0415 - heavy
    from perdure.cli.marks_view import mark_parts, transport_parts  # noqa: PLC0415 - heavy
    from perdure.cli.progress import pace_text  # noqa: PLC0415 - heavy
    from perdure.cli.tables import paragraph  # noqa: PLC0415 - heavy
    from perdure.cli.worlds_table import (  # noqa: PLC0415 - heavy
        ROWS_MAX,
        cause_parts,
        world_rows,
    )

    yield paragraph(f"{folder}: {found.state}", style="bold")
    if found.cause:
        yield paragraph(found.cause)
    yield paragraph(f"Model: {found.answered_by}.")
    yield from mark_parts(found.marks)
    yield from transport_parts(found.marks)
    yield paragraph(
        f"{found.worlds_completed} of {plural(len(found.worlds), 'world')} completed, "
        f"{count(found.ticks_closed)} of {plural(found.ticks, 'tick')} closed, "
        f"{plural(found.turns, 'turn')} taken, {count(found.turns_failed)} failed, "
        f"{plural(found.calls, 'call')}, "
        f"{spend(found.cost, found.unknown_costs, found.currency)}"
    )
    yield from outside_parts(found.outside, found.currency, total=_total(found))
    spent = found.cost + found.outside.amount
    yield from standing_parts(found.budget, found.rungs, found.worlds, found.currency, spent)
    yield from alike_parts(found.comparability, len(found.worlds))
    yield from calendar_parts(found.calendars)
    if progress is not None:
        yield paragraph(f"Now: {pace_text(progress)}")
    yield paragraph("")
    worlds = found.worlds
    if len(worlds) > ROWS_MAX:
        # Of many worlds those come first that have not come to their end.
        worlds = tuple(sorted(worlds, key=lambda world: _URGENCY.index(world.state)))
        counts = Counter(world.state for world in worlds)
        told = ", ".join(f"{count(counts[state])} {_shown(state)}" for state in counts)
        yield paragraph(f"Worlds: {told}.\n")
    rows = [
        [
            world.world_id,
            world.scenario,
            str(world.seed),
            _shown(world.state),
            f"{world.tick + 1}/{world.horizon}",
            *([date_text(world.date)] if found.calendars else []),
            count(world.turns),
            count(world.turns_failed),
            spend(world.cost, world.unknown_costs, found.currency),
        ]
        for world in worlds
    ]
    columns = ["world", "scenario", "seed", "state", "ticks", "turns", "failed", "spend"]
    if found.calendars:
        columns.insert(5, "date")
    yield from world_rows(columns, rows)
    yield from cause_parts(found.worlds)
