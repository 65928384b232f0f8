"""The command line: one file per command. Everything heavy is imported inside a command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run `perdure` with the process's own arguments and give back its exit status."""
    if sys.argv[1:2] != ["supervise"]:
        return _executed()
    from perdure.supervise.held import signals_held  # noqa: PLC0415 - only this needs it

    # A stop that comes while all of it is still being imported is one that is heard.
    with signals_held():
        return _executed()


def _executed() -> int:
    from perdure.cli.entry import execute  # noqa: PLC0415 - keeps `import perdure.cli` light

    return execute()
