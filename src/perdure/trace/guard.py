"""A guard: in a process that writes a database, nothing but SQLite opens its files.

The system drops all of a process's locks on a file when any handle to it is closed there, and then
two writers can both believe that they are alone. The guard sees every opening that Python makes,
and none of SQLite's own.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from perdure.base.errors import InternalError
from perdure.trace.files import SIDE_FILES

_protected: Counter[str] = Counter()
_names: Counter[str] = Counter()
_installed = False


def protect(path: Path) -> Path:
    """Refuse, from now on, any opening of this database's files by anything but SQLite."""
    global _installed  # noqa: PLW0603 - an audit hook can be added once and never removed
    if not _installed:
        sys.addaudithook(_audit)
        _installed = True
    place = path.parent.resolve() / path.name
    for name in _files_of(place):
        _protected[name] += 1
        _names[os.path.basename(name)] += 1  # noqa: PTH119 - the hook's own, cheap way
    return place


def release(place: Path) -> None:
    """Allow it again: this process writes the database no more."""
    for name in _files_of(place):
        _protected[name] -= 1
        _names[os.path.basename(name)] -= 1  # noqa: PTH119 - the hook's own, cheap way


def _files_of(place: Path) -> list[str]:
    return [str(place), *(f"{place}{suffix}" for suffix in SIDE_FILES)]


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    name = os.fsdecode(arguments[0])
    # Most openings end here: a name that no protected file has.
    if not _names[os.path.basename(name)]:  # noqa: PTH119 - Path is too slow for a hook
        return
    if _protected[os.path.realpath(name)] > 0:
        raise InternalError(f"This process writes {name}; nothing else here may open it.")
