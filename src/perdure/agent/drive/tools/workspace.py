"""The folder that a drive works in: a path of a call is one of it, or the call is refused."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from perdure.base.errors import EXIT_SOME_FAILED, PerdureError
from perdure.base.text import one_line

# The history of the workspace. Who could write there could change what was, and run code later.
_HISTORY = ".git"


class PathRefusedError(PerdureError):
    """A path of a call is not one that the call may use."""

    exit_status = EXIT_SOME_FAILED
    code = "path-refused"


class Workspace:
    """A folder, by its real path. `name_of` and `at` go between its paths and the system's."""

    __slots__ = ("root",)

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def at(self, text: str, *, writes: bool = False, followed: bool = True) -> Path:
        """Give the real place of a path of the workspace, symbolic links followed.

        Not `followed`, the last part stands for itself, even if it is a link.

        Raises:
            PathRefusedError: it is absolute, has a `..`, or leads outside; or it is of the
                history, and `writes`.

        """
        shown = one_line(text)
        if not text or "\0" in text or "\\" in text:
            raise PathRefusedError(f"{shown!r} is not a path of the workspace.")
        path = PurePosixPath(text)
        if path.is_absolute() or text.startswith("~"):
            raise PathRefusedError(
                f"{shown!r} is absolute. Give a path relative to the workspace, such as 'notes.md'."
            )
        if ".." in path.parts:
            raise PathRefusedError(f"{shown!r} has a '..', which no path of the workspace has.")
        place = self._real(path, shown, followed=followed)
        if place != self.root and self.root not in place.parents:
            raise PathRefusedError(f"{shown!r} leads out of the workspace.")
        if writes and _HISTORY in (part.casefold() for part in place.relative_to(self.root).parts):
            raise PathRefusedError(
                f"{shown!r} is of the workspace's history, which stays as it is."
            )
        return place

    def name_of(self, place: Path) -> str:
        """Give a place within as a path of the workspace, with `/` between its parts."""
        return place.relative_to(self.root).as_posix()

    def call_by_name(self, error: OSError) -> None:
        """Let an error call what is within by its name there: where that lies is nobody's matter.

        Neither a model nor a record is to depend on the folder in which a drive happens to work.
        """
        for which in ("filename", "filename2"):
            place = getattr(error, which)
            if isinstance(place, str | os.PathLike) and Path(place).is_relative_to(self.root):
                setattr(error, which, self.name_of(Path(place)))

    def _real(self, path: PurePosixPath, shown: str, *, followed: bool) -> Path:
        try:
            if followed or not path.parts:
                return Path(os.path.realpath(self.root / path))
            return Path(os.path.realpath(self.root / path.parent)) / path.name
        except (OSError, ValueError) as error:
            raise PathRefusedError(f"{shown!r} cannot be looked up: {error}.") from error
