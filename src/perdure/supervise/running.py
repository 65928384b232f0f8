"""Attempts as processes: begun with a keeper, found alive, signalled, and seen to their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.base.clock import Clock
from perdure.base.errors import HeldError, StorageError
from perdure.supervise import processes
from perdure.supervise.attempts import Left
from perdure.supervise.claim import Claim
from perdure.supervise.command import Command
from perdure.supervise.ends import End
from perdure.supervise.escalation import Step
from perdure.supervise.keeper import ATTEMPT_NAME, PASSED_ON, Setup
from perdure.supervise.lock import ATTEMPT_LOCK, is_taken, take
from perdure.supervise.logs import log_path
from perdure.supervise.notify import for_others
from perdure.supervise.slot import Slot, read
from perdure.supervise.stored import Attempt, Process

# How long a keeper that was just started may take to say so, and one that is done to be gone.
_SAYS_WITHIN_S = 10.0
_LEAVES_WITHIN_S = 30.0
_LOOK_S = 0.02

_SIGNALS = {
    Step.DUMP: signal.SIGUSR1,
    Step.INT: signal.SIGINT,
    Step.TERM: signal.SIGTERM,
    Step.KILL: signal.SIGUSR2,
}


class Kept:
    """An attempt with its keeper: our own child, or that of an earlier supervisor."""

    def __init__(
        self, number: int, folder: Path, keeper: Process, child: subprocess.Popen[bytes] | None
    ) -> None:
        self.number = number
        self._folder = folder
        self._keeper = keeper
        self._child = child
        self._handle = _opened(keeper)

    def has_ended(self) -> bool:
        """Say whether its keeper is gone: it goes last."""
        gone = (
            self._child.poll() is not None
            if self._child is not None
            else not processes.lives(self._keeper)
        )
        if gone and self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        return gone

    def take_step(self, step: Step) -> None:
        """Take a step: its keeper passes the signal on to everything of it."""
        self._send(signal.SIGKILL if step is Step.ABANDON else _SIGNALS[step])

    def run(self) -> Process | None:
        """Say which process it is."""
        told = self._told()
        return told.run if told is not None else None

    def log_fault(self) -> str:
        """Say why its log cannot be written; empty if it can, as far as that is known."""
        told = self._told()
        return told.log_fault if told is not None else ""

    def _told(self) -> Attempt | None:
        told = read(self._folder / ATTEMPT_NAME, Attempt)
        return told if told is not None and told.number == self.number else None

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if self._child is not None:
                self._child.send_signal(number)
            elif self._handle >= 0:
                signal.pidfd_send_signal(self._handle, number)
            elif processes.lives(self._keeper):
                os.kill(self._keeper.pid, number)


class KeptAttempts:
    """Attempts of this machine, each with a keeper of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock,
        claim: Claim,
        tag: str,
        log_bytes: int,
        secrets: tuple[str, ...],
        leave_s: float,
        dump_signal: int | None,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._claim = claim
        self._tag = tag
        self._log_bytes = log_bytes
        self._secrets = secrets
        self._leave_s = leave_s
        self._dump_signal = dump_signal

    async def begin(self, number: int, command: Command, facts: Mapping[str, str]) -> Kept:
        """Begin an attempt.

        Raises:
            HeldError: another supervisor looks after the run meanwhile.
            StorageError: something of an earlier attempt is left, or no process can be started.

        """
        lock = await self._lock()
        try:
            held = (lock, *self._claim.descriptors)
            setup = Setup(
                number=number,
                words=command.words,
                environment={**for_others(os.environ), **facts},
                folder=str(self._folder.resolve()),
                log=str(log_path(self._folder.resolve(), number)),
                log_bytes=self._log_bytes,
                secrets=self._secrets,
                tag=self._tag,
                held=held,
                leave_s=self._leave_s,
                dump_signal=self._dump_signal,
            )
            child = _started(held)
            assert child.stdin is not None
            with suppress(BrokenPipeError), child.stdin as line:
                line.write(msgspec.json.encode(setup))
        except OSError as error:
            raise StorageError(
                f"No process can be started ({error.strerror or error}).",
                remedy="What was recorded is kept; run the same command again.",
            ) from error
        finally:
            os.close(lock)
        return Kept(number, self._folder, processes.identified(child.pid), child)

    async def found(self, number: int) -> Kept | None:
        """Find the attempt that an earlier supervisor began, if anything of it lives."""
        until_s = self._clock.now_s() + _SAYS_WITHIN_S
        while True:
            told = read(self._folder / ATTEMPT_NAME, Attempt)
            is_ours = told is not None and told.number == number
            if is_ours and told is not None and processes.lives(told.keeper):
                return Kept(number, self._folder, told.keeper, None)
            # One that was just started holds the lock before it has said a word.
            if is_ours or not is_taken(self._folder / ATTEMPT_LOCK):
                return None
            if self._clock.now_s() >= until_s:
                return None
            await self._clock.sleep(_LOOK_S)

    async def end_of(self, number: int) -> Left:
        """Say how an attempt ended.

        Raises:
            HeldError: another supervisor looks after the run meanwhile.
            StorageError: something of it cannot be ended.

        """
        # What a keeper ends itself is gone already; this is for one that was killed.
        os.close(await self._lock())
        told = read(self._folder / ATTEMPT_NAME, Attempt)
        if told is None or told.number != number:
            return Left()
        return Left(told.end or End(), told.tail, told.log_fault)

    async def _lock(self) -> int:
        lock = await self._alone()
        try:
            # The run of an earlier supervisor had it in our place until now.
            await self._claim.require(self._clock)
        except HeldError:
            os.close(lock)
            raise
        return lock

    async def _alone(self) -> int:
        until_s = self._clock.now_s() + _LEAVES_WITHIN_S
        while True:
            left = processes.tagged(self._tag)
            processes.send(left, signal.SIGKILL)
            lock = None if left else take(self._folder / ATTEMPT_LOCK)
            if lock is not None:
                return lock
            if self._clock.now_s() >= until_s:
                who = f"processes {', '.join(map(str, left))}" if left else "nobody knows what"
                raise StorageError(
                    f"Something of an earlier attempt is left and cannot be ended ({who}).",
                    where=str(self._folder),
                    remedy="End it, then run the same command again.",
                )
            await self._clock.sleep(_LOOK_S)


def left_alone(folder: Path) -> Kept | None:
    """Find the attempt in a supervisor's folder that lives, whether a supervisor does or not."""
    told = read(folder / ATTEMPT_NAME, Attempt)
    if told is None or told.end is not None or not processes.lives(told.keeper):
        return None
    return Kept(told.number, folder, told.keeper, None)


def make_room(folder: Path) -> None:
    """Take the room that a keeper needs to say how an attempt ended, also on a full disk.

    Raises:
        OSError: there is none.

    """
    Slot(folder / ATTEMPT_NAME).make_room()


def _started(held: tuple[int, ...]) -> subprocess.Popen[bytes]:
    # The modules are looked for where they are here, and never beside the working folder (-P).
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    # A signal that comes before its run is there waits until it is; nothing is lost, and it is not
    # the keeper that ends.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    try:
        return _popen(path, held)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _popen(path: str, held: tuple[int, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "perdure.supervise.keeper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=held,
        env={**for_others(os.environ), "PYTHONPATH": path},
        start_new_session=True,
    )


def _opened(process: Process) -> int:
    """Open a handle on a process, which no later one of its number takes over; -1 if none."""
    if not hasattr(os, "pidfd_open"):
        return -1
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return -1
    if processes.lives(process):
        return handle
    os.close(handle)
    return -1
