"""How far a call journal came, noted in a file beside it after every commit.

A log that lost its end looks sound to SQLite, and gives a shorter journal. The note is never ahead
of what is durable, so a journal that is behind its note has lost something. It is not synced: after
a power cut it may be behind itself, and then says nothing. Nor does a note that is gone or damaged.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from perdure.trace.failures import translate_os

NOTE_SUFFIX = "-head"

_NOTE = struct.Struct(">qqI")
_NUMBERS = struct.Struct(">qq")


class Noted(NamedTuple):
    """What a note says: of the journal begun under this epoch, so many groups were durable."""

    since: int
    writes: int


class JournalNote:
    """The note of one journal, open to be written: of which run, and since which epoch."""

    def __init__(self, path: Path, run: str, since: int) -> None:
        """Open the note beside a journal, or make it.

        Raises:
            StorageFullError: there is no room for one more file.
            StorageError: it cannot be opened.

        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        note = note_path(path)
        try:
            self._descriptor = os.open(note, flags, 0o644)
        except OSError as error:
            raise translate_os(error, note) from error
        self._run = run
        self._since = since

    def write(self, writes: int) -> None:
        """Note how many groups of changes are durable."""
        data = _NOTE.pack(self._since, writes, _sum(self._run, self._since, writes))
        # A note that falls behind says less than it could, and nothing that is not so.
        with suppress(OSError):
            os.pwrite(self._descriptor, data, 0)

    def close(self) -> None:
        """Let go of the note."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def note_path(path: Path) -> Path:
    """Give the path of the note of a journal."""
    return path.with_name(path.name + NOTE_SUFFIX)


def read_note(path: Path, run: str) -> Noted | None:
    """Read the note beside a journal; None if there is none of this run that can be read."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(note_path(path), flags)
        try:
            data = os.read(descriptor, _NOTE.size)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    if len(data) < _NOTE.size:
        return None
    since, writes, found = _NOTE.unpack(data)
    return Noted(since, writes) if found == _sum(run, since, writes) else None


def _sum(run: str, since: int, writes: int) -> int:
    return crc32(run.encode(), crc32(_NUMBERS.pack(since, writes)))
