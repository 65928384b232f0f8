"""Where every command begins and ends: arguments in, one exit status out, and no bare traceback."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from typing import Any

import typer

from perdure.base.errors import (
    EXIT_BUG,
    EXIT_DONE,
    EXIT_STOPPED,
    OutputError,
    PerdureError,
    UsageError,
)
from perdure.base.text import one_line
from perdure.cli.app import app
from perdure.cli.failure import as_document, as_text, bug, interrupted
from perdure.cli.output import write_error, write_json

DEBUG_VARIABLE = "PERDURE_DEBUG"
_NAME_MAX = 60
_KEYBOARD_INTERRUPT = 130  # what the parser makes of Ctrl-C


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give back its exit status. Nothing is raised to the caller.

    Errors are one sentence on stderr, or one JSON document on stdout with `--json`.
    """
    argv = list(sys.argv[1:] if arguments is None else arguments)
    wants_json = "--json" in argv
    frames = _debug(argv)
    try:
        status = commands().main(argv, prog_name="perdure", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        status = _KEYBOARD_INTERRUPT
    except SystemExit as exit_:  # shell completion ends this way
        return exit_.code if isinstance(exit_.code, int) else EXIT_DONE
    except PerdureError as error:
        return _fail(error, wants_json=wants_json, frames=frames and error.exit_status == EXIT_BUG)
    except Exception as error:  # noqa: BLE001 - the one wall that every bug ends at
        usage = usage_of(error)
        return _fail(usage or bug(error), wants_json=wants_json, frames=frames and usage is None)
    if status == _KEYBOARD_INTERRUPT:
        _report(interrupted(), wants_json=wants_json)
        return EXIT_STOPPED
    return status if isinstance(status, int) else EXIT_DONE


@cache
def commands() -> Any:
    """Make the parser of all commands, once: it is the same for every command line."""
    return typer.main.get_command(app)


def usage_of(error: Exception) -> UsageError | None:
    """Translate what a command line is to blame for; None if the error is not of that kind."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        where = one_line(str(error.filename), _NAME_MAX)
        return UsageError("A path is longer than this system takes.", where=where)
    context = getattr(error, "ctx", None)
    if not hasattr(error, "format_message"):
        return None
    command = context.command_path if context is not None else "perdure"
    return UsageError(error.format_message().strip(), remedy=f"See `{command} --help`.")


def _fail(error: PerdureError, *, wants_json: bool, frames: bool) -> int:
    if frames:
        # Only the frames, never their values: a local variable may hold a key.
        write_error(traceback.format_exc())
    _report(error, wants_json=wants_json)
    return error.exit_status


def _report(error: PerdureError, *, wants_json: bool) -> None:
    if wants_json and not isinstance(error, OutputError):
        write_json(as_document(error))
    else:
        write_error(as_text(error))


def _debug(argv: Sequence[str]) -> bool:
    return "--debug" in argv or bool(os.environ.get(DEBUG_VARIABLE))
