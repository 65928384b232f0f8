"""Locks on a supervisor's folder, which the system drops when their last holder dies.

A supervisor holds one as long as it lives. The other one is inherited by what it starts: while
anything of an attempt lives that kept it, no other attempt begins.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.base.errors import HeldError, StorageError
from perdure.supervise.processes import myself
from perdure.supervise.slot import read
from perdure.supervise.stored import Process

SUPERVISOR_LOCK = "supervisor.lock"
ATTEMPT_LOCK = "attempt.lock"


def take(path: Path) -> int | None:
    """Take a lock; give its descriptor, or None if somebody holds it.

    Raises:
        StorageError: the lock file cannot be used.

    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise _unusable(path, error) from error
    return descriptor


def is_taken(path: Path) -> bool:
    """Say whether somebody holds a lock.

    Raises:
        StorageError: the lock file cannot be used.

    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise _unusable(path, error) from error
    finally:
        os.close(descriptor)
    return False


def become_the_one(folder: Path) -> int:
    """Take the supervisor's lock, and leave a note of who holds it, for people.

    Raises:
        HeldError: another supervisor holds it; names that process.
        StorageError: the lock file cannot be used.

    """
    path = folder / SUPERVISOR_LOCK
    descriptor = take(path)
    if descriptor is None:
        holder = read(path, Process)
        who = f"process {holder.pid} on {holder.host}" if holder else "it left no note"
        raise HeldError(
            f"Another supervisor looks after this run ({who}).",
            where=str(folder),
            remedy="`perdure status` shows how it stands, `perdure stop` ends both.",
        )
    with suppress(OSError):  # the note is for people only
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(myself()), 0)
    return descriptor


def _unusable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"The lock cannot be used ({error.strerror or error}).",
        where=str(path),
        remedy="Give a folder on a disk of this machine that can be written, with --dir.",
    )
