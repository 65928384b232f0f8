"""The command line: one file per command. Everything heavy is imported inside a command."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run `perdure` with the process's own arguments and give back its exit status."""
    status = _supervised() if sys.argv[1:2] == ["supervise"] else _executed()
    for one in (signal.SIGINT, signal.SIGTERM):
        # It is over, and has said how: whatever comes now comes too late to change that.
        signal.signal(one, signal.SIG_IGN)
    return status


def _supervised() -> int:
    from perdure.supervise.held import signals_held  # noqa: PLC0415 - only this needs it

    # A stop that comes while all of it is still being imported is one that is heard.
    with signals_held():
        return _executed()


def _executed() -> int:
    from perdure.cli.entry import execute  # noqa: PLC0415 - keeps `import perdure.cli` light

    return execute()
