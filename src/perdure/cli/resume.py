"""`perdure resume`: continue the run in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import UsageError
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand
from perdure.cli.run import NetworkFs, Quiet, carry_out

if TYPE_CHECKING:
    from perdure.records.registry import RunEntry

HELP = """\
Continue the run in a folder, from its record alone.

The study is read again, with the flags that the run was started with, and compared
with the run's registry. If anything that decides the run moved, everything that
moved is named and nothing is done (exit code 78). --force NAME goes on past one of
them; this is recorded, and marks the results for ever. A finished run is left alone.

\b
Example:
  perdure resume runs/first
  perdure resume runs/first --force brief
"""

Force = Annotated[
    list[str] | None,
    typer.Option("--force", metavar="NAME", help="Go on though this moved; can be repeated."),
]
Study = Annotated[
    Path | None, typer.Option("--study", metavar="PATH", help="The study file, if it moved.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", help=HELP, cls=PlainCommand)(resume)


def resume(
    folder: RunFolder,
    *,
    force: Force = None,
    study: Study = None,
    network_fs: NetworkFs = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Continue a run; the exit status is the run's own.

    Raises:
        UsageError: the folder holds no run, or its study file is not where it was.
        MovedError: what decides the run moved since it began.

    """
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.study import Overrides  # noqa: PLC0415 - heavy

    with opened(folder) as record:
        entry = record.entry
    path = study or study_of(entry, folder)
    overrides = Overrides.of_flags(entry.flags)
    return carry_out(
        path,
        folder,
        overrides,
        force=force or (),
        network_fs=network_fs,
        quiet=quiet,
        json=json,
    )


def study_of(entry: RunEntry, folder: Path) -> Path:
    """Find a run's study file: beside its folder as it was then, else where it was then.

    Raises:
        UsageError: it is at neither place.

    """
    beside = folder / entry.study_path_relative
    for path in (beside, Path(entry.study_path)):
        if path.is_file():
            return path
    raise UsageError(
        f"The study file of this run is not at {entry.study_path} any more.",
        where=str(folder),
        remedy="Say where it is with --study PATH.",
    )
