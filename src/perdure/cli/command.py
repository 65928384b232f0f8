"""How every command presents itself in its own help."""

from __future__ import annotations

from typer.core import TyperCommand


class PlainCommand(TyperCommand):
    """A command whose usage line names its arguments without braces."""

    def collect_usage_pieces(self, ctx) -> list[str]:  # type: ignore[no-untyped-def] # noqa: ANN001
        """List the parts of the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]
