"""A source file, read as Python reads it: its declared encoding, its syntax, and nothing run."""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
import warnings
from dataclasses import dataclass
from pathlib import Path

from perdure.base.errors import EXIT_USAGE, PerdureError
from perdure.base.text import one_line

_BYTES_MAX = 16 * 1024 * 1024


class SourceError(PerdureError):
    """A source file cannot be read as Python, so nothing can be said of what it imports."""

    exit_status = EXIT_USAGE
    code = "source"


@dataclass(frozen=True)
class Source:
    """A module's text and its syntax tree."""

    text: str
    tree: ast.Module


def read_source(path: Path) -> Source:
    """Read and parse a source file.

    Raises:
        SourceError: it cannot be read, its encoding is wrong, or it is no Python that the running
            interpreter understands.

    """
    text = read_text(path)
    return Source(text, parse(text, str(path)))


def read_text(path: Path) -> str:
    """Read a source file, without looking whether it is Python.

    Raises:
        SourceError: it cannot be read, or its encoding is wrong.

    """
    return _decode(read_bytes(path), path)


def parse(text: str, where: str) -> ast.Module:
    """Parse a module's text. `where` names it in an error.

    Raises:
        SourceError: the running interpreter does not understand it.

    """
    try:
        with warnings.catch_warnings():
            # A doubtful escape in somebody's source is no news of ours.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        place = f"{where}:{error.lineno}" if error.lineno else where
        raise _refused(place, f"{error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise _refused(where, "it is nested too deeply") from error
    except ValueError as error:
        raise _refused(where, str(error)) from error


def read_bytes(path: Path) -> bytes:
    """Read a whole regular file.

    Raises:
        SourceError: it is no regular file, is too large, or cannot be read.

    """
    try:
        # A pipe or a device would be waited for.
        if not path.is_file():
            raise _unreadable(path, "it is not a file")
        with path.open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise _unreadable(path, error.strerror or "it is not there") from error
    if len(data) > _BYTES_MAX:
        raise _unreadable(path, f"it is larger than {_BYTES_MAX // 1024 // 1024} MiB")
    return data


def hash_file(path: Path) -> str:
    """Hash a file's bytes: 64 hex digits of SHA-256.

    Raises:
        SourceError: it is no regular file, or cannot be read.

    """
    try:
        if not path.is_file():
            raise _unreadable(path, "it is not a file")
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error.strerror or "it is not there") from error


def _decode(data: bytes, path: Path) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise _refused(str(path), reason) from error


def _refused(where: str, reason: str) -> SourceError:
    return SourceError(
        f"This cannot be read as Python: {one_line(reason)}.",
        where=where,
        remedy="Mend it, or ask with the Python that it is written for.",
    )


def _unreadable(path: Path, reason: str) -> SourceError:
    return SourceError(
        f"This source file cannot be read: {one_line(reason)}.",
        where=str(path),
        remedy="Make it a file that can be read.",
    )
