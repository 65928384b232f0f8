"""A worker process as its governor holds it: started, spoken to, killed, waited for."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from perdure.base.errors import StorageError
from perdure.runner.stacks import ASKS
from perdure.runner.wire import CUT_OFF, OUT_OF_MEMORY, Line, ToGovernor, ends

# How long what a worker sent last may be on its way, and how long one that is done may take to go.
_LAST_WORDS_S = 1.0
_LEAVES_WITHIN_S = 5.0


class WorkerProcess:
    """One worker: its process and its line, and what is open with each of its worlds.

    `heard_s` is when each of its worlds last gave a word, or was given one. `open` counts what each
    has asked and was not answered yet; of that, `leaves` are the worlds that wait for leave, and
    `calls` has the task of each model call.
    """

    def __init__(self, number: int, worlds: Iterable[str], now_s: float) -> None:
        self.number = number
        self.to_take = list(worlds)
        self.is_ready = False
        self.is_hung = False
        self.culprit: str | None = None
        self.error: Exception | None = None
        self.heard_s = dict.fromkeys(self.to_take, now_s)
        self.open: Counter[str] = Counter()
        self.leaves: set[str] = set()
        self.calls: dict[int, asyncio.Task[None]] = {}
        self.line: Line
        self._popen: subprocess.Popen[bytes] | None = None

    async def start(self, setup: bytes) -> None:
        """Start the process, and send it its setup.

        Raises:
            StorageError: the system does not give another process.

        """
        ours, theirs = ends()
        with theirs:
            self.line = await Line.on(ours, ToGovernor)
            try:
                popen = self._popen = _start(theirs.fileno())
            except OSError as error:
                self.line.close()
                raise StorageError(
                    f"No worker can be started ({error.strerror or error}).",
                    remedy="Closed ticks are kept. Run again, with fewer --workers.",
                ) from error
        loop = asyncio.get_running_loop()
        self._status: asyncio.Future[int] = loop.create_future()
        # A thread, because it is the same for every event loop, in whatever thread that runs.
        threading.Thread(target=self._wait, args=(loop, popen), daemon=True).start()
        self.line.send(setup)

    def is_busy(self, worlds: Iterable[str]) -> bool:
        """Say whether it is starting, or has worlds that do not all wait for leave."""
        return not self.is_ready or not self.leaves.issuperset(worlds)

    def came(self, now_s: float) -> None:
        """Note that it is ready. Its worlds could give no word before that."""
        self.is_ready = True
        self.heard_s = dict.fromkeys(self.heard_s, now_s)

    def quiet_s(self, worlds: Iterable[str], now_s: float) -> dict[str, float]:
        """Say for how long each of some worlds works without a word; not of one that waits."""
        return {
            world: now_s - self.heard_s.get(world, now_s)
            for world in worlds
            if not self.open[world]
        }

    def ask_for_stacks(self) -> None:
        """Have it write where it is. One that is not ready would end of that instead."""
        if self.is_ready and self._popen is not None:
            self._popen.send_signal(ASKS)

    def dismiss(self) -> None:
        """Let it go: none of its worlds goes on."""
        self.line.close()

    def kill(self) -> None:
        """End it at once, if it has been started."""
        if self._popen is not None:
            self._popen.kill()

    async def gone(self) -> int:
        """See it gone, and give its status as `subprocess` has it. One that stays is killed."""
        try:
            await asyncio.wait({self._status}, timeout=_LEAVES_WITHIN_S)
        finally:
            if not self._status.done():
                self.kill()
            while not self._status.done():
                # Killed, it is gone in moments: not even a cancellation leaves it behind.
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({self._status})
            self.line.close()
        return self._status.result()

    def _wait(self, loop: asyncio.AbstractEventLoop, popen: subprocess.Popen[bytes]) -> None:
        # Before its number is anybody else's: what the study's code started there ends with it.
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(popen.pid, signal.SIGKILL)
        status = popen.wait()
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._ended, loop, status)

    def _ended(self, loop: asyncio.AbstractEventLoop, status: int) -> None:
        if not self._status.done():
            self._status.set_result(status)
        # A process that it started may hold its end of the line open.
        loop.call_later(_LAST_WORDS_S, self.line.break_off)


def manner(status: int) -> str:
    """Say how a process ended, given its status as `subprocess` has it."""
    if status == OUT_OF_MEMORY:
        return "ran out of the memory that it may have"
    if status == CUT_OFF:
        return "ended because code of the study stopped its event loop or cancelled its tasks"
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    by_whom = ", by somebody or for want of memory" if -status == signal.SIGKILL else ""
    return f"was killed by {name}{by_whom}"


def _start(end: int) -> subprocess.Popen[bytes]:
    # The modules are looked for where they are here, and never beside the working folder (-P).
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    arguments = [str(end), str(os.getpid())]
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", "-m", "perdure.runner.worker", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=2,  # what a study's own code prints is no part of a command's output
        pass_fds=(end,),
        env={**os.environ, "PYTHONPATH": path},
        # Ctrl-C in a terminal is the governor's: open ticks are finished.
        start_new_session=True,
    )
