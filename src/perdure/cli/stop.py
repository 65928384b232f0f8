"""`perdure stop`: let a live run finish its open ticks and pause."""

from __future__ import annotations

import typer

from perdure.base.errors import EXIT_DONE
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand
from perdure.cli.drive_folder import holds_drive

HELP = """\
Ask a live run to finish its open ticks and pause.

The run ends with exit code 75 and can be continued. This command does not wait for
it: `perdure status` shows when it has paused. A run that nobody works on is left
alone. A drive ends at its next safe point, and can be continued from its handoff.

\b
Example:
  perdure stop runs/first
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stop", help=HELP, cls=PlainCommand)(stop)


def stop(folder: RunFolder, *, json: Json = False) -> int:
    """Ask a live run to stop.

    Raises:
        UsageError: the folder holds no run.
        StorageError: the request cannot be written.

    """
    from perdure.cli.output import write_json, write_out  # noqa: PLC0415 - heavy
    from perdure.cli.record import require_run  # noqa: PLC0415 - heavy
    from perdure.trace.lock import is_held  # noqa: PLC0415 - heavy
    from perdure.trace.stop_request import ask_to_stop  # noqa: PLC0415 - heavy

    is_drive = holds_drive(folder)
    if not is_drive:
        require_run(folder)
    asked = is_held(folder)
    if asked:
        ask_to_stop(folder)
    if json:
        write_json({"asked": asked})
    elif not asked:
        what = "drive" if is_drive else "run"
        write_out(f"Nobody works on this {what}; there is nothing to stop.\n")
    elif is_drive:
        write_out("The drive was asked to stop. It ends at its next safe point.\n")
    else:
        write_out("The run was asked to stop. It finishes its open ticks first.\n")
    return EXIT_DONE
