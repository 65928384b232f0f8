"""The output of an attempt, kept within a size: its beginning and its end, secrets taken out."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from perdure.supervise.masking import masked

LOGS_NAME = "attempts"
TAIL_LINES = 40

_LINE_MAX = 65_536
_TAIL_LINE_MAX = 300
_TAIL_BYTES_MAX = 4_000
_NAME = re.compile(r"(\d{4,})(?:\.(?:end|older))?\.log")


def log_path(folder: Path, attempt: int) -> Path:
    """Give the path of an attempt's log."""
    return folder / LOGS_NAME / f"{attempt:04d}.log"


class Log:
    """An attempt's log. It never fails: what cannot be written is dropped, and the tail is kept.

    `fault` says why something could not be written, the first time; it is empty as long as all was.

    The first half of its size holds how the attempt began. What comes after is in two files that
    take turns, so that the latest quarter at least is there.
    """

    def __init__(self, path: Path, size_max: int, secrets: Iterable[str]) -> None:
        self._secrets = tuple(secret.encode() for secret in secrets)
        self._path = path
        self._end = path.with_suffix(".end.log")
        self._older = path.with_suffix(".older.log")
        self._left = max(size_max // 2, 1)
        self._quarter = max(size_max // 4, 1)
        self._open = b""
        self._tail: deque[bytes] = deque(maxlen=TAIL_LINES)
        self.fault = ""
        self._descriptor = self._opened(path)

    @property
    def tail(self) -> str:
        """The last lines."""
        text = b"\n".join(line[:_TAIL_LINE_MAX] for line in self._tail)
        return text[-_TAIL_BYTES_MAX:].decode("utf-8", "replace")

    def feed(self, output: bytes) -> None:
        """Take some output. A line is written when it is whole, so that no secret is cut in two."""
        self._open += output
        whole, mark, self._open = self._open.rpartition(b"\n")
        if mark:
            self._take(whole + mark)
        if len(self._open) > _LINE_MAX:
            # A secret may just be coming: so much is held back as one may have.
            held = max((len(secret) for secret in self._secrets), default=1)
            part, self._open = self._open[:-held], self._open[-held:]
            self._take(part)

    def close(self) -> None:
        """Write what is left of the last line."""
        if self._open:
            self._take(self._open)
            self._open = b""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _take(self, text: bytes) -> None:
        text = masked(text, self._secrets)
        self._tail.extend(text.rstrip(b"\n").split(b"\n"))
        try:
            while text:
                if not self._left:
                    self._turn()
                part, text = text[: self._left], text[self._left :]
                self._left -= len(part)
                if self._descriptor >= 0:
                    os.write(self._descriptor, part)
        except OSError as error:
            self._blame(self._path, error)

    def _turn(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        with suppress(FileNotFoundError):
            self._end.replace(self._older)
        self._left = self._quarter
        self._descriptor = self._opened(self._end)

    def _opened(self, path: Path) -> int:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
            return os.open(path, flags, 0o600)
        except OSError as error:
            self._blame(path, error)
            return -1

    def _blame(self, path: Path, error: OSError) -> None:
        self.fault = self.fault or f"{path}: {error.strerror or error}"


def forget_old(folder: Path, kept: int) -> None:
    """Remove the logs of all attempts but the first and the latest ones."""
    with suppress(OSError):
        files = [path for path in (folder / LOGS_NAME).iterdir() if _NAME.fullmatch(path.name)]
        numbers = sorted({_number(path) for path in files})
        keep = {*numbers[:1], *numbers[max(len(numbers) - kept, 0) :]}
        for path in files:
            if _number(path) not in keep:
                path.unlink(missing_ok=True)


def _number(path: Path) -> int:
    return int(path.name.partition(".")[0])
