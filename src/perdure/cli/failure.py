"""Errors for people and for programs: a sentence, or a document of the same facts."""

from __future__ import annotations

from typing import Any

from perdure.base.errors import (
    EXIT_BUG,
    InternalError,
    InvalidStudyError,
    MovedError,
    PerdureError,
    StopRequestedError,
)
from perdure.base.text import one_line, printable

BUG_REMEDY = (
    "This is a bug in perdure; what was recorded before it is kept. "
    "Run the command again with PERDURE_DEBUG=1 to see where it happened, and report that."
)
_MESSAGE_MAX = 300


def as_text(error: PerdureError) -> str:
    """Write an error for a terminal: what is wrong, where, and what to do."""
    text = printable(str(error))
    if error.exit_status == EXIT_BUG and BUG_REMEDY not in text:
        text = f"{text} {BUG_REMEDY}"
    return f"perdure: {text}"


def as_document(error: PerdureError) -> dict[str, Any]:
    """Write an error as data, for `--json`."""
    problems = error.problems if isinstance(error, InvalidStudyError) else ()
    moved = error if isinstance(error, MovedError) else MovedError("")
    return {
        "error": {
            "code": error.code,
            "exit_status": error.exit_status,
            "wrong": error.wrong,
            "where": error.where,
            "remedy": error.remedy or (BUG_REMEDY if error.exit_status == EXIT_BUG else ""),
            "problems": [
                {
                    "file": problem.file,
                    "line": problem.line,
                    "wrong": problem.wrong,
                    "remedy": problem.remedy,
                }
                for problem in problems
            ],
            "moved": list(moved.moved),
            "diffs": list(moved.diffs),
        }
    }


def bug(error: Exception) -> InternalError:
    """Turn an exception that nobody expected into our own, without its traceback."""
    message = one_line(str(error), _MESSAGE_MAX)
    found = InternalError(f"{type(error).__name__}: {message}", remedy=BUG_REMEDY)
    found.__cause__ = error
    return found


def interrupted() -> StopRequestedError:
    """Say that Ctrl-C ended a command."""
    return StopRequestedError("Interrupted.", remedy="What was recorded is kept.")
