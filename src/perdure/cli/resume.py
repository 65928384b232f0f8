"""`perdure resume`: continue the run in a folder."""

from __future__ import annotations

import typer

from perdure.base.errors import UsageError
from perdure.cli.arguments import Json, MovedStudy, RunFolder
from perdure.cli.command import PlainCommand
from perdure.cli.run import (
    Force,
    Labour,
    NetworkFs,
    Only,
    Quiet,
    StepLimit,
    WorkerMemory,
    Workers,
    carry_out,
)

HELP = """\
Continue the run in a folder, from where its record ends.

The study is read again, with the flags that the run was started with, and compared
with the run's registry. If anything that decides the run moved, everything that
moved is named, with its old and new value, and nothing is done (exit code 78).
--force NAME goes on past one of them; this is recorded, and marks the results for
ever. From then on the run is compared with what it was forced to. What makes other
worlds (population, scenarios, seeds) cannot be forced. A finished run is left alone
if nothing moved.

--only CELL drives the named cells and leaves the others as they are, as in
`perdure run`.

\b
Example:
  perdure resume runs/first
  perdure resume runs/first --only calm@1
  perdure resume runs/first --force brief --force engine
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", help=HELP, cls=PlainCommand)(resume)


def resume(
    folder: RunFolder,
    *,
    force: Force = None,
    study: MovedStudy = None,
    network_fs: NetworkFs = False,
    only: Only = None,
    workers: Workers = None,
    step_limit: StepLimit = None,
    worker_memory: WorkerMemory = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Continue a run; the exit status is the run's own.

    Raises:
        UsageError: the folder holds no run, its study file is not where it was, or something is
            forced that cannot be.
        MovedError: what decides the run moved since it began.

    """
    from perdure.cli.record import opened, require_run  # noqa: PLC0415 - heavy
    from perdure.runner.config import study_file_of  # noqa: PLC0415 - heavy
    from perdure.study.overrides import Overrides  # noqa: PLC0415 - heavy
    from perdure.trace.forced import flags_in_force  # noqa: PLC0415 - heavy

    require_run(folder)
    with opened(folder) as record:
        entry, flags = record.entry, flags_in_force(record.entry, record.log)
    path = study or study_file_of(entry, folder)
    if path is None:
        raise UsageError(
            f"The study file of this run is not at {entry.study_path} any more.",
            where=str(folder),
            remedy="Say where it is with --study PATH.",
        )
    overrides = Overrides.of_flags(flags)
    return carry_out(
        path,
        folder,
        overrides,
        force=force or (),
        only=only or (),
        network_fs=network_fs,
        labour=Labour(workers=workers, step_limit_s=step_limit, memory_gb=worker_memory),
        quiet=quiet,
        json=json,
    )
