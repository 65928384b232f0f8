"""A command's process as a drive holds it: started under a warden, looked at, killed whole."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from perdure.agent.drive.tools import warden
from perdure.base.errors import EXIT_SOME_FAILED, PerdureError
from perdure.base.ids import new_name
from perdure.records.record import Record

# Marks what a command started, for the case that its warden itself is gone.
MARK = "PERDURE_COMMAND"

_SETTLE_S = 0.002
_SETTLE_ROUNDS_MAX = 3000


class NotStartedError(PerdureError):
    """A command was not started: the program is not there, or cannot be confined here."""

    exit_status = EXIT_SOME_FAILED
    code = "command-not-started"


class Confinement(Record):
    """What a command may do: write in some folders, and reach outside or not."""

    writable: tuple[str, ...]
    egress: bool = False


class Ended(Record):
    """How a command ended: its exit status, negative for a signal; none if nobody knows."""

    code: int | None = None


class Process:
    """A running command and all that it started, as one thing.

    With `pipes`, its standard input and output are pipes; else it reads nothing, and writes into
    the file `output`. `failure` says why it never began to run, once it is over.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        confinement: Confinement | None,
        output: int,
        pipes: bool = False,
    ) -> None:
        """Start it.

        Raises:
            NotStartedError: the system gives no process for it.

        """
        self.name = " ".join(command)
        control, self._control = os.pipe()
        self._status, told = os.pipe()
        os.set_blocking(self._status, False)
        order = {
            "command": list(command),
            "folder": str(folder),
            "writable": None if confinement is None else list(confinement.writable),
            "egress": confinement is None or confinement.egress,
            "control": control,
            "status": told,
        }
        self._mark = new_name()
        try:
            self._popen = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", warden.__file__, msgspec.json.encode(order).decode()],
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else output,
                stderr=output,
                pass_fds=(control, told),
                env={**environment, MARK: self._mark},
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            self._let_go()
            os.close(self._status)
            raise NotStartedError(f"No process can be started ({error}).") from error
        finally:
            os.close(control)
            os.close(told)
        self.failure = ""
        self._heard = b""
        self._end: Ended | None = None

    @property
    def input(self) -> IO[bytes]:
        """The pipe to write to it."""
        assert self._popen.stdin is not None
        return self._popen.stdin

    @property
    def output(self) -> IO[bytes]:
        """The pipe to read from it."""
        assert self._popen.stdout is not None
        return self._popen.stdout

    def ended(self) -> Ended | None:
        """Say how it ended; None while it runs.

        Raises:
            NotStartedError: it never began to run.

        """
        if self._end is None and self._popen.poll() is not None:
            self._settle()
        return self._end

    async def kill(self) -> None:
        """Kill it with everything that it started. It is gone when this returns.

        A cancellation is put off until then.
        """
        self._let_go()
        cut: asyncio.CancelledError | None = None
        for _ in range(_SETTLE_ROUNDS_MAX):
            if self._popen.poll() is not None:
                break
            try:
                await asyncio.sleep(_SETTLE_S)
            except asyncio.CancelledError as error:
                cut = error
        self._make_sure()
        if cut is not None:
            raise cut

    def _make_sure(self) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait()
        if self._end is None:
            with suppress(NotStartedError):
                self._settle()

    def _let_go(self) -> None:
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def _settle(self) -> None:
        told = {}
        with suppress(BlockingIOError):
            while piece := os.read(self._status, 4096):
                self._heard += piece
        os.close(self._status)
        for line in self._heard.splitlines():
            told.update(msgspec.json.decode(line))
        self._let_go()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                pipe.close()
        self._end = Ended(code=told.get("ended"))
        if "ended" not in told:
            _kill_marked(self._mark)
        self.failure = told.get("failed", "")
        if self.failure:
            raise NotStartedError(f"The command cannot be started: {self.failure}.")


def _kill_marked(mark: str) -> None:
    """Kill what carries a mark in its environment. Its warden did not say that all are gone."""
    sought = f"{MARK}={mark}".encode()
    with suppress(OSError):
        for entry in os.listdir("/proc"):  # noqa: PTH208 - names are all that is needed
            if not entry.isdigit():
                continue
            with suppress(OSError):
                if sought in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    os.kill(int(entry), 9)
