"""What happened, a line each: a supervisor's own log, as JSON lines of a limited size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from perdure.supervise.masking import masked

HISTORY_NAME = "history.jsonl"
OLDER_NAME = "history.older.jsonl"

_SIZE_MAX = 4 * 10**6


class History:
    """Appends events. One that cannot be written is told instead, and nothing else follows."""

    def __init__(
        self,
        folder: Path,
        secrets: Iterable[str],
        *,
        wall_s: Callable[[], float],
        tell: Callable[[str], None],
    ) -> None:
        self._path = folder / HISTORY_NAME
        self._older = folder / OLDER_NAME
        self._secrets = tuple(secret.encode() for secret in secrets)
        self._wall_s = wall_s
        self._tell = tell
        self._is_told = False

    def note(self, event: str, **facts: Any) -> None:
        """Write an event down."""
        line = msgspec.json.encode({"at": round(self._wall_s(), 3), "event": event, **facts})
        line = masked(line, self._secrets) + b"\n"
        try:
            self._append(line)
            self._is_told = False
        except OSError as error:
            if not self._is_told:
                self._tell(f"{self._path} cannot be written ({error.strerror or error}).")
                self._is_told = True

    def _append(self, line: bytes) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            # A line that a kill or a full disk cut short must not swallow this one.
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
        if size + len(line) > _SIZE_MAX:
            self._path.replace(self._older)
