"""`perdure stop`: let a live run finish its open ticks and pause."""

from __future__ import annotations

from pathlib import Path

import typer

from perdure.base.errors import EXIT_DONE, StorageError
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand
from perdure.cli.drive_folder import holds_drive

HELP = """\
Ask a live run to finish its open ticks and pause.

The run ends with exit code 75 and can be continued. This command does not wait for
it: `perdure status` shows when it has paused. A run that nobody works on is left
alone. A drive ends at its next safe point, and can be continued from its handoff.
A supervisor, if there is one, is asked to end as well; DIR may also be a supervisor's
own folder, for a run of another program.

\b
Example:
  perdure stop runs/first
"""


_ALONE = "Its supervisor is gone, and the run went on alone. It was asked to stop (SIGINT)"


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
    from perdure.supervise.book import folder_of  # noqa: PLC0415 - heavy
    from perdure.trace.lock import is_held  # noqa: PLC0415 - heavy
    from perdure.trace.stop_request import ask_to_stop  # noqa: PLC0415 - heavy

    is_drive = holds_drive(folder)
    asked = is_supervised = _ask_the_supervisor(folder)
    is_ours = is_drive or (folder / "run.db").exists()
    if is_ours or folder_of(folder) is None:
        if not is_drive:
            require_run(folder)
        if is_held(folder):
            ask_to_stop(folder)
            asked = True
    elif not is_supervised:
        asked = _ask_what_was_left_alone(folder)
    if json:
        write_json({"asked": asked})
    elif not asked:
        what = "drive" if is_drive else "run"
        write_out(f"Nobody works on this {what}; there is nothing to stop.\n")
    elif is_drive:
        write_out("The drive was asked to stop. It ends at its next safe point.\n")
    elif not is_ours:
        whom = "The supervisor was asked to end. It stops its run" if is_supervised else _ALONE
        write_out(f"{whom}.\n")
    else:
        write_out("The run was asked to stop. It finishes its open ticks first.\n")
    return EXIT_DONE


def _ask_the_supervisor(folder: Path) -> bool:
    """Ask the supervisor of a folder to end; say whether there is one at work."""
    from perdure.supervise.book import ask_to_stop, folder_of, is_supervised  # noqa: PLC0415 - heavy

    place = folder_of(folder)
    if place is None or not is_supervised(place):
        return False
    try:
        ask_to_stop(place)
    except OSError as error:
        raise StorageError(
            f"The request cannot be written ({error.strerror or error}).", where=str(place)
        ) from error
    return True


def _ask_what_was_left_alone(folder: Path) -> bool:
    """Interrupt a run whose supervisor is gone; say whether there is one."""
    from perdure.supervise.book import folder_of  # noqa: PLC0415 - heavy
    from perdure.supervise.escalation import Step  # noqa: PLC0415 - heavy
    from perdure.supervise.running import left_alone  # noqa: PLC0415 - heavy

    place = folder_of(folder)
    attempt = left_alone(place) if place is not None else None
    if attempt is None:
        return False
    attempt.take_step(Step.INT)
    return True
