"""`perdure ledger`: what a run cost, summed again from its record."""

from __future__ import annotations

import typer

from perdure.base.errors import EXIT_DONE, EXIT_STORAGE
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand

HELP = """\
Show what a run cost, summed from the cost events of its record.

By stage (what a call was for), model, world, and source of the amount. The count
of unknown amounts stands beside every sum: unknown is never zero. The sum is
compared with the registry's running total; if they differ, the exit code is 74.

\b
Example:
  perdure ledger runs/first
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ledger", help=HELP, cls=PlainCommand)(ledger)


def ledger(folder: RunFolder, *, json: Json = False) -> int:
    """Show what a run cost.

    Raises:
        UsageError: the folder holds no run.
        DamagedRecordError: the record does not hold what was written.

    """
    from perdure.analysis.ledger import build_ledger  # noqa: PLC0415 - heavy
    from perdure.cli.cost_view import ledger_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy

    with opened(folder) as record:
        found = build_ledger(record)
    if json:
        write_json(found)
    else:
        show(*ledger_parts(found, str(folder)))
    return EXIT_DONE if found.agrees else EXIT_STORAGE
