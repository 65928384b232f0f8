"""Copying a database as it stands at one moment, whoever writes it: for readers who may not write.

All is read twice. If both readings are the same, then all of it stood still between them, and the
copy is what a kill at that moment would have left: SQLite recovers it like any other. The files are
read through SQLite, whose locks in this process are dropped by nothing else.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import apsw

from perdure.base.errors import DamagedRecordError, StorageError
from perdure.trace import files
from perdure.trace.failures import translate

_BYTES_MAX = 2 << 30
_CHUNK = 1 << 20
# The index of a log is made anew from the log.
_KINDS = {
    "": apsw.SQLITE_OPEN_MAIN_DB,
    "-wal": apsw.SQLITE_OPEN_WAL,
    "-journal": apsw.SQLITE_OPEN_MAIN_JOURNAL,
}
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_JOURNAL_TAIL = struct.Struct(">II8s")

Reading = dict[str, bytes]


def copy_still(path: Path, target: Path) -> bool:
    """Copy a database with its side files. False if another process changed it meanwhile.

    Raises:
        DamagedRecordError: its journal is part of a larger one, as none of ours is.
        OSError: the target could not be written.
        StorageError: the database is too large to be copied, or could not be read.

    """
    require_own_journal(path)
    sizes = [files.size(_beside(path, suffix)) for suffix in _KINDS]
    if sum(sizes) > _BYTES_MAX:
        raise StorageError(
            f"It can only be read from a copy, and is larger than {_BYTES_MAX >> 30} GiB.",
            where=str(path),
            remedy="Continue the run, or give its folder room and the right to write in it.",
        )
    first = _read(path, target)
    return first is not None and first == _read(path, None)


def places(path: Path) -> list[Path]:
    """Give the folders for temporary files, without those inside the run's own; memory comes last.

    Python's own search for them would try each by writing to it, and end in the current folder.
    """
    own = path.parent.resolve()
    named = [os.environ.get("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"]  # noqa: S108 - made private
    found = dict.fromkeys(Path(name).resolve() for name in named if name)
    return [place for place in found if not place.is_relative_to(own)]


def require_own_journal(path: Path) -> None:
    """Refuse a rollback journal that names another file: no recovery of ours follows a name.

    Raises:
        DamagedRecordError: it does.
        StorageError: it could not be read.

    """
    journal = _beside(path, "-journal")
    size = files.size(journal)
    if size < _JOURNAL_TAIL.size:
        return
    try:
        file = _open(path, "-journal")
        try:
            tail = file.xRead(_JOURNAL_TAIL.size, size - _JOURNAL_TAIL.size)
        finally:
            file.xClose()
    except apsw.Error as error:
        if not files.exists(journal):
            return  # it was recovered just now
        raise translate(error, journal) from error
    if len(tail) < _JOURNAL_TAIL.size:
        return
    length, _, magic = _JOURNAL_TAIL.unpack(tail)
    if length and magic == _JOURNAL_MAGIC:
        raise DamagedRecordError(
            "This journal names another file, as no journal of a run does.",
            where=str(journal),
            remedy="Do not trust this folder; restore the run from a copy.",
        )


def _read(path: Path, target: Path | None) -> Reading | None:
    """Read all files, and write them to the target if there is one. None if they changed."""
    reading = {}
    for suffix in _KINDS:
        source = _beside(path, suffix)
        if not files.exists(source):
            continue
        sink = Path(os.devnull) if target is None else _beside(target, suffix)
        try:
            reading[suffix] = _pour(path, suffix, sink)
        except EOFError:
            return None
        except apsw.Error as error:
            if not files.exists(source):
                return None
            raise translate(error, source) from error
    return reading


def _pour(path: Path, suffix: str, sink: Path) -> bytes:
    digest = hashlib.sha256()
    with sink.open("wb") as file:
        for chunk in _chunks(path, suffix):
            digest.update(chunk)
            file.write(chunk)
    return digest.digest()


def _chunks(path: Path, suffix: str) -> Iterator[bytes]:
    file = _open(path, suffix)
    try:
        size = file.xFileSize()
        for offset in range(0, size, _CHUNK):
            asked = min(_CHUNK, size - offset)
            chunk = file.xRead(asked, offset)
            if len(chunk) != asked:
                raise EOFError
            yield chunk
    finally:
        file.xClose()


def _open(path: Path, suffix: str) -> apsw.VFSFile:
    place = path.parent.resolve() / (path.name + suffix)
    flags = _KINDS[suffix] | apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
    return apsw.VFSFile("", str(place), [flags, 0])


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
