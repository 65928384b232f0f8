"""`perdure show`: one event or turn of a record, whole; or the events behind a figure."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.base.errors import EXIT_DONE, EXIT_MOVED, UsageError
from perdure.cli.arguments import Beside, Json, RunFolder
from perdure.cli.command import PlainCommand

HELP = """\
Show one event or turn whole, or the events behind a figure of the report.

ID is an event's id, as `verify`, `replay` and an export give it: a world and a
number. An event that belongs to a turn shows the whole turn. Its prompt is given
exactly as it was sent, each text checked against its hash, and is assembled again
from the events before it: if the two differ, the exit code is 78, as for `replay`.
Of other events, what they cite and what cites them is shown.

Or ID is the address of a figure, as `report` names them: its values, how they are
computed, and the ids of the events that they rest on.

What is shown is checked against the hashes beside it, and a damaged event or text
ends with 74 and its place; `verify` checks all of a record.

\b
Example:
  perdure show runs/first 0123456789ab:42
  perdure show runs/first calm@1:42 --json
  perdure show runs/first answers/vote/calm/0
  perdure show runs/first 'answers/vote/calm/0/yes?seed=1' --all
"""

EventId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="WORLD:NUMBER, where SCENARIO@SEED will do for the world; in a run of one world, "
        "the number alone. Or the address of a figure, such as answers/QUESTION/SCENARIO/TICK.",
    ),
]
OfScores = Annotated[
    str,
    typer.Option("--scores", metavar="ID", help="By these scores, as `report --scores` has them."),
]
Every = Annotated[
    bool, typer.Option("--all", help="Give all events behind a figure, not the first of them.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show", help=HELP, cls=PlainCommand)(show)


def show(
    folder: RunFolder,
    event: EventId,
    *,
    every: Every = False,
    scores: OfScores = "",
    beside: Beside = None,
    json: Json = False,
) -> int:
    """Show an event, a turn or a figure.

    Of a turn, the exit status says whether its prompt follows from the record.

    Raises:
        UsageError: the folder holds no run, or the run has no such event, figure or scores.
        DamagedRecordError: what would be shown is not what was written.

    """
    from perdure.analysis.address import is_address  # noqa: PLC0415 - heavy
    from perdure.cli.output import show as draw  # noqa: PLC0415 - heavy
    from perdure.cli.output import write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.cli.report import scores_of  # noqa: PLC0415 - heavy
    from perdure.cli.show_figure import show_figure  # noqa: PLC0415 - heavy
    from perdure.cli.show_view import shown_parts  # noqa: PLC0415 - heavy
    from perdure.cli.shown import look, scored_again  # noqa: PLC0415 - heavy

    if is_address(event):
        show_figure(folder, event, beside=beside, every=every, scores=scores, as_json=json)
        return EXIT_DONE
    if every or beside is not None:
        raise UsageError(
            "`--all` and `--beside` are for the address of a figure.",
            where="ID",
            remedy="Drop them to see one event.",
        )
    with opened(folder) as record:
        found = look(record, event)
        if scores:
            found = scored_again(found, folder, scores_of(folder, scores))
    if json:
        write_json(found)
    else:
        draw(*shown_parts(found, str(folder)))
    return EXIT_MOVED if found.differs else EXIT_DONE
