"""How every command presents itself in its own help."""

from __future__ import annotations

import typer
from typer.core import TyperCommand

from perdure.base.errors import EXIT_USAGE
from perdure.cli.output import write_error


class PlainCommand(TyperCommand):
    """A command whose usage line names its arguments without braces."""

    def collect_usage_pieces(self, ctx) -> list[str]:  # type: ignore[no-untyped-def] # noqa: ANN001
        """List the parts of the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


def command_group(text: str) -> typer.Typer:
    """Make a group of commands, which shows its help page where none of them is named."""
    group = typer.Typer(
        help=text, no_args_is_help=False, rich_markup_mode=None, invoke_without_command=True
    )

    @group.callback()
    def options(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            write_error(context.get_help())
            raise typer.Exit(EXIT_USAGE)

    return group
