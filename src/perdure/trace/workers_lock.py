"""The lock that a run's workers share: as long as anybody holds it, somebody may write partitions.

A worker takes it before it is given a world and holds it until it dies. Who takes the run over
waits until nobody holds it: the workers of a governor that was killed end themselves, and what they
wrote until then is in the record.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

from perdure.base.clock import Clock
from perdure.base.errors import HeldError
from perdure.trace.failures import translate_os

WORKERS_LOCK_NAME = "workers.lock"

# Orphans are killed by the system, or end when their line breaks, within moments.
WAIT_S_MAX = 30.0
_LOOK_EVERY_S = 0.05


class WorkersLock:
    """A worker's share of the lock. The system gives it back when this process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def share(cls, folder: Path) -> WorkersLock:
        """Take a share.

        Raises:
            HeldError: somebody takes the run over just now.
            StorageError: the lock file cannot be used.

        """
        path = folder / WORKERS_LOCK_NAME
        descriptor = _open(path)
        if not _locks(descriptor, fcntl.LOCK_SH, path):
            os.close(descriptor)
            raise HeldError("Another process takes over this run.", where=str(folder))
        return cls(descriptor)

    def release(self) -> None:
        """Give the share back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


async def wait_for_workers(folder: Path, clock: Clock, *, limit_s: float = WAIT_S_MAX) -> None:
    """Wait until no worker of an earlier governor is left. The caller holds the governor's lock.

    Raises:
        HeldError: some are still there after so many seconds; names them if the system tells.
        StorageError: the lock file cannot be used.

    """
    path = folder / WORKERS_LOCK_NAME
    until_s = clock.now_s() + limit_s
    descriptor = _open(path)
    try:
        while not _locks(descriptor, fcntl.LOCK_EX, path):
            if clock.now_s() >= until_s:
                raise HeldError(
                    f"Workers of an earlier process still work on this run ({_holders(path)}).",
                    where=str(path),
                    remedy="They end by themselves, unless they are stopped or hang: end them, "
                    "then run again.",
                )
            await clock.sleep(_LOOK_EVERY_S)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags, 0o644)
    except OSError as error:
        raise translate_os(error, path) from error


def _locks(descriptor: int, how: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise translate_os(error, path) from error
    return True


def _holders(path: Path) -> str:
    """Name the processes that hold a lock on a file, where the system tells."""
    pids: list[str] = []
    with suppress(OSError):
        inode = path.stat().st_ino
        locks = Path("/proc/locks").read_text(encoding="ascii")
        pids = re.findall(rf"FLOCK\s+ADVISORY\s+READ\s+(\d+)\s+\S+:{inode}\s", locks)
    return f"process {', '.join(pids)}" if pids else "nobody knows which"
