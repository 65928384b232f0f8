"""Reads a run again and again with the commands that people read with, until it is told to end.

    python run_readers.py OUT COMMAND ...

Each command is run in turn, in this one process, until standard input ends. Every run of one is a
line of JSON: the command, its exit status, and the document that it gave.
"""

from __future__ import annotations

import io
import json
import select
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from perdure.cli.entry import execute


def read(command: str, out: str) -> list[Any]:
    """Run a command on a run; give its name, its status, its document, and what else it said."""
    said, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(errors):
        status = execute([command, out, "--json"])
    return [command, status, json.loads(said.getvalue()), errors.getvalue()]


def main(out: str, *commands: str) -> None:
    """Read until standard input ends."""
    while True:
        for command in commands:
            sys.stdout.write(json.dumps(read(command, out)) + "\n")
            sys.stdout.flush()
            if select.select([sys.stdin], [], [], 0)[0]:
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
