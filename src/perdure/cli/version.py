"""`perdure --version`."""

from __future__ import annotations

import typer

from perdure.cli.output import write_out


def print_version(asked: bool) -> None:  # noqa: FBT001 - the parser calls it by position
    """Print the installed version and end, if it was asked for.

    Raises:
        typer.Exit: always, after printing.

    """
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 - 30 ms that nothing else needs

        write_out(f"perdure {version('perdure')}\n")
        raise typer.Exit
