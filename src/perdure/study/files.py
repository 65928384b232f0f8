"""Opens the files of a study: regular files only, bounded, and none outside the study's folder."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath

# Opening must not wait (a pipe without a writer) and must not be led elsewhere at the last moment.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


class RefusedFileError(Exception):
    """A file is not opened; the text says why, as the end of a sentence about it."""


def open_inside(folder: Path, relative: str, bytes_max: int) -> io.BufferedReader:
    """Open a file that a study names, below the study's folder.

    Raises:
        RefusedFileError: the path leaves the folder, or is not a regular file of a bounded size.

    """
    parts = PurePosixPath(relative).parts
    if not parts or PurePosixPath(relative).is_absolute() or PureWindowsPath(relative).drive:
        raise RefusedFileError("is not a path below the study's folder")
    if ".." in parts or "\\" in relative or "\x00" in relative or parts[0].startswith("~"):
        raise RefusedFileError("leads out of the study's folder")
    try:
        root = os.path.realpath(folder, strict=True)
        real = os.path.realpath(os.path.join(root, *parts), strict=True)  # noqa: PTH118 - as text
    except (OSError, ValueError) as error:
        raise RefusedFileError(_reason(error)) from error
    if os.path.commonpath([root, real]) != root:
        raise RefusedFileError("leads out of the study's folder by a link")
    return _open(real, bytes_max)


def open_named(path: Path, bytes_max: int) -> io.BufferedReader:
    """Open a file that the user named on the command line, wherever it is.

    Raises:
        RefusedFileError: it is not a regular file of a bounded size that can be read.

    """
    try:
        real = os.path.realpath(path, strict=True)
    except (OSError, ValueError) as error:
        raise RefusedFileError(_reason(error)) from error
    return _open(real, bytes_max)


def _open(real: str, bytes_max: int) -> io.BufferedReader:
    try:
        # Asked before it is opened too: opening a device can already do something.
        _require_regular(os.lstat(real), bytes_max)
        descriptor = os.open(real, _FLAGS)
    except OSError as error:
        raise RefusedFileError(_reason(error)) from error
    try:
        _require_regular(os.fstat(descriptor), bytes_max)
    except RefusedFileError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _require_regular(status: os.stat_result, bytes_max: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise RefusedFileError("is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise RefusedFileError("is not a regular file")
    if status.st_size > bytes_max:
        raise RefusedFileError(f"is larger than {bytes_max:,} bytes")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read ({error.strerror.lower()})"
    return "is not a path"
