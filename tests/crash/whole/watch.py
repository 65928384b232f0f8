"""Every boundary that a run meets, counted; and a kill before one of them.

A boundary is a change between SQLite and the disk, another change of a file in the run's folder, or
a crash point.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from tests.crash.tap import Tap
from tests.crash.whole.putting import put

from perdure.base import crashpoints

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_DIRECTORY
_AUDITED = frozenset({"open", "os.mkdir", "os.remove", "os.rename", "os.rmdir"})
_SYSTEM = ("write", "pwrite", "ftruncate", "fsync")

POINT = "point "


class Watch:
    """Counts what a run does in a folder, in this process; cannot be taken away again.

    `met` names each boundary in order, if it is to be kept.
    """

    def __init__(self, folder: Path, kill_at: int = 0) -> None:
        self.count = 0
        self.kill_at = kill_at
        self.met: list[str] = []
        self._folder = str(folder)
        self._turn = threading.Lock()
        self._tap: Tap | None = None
        self._is_on = True

    def begin(self) -> None:
        """Begin to count."""
        self._tap = Tap(self._tapped)
        sys.addaudithook(self._audit)
        for name in _SYSTEM:
            put(os, name, self._counted(name, getattr(os, name)))
        put(crashpoints, "_armed", "watched")
        put(crashpoints, "_hit", lambda name: self._meet(POINT + name))

    def end(self) -> None:
        """Count no more."""
        self._is_on = False

    def _meet(self, what: str) -> None:
        if not self._is_on:
            return
        with self._turn:
            self.count += 1
            if self.count == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.met.append(what)

    def _tapped(self, kind: str, path: str, detail: dict[str, Any]) -> None:
        self._meet(f"{kind} {Path(path).name}")

    def _counted(self, name: str, real: Any) -> Any:
        def counted(*arguments: Any) -> Any:
            self._meet(name)
            return real(*arguments)

        return counted

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _AUDITED or not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.fspath(arguments[0])
        if not isinstance(path, str) or not path.startswith(self._folder):
            return
        if event == "open" and not arguments[2] & _WRITES:
            return
        self._meet(f"{event} {Path(path).name}")
