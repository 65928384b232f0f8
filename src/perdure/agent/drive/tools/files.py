"""The workspace's files as tools: read, list, search, write, replace, delete."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO

from msgspec import Meta

from perdure.agent.drive.tools.function import FunctionTool, tool
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.ids import new_name

_READ_MAX = 4 * 1024 * 1024
_LISTED_MAX = 2000
_FOUND_MAX = 200
_LINE_MAX = 400
_LOOKED_AT_MAX = 50_000

_A_FILE = Meta(description="A file of the workspace, such as 'notes/plan.md'.")
_A_PATTERN = Meta(description="Such as '*.md'; of the name alone.")
_A_FOLDER = Meta(description="A folder of the workspace.")


class FileToolError(Exception):
    """A file is not what a call needs."""


def file_tools(workspace: Workspace) -> tuple[FunctionTool, ...]:
    """Make the tools for a workspace's files."""
    made = (*_readers(workspace), *_writers(workspace))
    return tuple(one.within(workspace) for one in made)


def _readers(workspace: Workspace) -> tuple[FunctionTool, ...]:
    @tool(subject="path")
    def read_file(
        path: Annotated[Path, _A_FILE],
        first_line: Annotated[int, Meta(ge=1)] = 1,
        lines: Annotated[int, Meta(ge=1)] = 2000,
    ) -> str:
        """Read lines of a text file."""
        text = _text_of(path, workspace)
        kept = text.splitlines(keepends=True)[first_line - 1 : first_line - 1 + lines]
        return "".join(kept) or "[nothing there]"

    @tool(subject="folder")
    def list_files(
        folder: Annotated[Path, _A_FOLDER] = Path(),
        pattern: Annotated[str, _A_PATTERN] = "*",
    ) -> str:
        """List the files below a folder, with their sizes in bytes."""
        found = (file for file in _files_below(folder) if file.match(pattern))
        rows = (f"{workspace.name_of(file)}\t{file.lstat().st_size}" for file in found)
        return _listed(rows, _LISTED_MAX) or "[no file]"

    @tool(subject="text")
    def search_text(
        text: Annotated[str, Meta(description="To be found as it stands.", min_length=1)],
        folder: Annotated[Path, _A_FOLDER] = Path(),
        pattern: Annotated[str, _A_PATTERN] = "*",
        *,
        any_case: bool = False,
    ) -> str:
        """Find lines that hold a text, in the text files below a folder."""
        sought = text.casefold() if any_case else text
        rows = (
            f"{workspace.name_of(file)}:{number}: {line[:_LINE_MAX]}"
            for file in _files_below(folder)
            if file.match(pattern)
            for number, line in _lines_of(file)
            if sought in (line.casefold() if any_case else line)
        )
        return _listed(rows, _FOUND_MAX) or "[not found]"

    return read_file, list_files, search_text


def _writers(workspace: Workspace) -> tuple[FunctionTool, ...]:
    @tool(writes=("path",), subject="path")
    def write_file(path: Annotated[Path, _A_FILE], text: str) -> str:
        """Write a whole text file. What was in it is gone."""
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, text.encode())
        return f"{len(text.encode())} bytes are in {workspace.name_of(path)}."

    @tool(writes=("path",), subject="path")
    def replace_text(
        path: Annotated[Path, _A_FILE],
        old: Annotated[str, Meta(description="As it stands in the file.", min_length=1)],
        new: str,
        *,
        everywhere: bool = False,
    ) -> str:
        """Replace a text in a file: the one place where it is, or every one."""
        content = _text_of(path, workspace, whole=True)
        count = content.count(old)
        if count == 0:
            raise FileToolError(f"The text is not in {workspace.name_of(path)}.")
        if count > 1 and not everywhere:
            raise FileToolError(f"The text is there {count} times. Give more of what is around it.")
        _replace(path, content.replace(old, new).encode())
        return f"Replaced in {count} place{'s' if count > 1 else ''}."

    @tool(writes=("path",), unfollowed=("path",), subject="path")
    def delete_file(path: Annotated[Path, _A_FILE]) -> str:
        """Delete a file, a link, or an empty folder."""
        if path == workspace.root:
            raise FileToolError("The workspace itself stays.")
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
        return f"{workspace.name_of(path)} is gone."

    return write_file, replace_text, delete_file


def _listed(rows: Iterator[str], rows_max: int) -> str:
    kept = list(islice(rows, rows_max + 1))
    return "\n".join(kept if len(kept) <= rows_max else [*kept[:rows_max], "[there are more]"])


def _text_of(path: Path, workspace: Workspace, *, whole: bool = False) -> str:
    """Read a regular file as UTF-8. A pipe or a device would never end.

    Raises:
        FileToolError: it is not such a file, or too large.

    """
    name = workspace.name_of(path)
    with _opened(path) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise FileToolError(f"{name} is not a file with a text.")
        content = file.read(_READ_MAX + 1)
    if len(content) > _READ_MAX:
        raise FileToolError(f"{name} has more than {_READ_MAX} bytes. Look for the part you need.")
    try:
        # Line ends stay as they are, because what is replaced is written back.
        return content.decode()
    except UnicodeDecodeError as error:
        if whole:
            raise FileToolError(f"{name} is not UTF-8, so it stays as it is.") from error
        return content.decode("utf-8", "replace")


def _opened(path: Path) -> BinaryIO:
    # Without waiting, because to open a pipe waits for somebody who writes.
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _files_below(folder: Path) -> Iterator[Path]:
    """Walk the files in the order of their names, and neither into the history nor along links."""
    seen = 0
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            seen += 1
            if seen > _LOOKED_AT_MAX:
                return
            yield Path(at, name)


def _lines_of(file: Path) -> Iterator[tuple[int, str]]:
    if file.is_symlink() or not file.is_file():
        return
    with _opened(file) as opened:
        content = opened.read(_READ_MAX)
    if b"\0" in content:
        return
    yield from enumerate(content.decode("utf-8", "replace").splitlines(), 1)


def _replace(path: Path, content: bytes) -> None:
    """Put a content in the place of another one, whole or not at all; its mode stays."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    if path.exists() and not path.is_file():
        raise FileToolError("Only a file can be written.")
    part = path.with_name(f".writing-{new_name()}")
    try:
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        error.filename = path  # the other name is drawn, and is nobody's
        raise
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        if mode is not None:
            part.chmod(mode)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
