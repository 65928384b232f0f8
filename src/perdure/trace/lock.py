"""One governor per run: a lock that the system drops when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec

from perdure.base.clock import Clock
from perdure.base.errors import HeldError
from perdure.base.text import one_line
from perdure.records.record import Record
from perdure.trace.failures import translate_os

LOCK_NAME = "governor.lock"

_NOTE_BYTES_MAX = 4_096
# Whoever asks whether a run is held holds the lock for an instant: try more than once.
_ATTEMPTS = 4
_PAUSE_S = 0.05


class Holder(Record):
    """Who holds a run: for people to read, never to decide by."""

    pid: int
    host: str
    started_s: float


class GovernorLock:
    """The lock of a run, held until it is released or this process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    async def acquire(cls, folder: Path, clock: Clock) -> Self:
        """Take the lock of a run, whose folder is there.

        Raises:
            HeldError: another process holds it; names that process.
            StorageError: the lock file cannot be used.

        """
        path = folder / LOCK_NAME
        for attempt in range(_ATTEMPTS):
            if attempt:
                await clock.sleep(_PAUSE_S)
            descriptor = _try(path)
            if descriptor is not None:
                note = Holder(pid=os.getpid(), host=socket.gethostname(), started_s=clock.wall_s())
                _write_note(descriptor, note)
                return cls(descriptor)
        raise held_error(folder)

    def release(self) -> None:
        """Give the lock back, and take the note of its holder away."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def is_held(folder: Path) -> bool:
    """Say whether a process works on a run just now.

    Raises:
        StorageError: the lock file cannot be used.

    """
    path = folder / LOCK_NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise translate_os(error, path) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise translate_os(error, path) from error
    finally:
        os.close(descriptor)
    return False


def held_error(folder: Path) -> HeldError:
    """Make the error that says who holds a run: process, host, since when."""
    return HeldError(
        f"Another process works on this run ({_describe(read_holder(folder))}).",
        where=str(folder),
        remedy="Wait for it, or stop it with `perdure stop`; `perdure status` shows how far it is.",
    )


def read_holder(folder: Path) -> Holder | None:
    """Read who holds a run, or was killed holding it; None if nobody wrote that down."""
    try:
        with (folder / LOCK_NAME).open("rb") as file:
            return msgspec.json.decode(file.read(_NOTE_BYTES_MAX), type=Holder)
    except (OSError, msgspec.MsgspecError):
        return None  # the note is for people only


def _try(path: Path) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        raise translate_os(error, path) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A lock on a file that is no longer the one of this name protects nothing.
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise translate_os(error, path) from error
    os.close(descriptor)
    return None


def _write_note(descriptor: int, note: Holder) -> None:
    try:
        # Who held it last is wiped first: better no name than the name of somebody else.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(note), 0)
    except OSError:
        return  # a full disk must not keep a run from going on; the note is for people only


def _describe(holder: Holder | None) -> str:
    if holder is None or _is_gone(holder):
        return "it left no note"
    name = f"process {holder.pid} on {one_line(holder.host)}"
    since = _when(holder.started_s)
    return f"{name}, since {since}" if since else name


def _is_gone(holder: Holder) -> bool:
    """Say whether a note is that of a process of this host that is no more.

    Its successor holds the lock, and could not or did not yet write its own note.
    """
    if holder.host != socket.gethostname() or holder.pid <= 0:
        return False
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False  # it is there, and somebody else's
    return False


def _when(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return ""
