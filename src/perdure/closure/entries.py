"""What starts a program, as somebody writes it: a file, a folder, a module, a `module:Class`."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from perdure.base.errors import UsageError

MAIN = "__main__"
_INIT = "__init__.py"


@dataclass(frozen=True)
class Entry:
    """An entry: a file, or the name of a module. `root` is the folder that Python looks in first.

    `runs_main` says that of a package it is the `__main__` that is run.
    """

    file: Path | None = None
    module: str = ""
    root: Path | None = None
    runs_main: bool = True


def entry_of(text: str, folder: Path) -> Entry:
    """Read an entry. `folder` is where a relative path begins.

    Raises:
        UsageError: there is no such file, or the folder or archive is nothing that starts.

    """
    path = (folder / text).resolve()
    if path.is_dir() and (_is_path(text) or _is_script(path)):
        return _folder(path)
    if _is_path(text) or path.is_file():
        return _file(path)
    name, mark, _ = text.partition(":")
    return Entry(module=name, runs_main=not mark)


def _is_path(text: str) -> bool:
    return text.endswith((".py", ".pyw")) or "/" in text or text in {".", ".."}


def _is_script(path: Path) -> bool:
    """Say whether `python FOLDER` is meant, and not a package of that name."""
    return (path / f"{MAIN}.py").is_file() and not (path / _INIT).is_file()


def _folder(path: Path) -> Entry:
    if (path / _INIT).is_file():
        names = [path.name]
        while (path.parent / _INIT).is_file():
            path = path.parent
            names.append(path.name)
        return Entry(module=".".join(reversed(names)), root=path.parent)
    if _is_script(path):
        return Entry(file=path / f"{MAIN}.py", root=path)
    raise UsageError(
        "This folder does not start: it has neither a `__main__.py` nor an `__init__.py`.",
        where=str(path),
        remedy="Name the file, the package or the study in it that starts the program.",
    )


def _file(path: Path) -> Entry:
    if not path.is_file():
        raise UsageError("There is no such entry file.", where=str(path))
    if zipfile.is_zipfile(path):
        raise UsageError(
            "This entry is an archive, and what is in it is not looked into.",
            where=str(path),
            remedy="Unpack it, and name the folder.",
        )
    return Entry(file=path, root=path.parent)
