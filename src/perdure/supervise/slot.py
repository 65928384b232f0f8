"""A small document that is replaced as a whole, and can still be when the disk is full.

Two files of a fixed size take turns: the new text goes into the spare, whose room is there already,
and the two change names. Where a system cannot exchange names, the spare is made anew each time.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")

ROOM = 32_768

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


class Slot:
    """A document's place. It is written by one process at a time, and read by any."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._spare = path.with_name(path.name + ".spare")

    def make_room(self) -> None:
        """Take the room for both files, so that no later write needs any.

        Raises:
            OSError: there is none.

        """
        for path in (self._spare, self._path):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(path, flags, 0o644)
            try:
                os.posix_fallocate(descriptor, 0, ROOM)
            finally:
                os.close(descriptor)

    def write(self, value: object, *, sync: bool = True) -> None:
        """Replace the document; with `sync` it is durable when this returns.

        Raises:
            OSError: it cannot be written. What was there before is still there, whole.

        """
        text = msgspec.json.encode(value)
        if len(text) >= ROOM:
            raise OSError(f"{self._path}: a document of {len(text)} bytes is too large")
        if not self._spare.exists():
            self.make_room()
        descriptor = os.open(self._spare, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.pwrite(descriptor, text.ljust(ROOM - 1) + b"\n", 0)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if not _exchange(self._spare, self._path):
            self._spare.replace(self._path)
            with suppress(OSError):
                self.make_room()


def is_blank(path: Path) -> bool:
    """Say whether nothing has ever been written into a document's place."""
    try:
        return not path.read_bytes().strip(b"\0")
    except OSError:
        return not path.exists()


def read(path: Path, kind: type[T]) -> T | None:
    """Read a document; None if there is none, or none of this kind."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _exchange(one: Path, other: Path) -> bool:
    """Let two files change names at once; False where that cannot be done."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = (os.fsencode(one), os.fsencode(other))
    return bool(rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
