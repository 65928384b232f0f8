"""Declared data files: what is no code and decides all the same, such as prompts and templates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perdure.base.errors import UsageError
from perdure.closure.program import Program

_FILES_MAX = 10_000


def declared_files(program: Program) -> dict[str, Path]:
    """Find a program's declared data files, by the path that they are declared by.

    Raises:
        UsageError: a pattern matches no file, or all of them too many.

    """
    return matching(Path(program.folder), program.files)


def matching(folder: Path, patterns: Sequence[str]) -> dict[str, Path]:
    """Find the files that patterns match, relative to a folder, in order.

    Raises:
        UsageError: a pattern matches no file, or all of them too many.

    """
    found: dict[str, Path] = {}
    for pattern in patterns:
        before = len(found)
        here = _matches(folder, pattern)
        for path in here:
            found[_named(path, folder)] = path
            if len(found) > _FILES_MAX:
                raise UsageError(
                    f"More than {_FILES_MAX} data files are declared.", where=str(folder)
                )
        if len(found) == before and not here:
            raise UsageError(
                f"The pattern {pattern!r} matches no file.",
                where=str(folder),
                remedy="Name files that are there; a file that is not cannot be looked after.",
            )
    return dict(sorted(found.items()))


def _matches(folder: Path, pattern: str) -> list[Path]:
    path = Path(pattern)
    if path.is_absolute():
        if not path.name:
            raise UsageError(
                f"The pattern {pattern!r} names everything that there is.",
                remedy="Name the files, or the folder of them, that the program reads.",
            )
        folder, pattern = path.parent, path.name
    exact = folder / pattern
    if exact.is_file():
        return [exact]
    if exact.is_dir():
        pattern = f"{pattern}/**/*"
    try:
        return sorted(found for found in folder.glob(pattern) if found.is_file())
    except ValueError as error:
        raise UsageError(f"The pattern {pattern!r} cannot be used: {error}.") from error


def _named(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()
