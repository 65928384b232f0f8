"""`perdure show`: one event or turn of a record, whole."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.base.errors import EXIT_DONE, EXIT_MOVED
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand

HELP = """\
Show one event or turn: what was seen, remembered, asked, answered, scored and paid.

ID is an event's id, as `verify`, `replay` and an export give it: a world and a
number. An event that belongs to a turn shows the whole turn. Its prompt is given
exactly as it was sent, each text checked against its hash, and is assembled again
from the events before it: if the two differ, the exit code is 78, as for `replay`.
Of other events, what they cite and what cites them is shown.

What is shown is checked against the hashes beside it, and a damaged event or text
ends with 74 and its place; `verify` checks all of a record.

\b
Example:
  perdure show runs/first 0123456789ab:42
  perdure show runs/first calm@1:42 --json
"""

EventId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="WORLD:NUMBER, where SCENARIO@SEED will do for the world; in a run of one world, "
        "the number alone.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show", help=HELP, cls=PlainCommand)(show)


def show(folder: RunFolder, event: EventId, *, json: Json = False) -> int:
    """Show one event or turn; the exit status says whether its prompt follows from the record.

    Raises:
        UsageError: the folder holds no run, or the run has no such event.
        DamagedRecordError: what would be shown is not what was written.

    """
    from perdure.cli.output import show as draw  # noqa: PLC0415 - heavy
    from perdure.cli.output import write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.cli.show_view import shown_parts  # noqa: PLC0415 - heavy
    from perdure.cli.shown import look  # noqa: PLC0415 - heavy

    with opened(folder) as record:
        found = look(record, event)
    if json:
        write_json(found)
    else:
        draw(*shown_parts(found, str(folder)))
    return EXIT_MOVED if found.differs else EXIT_DONE
