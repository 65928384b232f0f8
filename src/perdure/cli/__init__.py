"""The command line: one file per command. Everything heavy is imported inside a command."""

from __future__ import annotations


def main() -> int:
    """Run `perdure` with the process's own arguments and give back its exit status."""
    from perdure.cli.entry import execute  # noqa: PLC0415 - keeps `import perdure.cli` light

    return execute()
