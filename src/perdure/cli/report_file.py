"""A report written to a file: at once and whole, and never over what is no report.

A report that is there is replaced, for the command is run again whenever a run went on. Anything
else stays: what is a report is told by how it begins, not by its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from perdure.analysis.html_page import MARK as HTML_MARK
from perdure.analysis.markdown import MARK as MARKDOWN_MARK
from perdure.base.errors import OutputError, UsageError

_MARKS = tuple(mark.encode() for mark in (HTML_MARK, MARKDOWN_MARK, '{\n  "run_id": "'))
_HEAD = max(map(len, _MARKS))


def require_free(path: Path) -> None:
    """Refuse a place that holds anything but an earlier report.

    Raises:
        UsageError: it is there and no report, or the folder it shall be in is not there.
        OutputError: it cannot be looked at.

    """
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder `{path.parent}`.", remedy="Make it first.")
    try:
        mode = path.lstat().st_mode
        is_report = stat.S_ISREG(mode) and _begins_like_one(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"`{path}` cannot be read ({error.strerror}).") from error
    if not is_report:
        raise UsageError(
            f"`{path}` is there, and is no report; it is left as it is.",
            remedy="Give another name, or move it away.",
        )


def _begins_like_one(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_HEAD).startswith(_MARKS)


def write_report(path: Path, text: str) -> str:
    """Write a report under a temporary name beside its own, then give it that; say what it is.

    Raises:
        UsageError: what is there is no report.
        OutputError: it cannot be written. What was there is as it was.

    """
    require_free(path)
    content = text.encode()
    unborn = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        _write_new(unborn, content)
        unborn.replace(path)
    except OSError as error:
        raise OutputError(
            f"`{path}` cannot be written ({error.strerror}).",
            remedy="What was there before is as it was, and so is the run.",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            unborn.unlink()
    digest = hashlib.sha256(content).hexdigest()
    return f"Written to {path}: {len(content):,} bytes, sha256 {digest}"


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
