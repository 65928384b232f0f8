"""Where a failed world's code went wrong, for whoever wrote it: a traceback in `logs/`.

Only the frames are written, never the values in them: a local variable may hold a secret. The
record itself keeps the class and the message.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

from perdure.base.text import printable

LOGS_NAME = "logs"

FailureLog = Callable[[str, Exception], str]


def failure_log(folder: Path | None) -> FailureLog:
    """Make the log of a run's folder: it gives the file's path. Without a folder, none is kept."""

    def note(world_id: str, error: Exception) -> str:
        if folder is None:
            return ""
        try:
            (folder / LOGS_NAME).mkdir(exist_ok=True)
            text = printable("".join(traceback.format_exception(error)))
            path = folder / LOGS_NAME / f"{world_id}.txt"
            path.write_text(text, encoding="utf-8")
        except OSError:
            return ""  # a help for people; the world's outcome is recorded all the same
        return str(path)

    return note
