"""A claim on a run's store: one supervisor looks after it, wherever each has its own files.

The store may not be there yet, nor its folder, and a runner may refuse one that is not empty; so
there is no place for a file to lock. What is taken instead is a name of the system's, made from the
store's path. Like the lock of an attempt it is inherited by what the supervisor starts, and the
system drops it when its last holder dies. Where there are no such names, nothing is claimed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from pathlib import Path

from perdure.base.clock import Clock
from perdure.base.errors import HeldError
from perdure.supervise import processes

# A process that is just ending lets go of one thing after the other.
_LETS_GO_WITHIN_S = 2.0
_LOOK_S = 0.02


class Claim:
    """A claim on the store of a run; on nothing, if it is not known where that is."""

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self._name = "" if store is None else _name_of(store)
        self._held: socket.socket | None = None

    def take(self) -> bool:
        """Take it, or keep it; False if somebody else has it."""
        if self._held is not None or not self._name:
            return True
        held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            held.bind("\0" + self._name)
        except OSError as error:
            held.close()
            return error.errno != errno.EADDRINUSE
        self._held = held
        return True

    async def require(self, clock: Clock) -> None:
        """Take it, or keep it.

        Raises:
            HeldError: somebody else has it; names the processes.

        """
        until_s = clock.now_s() + _LETS_GO_WITHIN_S
        while not self.take():
            if clock.now_s() >= until_s:
                raise self._refusal()
            await clock.sleep(_LOOK_S)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What a process inherits that is to hold it as well."""
        return () if self._held is None else (self._held.fileno(),)

    def close(self) -> None:
        """Let go of it; who inherited it still has it."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _refusal(self) -> HeldError:
        found = processes.holders_of_name(self._name)
        who = f"process {', '.join(map(str, found))}" if found else "nobody knows which process"
        return HeldError(
            f"Another supervisor, with a folder of its own, looks after this run ({who}).",
            where=str(self._store),
            remedy="Give the --dir that it was given: `perdure status` of it shows how it stands, "
            "`perdure stop` ends both.",
        )


def _name_of(store: Path) -> str:
    # Two ways to write a path, or a link on the way, are the same store.
    key = hashlib.sha256(os.fsencode(os.path.realpath(store))).hexdigest()
    return f"perdure-supervises-{key[:32]}"
