"""Taps between SQLite and the disk: one that counts every boundary, one that records it all.

Both become the default file system of SQLite in their process, so that the store under test is the
store as it is: it is given nothing and told nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

Boundary = Callable[[str, str, dict[str, Any]], None]

# The default of this process before a tap took its place.
_BASE = apsw.vfs_names()[0]
_CREATES = apsw.SQLITE_OPEN_CREATE
_JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_SUPER_JOURNAL


class TappedFile(apsw.VFSFile):
    """A file whose every change is told before it is made."""

    def __init__(self, name: Any, flags: list[int], tell: Boundary) -> None:
        self.path = name if isinstance(name, str) else name.filename()
        self.tell = tell
        is_new = bool(flags[0] & _CREATES) and not Path(self.path).exists()
        # As SQLite's own file system does it: the first sync of a new journal syncs its folder.
        self.syncs_folder = is_new and bool(flags[0] & _JOURNALS)
        if is_new:
            tell("create", self.path, {})
        self.is_read_only = bool(flags[0] & apsw.SQLITE_OPEN_READONLY)
        super().__init__(_BASE, name, flags)

    def xLock(self, level: int) -> None:  # noqa: N802
        try:
            super().xLock(level)
        except apsw.IOError:
            # SQLite tries to be the last to close a log, which the system refuses whoever only
            # reads, and goes on. What is raised here would be raised again when it has closed.
            if not self.is_read_only:
                raise
            raise apsw.BusyError from None

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self.tell("write", self.path, {"data": bytes(data), "offset": offset})
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self.tell("truncate", self.path, {"size": newsize})
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.tell("sync", self.path, {"folder": self.syncs_folder})
        self.syncs_folder = False
        super().xSync(flags)


class Tap(apsw.VFS):
    """SQLite's file system with an ear."""

    def __init__(self, tell: Boundary) -> None:
        self.tell = tell
        super().__init__("tap", _BASE, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> TappedFile:  # noqa: N802
        return TappedFile(name, flags, self.tell)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001
        if Path(filename).exists():
            self.tell("delete", filename, {"folder": bool(syncdir)})
        super().xDelete(filename, syncdir)
