"""`perdure report`: what a run found."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from perdure.base.errors import EXIT_DONE
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand

HELP = """\
Show what a run found, from its record alone.

Predicted shares against the real, held-out ones, overall and by group; accuracy
and Brier score beside simple yardsticks; the change between waves and the
difference between scenarios; the spread between seeds, and how many of them differ;
what was not measured and why; the cost. Every figure has its count.

\b
Example:
  perdure report runs/first
  perdure report runs/first --by education --json
  perdure report runs/model --beside runs/baseline
"""

By = Annotated[
    str,
    typer.Option(
        "--by", metavar="ATTRIBUTE", help="Group by this attribute (default: the first scale)."
    ),
]

Beside = Annotated[
    Path | None,
    typer.Option(
        "--beside",
        metavar="DIR",
        help="Compare with this run on the same people, such as one of the rule baseline.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", help=HELP, cls=PlainCommand)(report)


def report(folder: RunFolder, *, by: By = "", beside: Beside = None, json: Json = False) -> int:
    """Show what a run found.

    Raises:
        UsageError: a folder holds no run, or the attribute cannot be grouped by.
        DamagedRecordError: the record does not hold what was written.

    """
    from perdure.analysis.report import build_report  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.cli.report_view import report_parts  # noqa: PLC0415 - heavy

    with ExitStack() as stack:
        record = stack.enter_context(opened(folder))
        other = stack.enter_context(opened(beside)) if beside is not None else None
        found = build_report(record, grouped_by=by, beside=other)
    if json:
        write_json(found)
    else:
        show(*report_parts(found, str(folder)))
    return EXIT_DONE
