"""The commands of `perdure`, in the order in which a study needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.base.errors import EXIT_USAGE
from perdure.cli import (
    anchors,
    budget,
    closure,
    drive,
    export,
    ledger,
    plan,
    replay,
    report,
    resume,
    run,
    score,
    show,
    status,
    stop,
    supervise,
    verify,
)
from perdure.cli.help_page import AFTER, BEFORE
from perdure.cli.output import write_error
from perdure.cli.version import print_version

app = typer.Typer(
    name="perdure",
    help=BEFORE,
    epilog=AFTER,
    invoke_without_command=True,
    # Plain help: reads the same in a pager, and rich would double the time it takes.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def options(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=print_version, is_eager=True
        ),
    ] = False,
    debug: Annotated[  # noqa: ARG001 - `entry` reads it
        bool,
        typer.Option("--debug", help="On a bug, show where it happened (or PERDURE_DEBUG=1)."),
    ] = False,
) -> None:
    """Take the options that come before a command; `entry` reads `--debug` itself.

    Raises:
        typer.Exit: there is no command; the help page is shown.

    """
    if context.invoked_subcommand is None:
        write_error(context.get_help())
        raise typer.Exit(EXIT_USAGE)


for module in (
    plan,
    run,
    resume,
    stop,
    status,
    budget,
    ledger,
    verify,
    replay,
    score,
    show,
    report,
    export,
    supervise,
    anchors,
    closure,
    drive,
):
    module.register(app)
