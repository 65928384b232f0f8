"""Who starts an attempt and stays with it: a small process between a supervisor and its run.

It outlives its supervisor, so that a run whose supervisor was killed goes on, writes its log, and
has its exit status kept for the next one. It never outlives the run, and the run never outlives it.
Signals that it gets go to the whole group of the run: INT, TERM and HUP as they are, USR1 as the
request for stacks, USR2 as KILL. When the run has ended, everything that it started is ended too.
"""

from __future__ import annotations

import ctypes
import os
import selectors
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

import msgspec

from perdure.base.clock import SystemClock
from perdure.records.record import Record
from perdure.supervise import processes
from perdure.supervise.ends import CANNOT_EXECUTE, NOT_FOUND, End
from perdure.supervise.logs import Log
from perdure.supervise.slot import Slot
from perdure.supervise.stored import Attempt, Process

ATTEMPT_NAME = "attempt.json"
# What a keeper listens to. It is started with these held back, until its run is there.
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

_READ_BYTES = 65_536
_LOOK_S = 0.02
# What a process wrote before its end is in the pipe already.
_LAST_WORDS_S = 0.5
_KILLED_S = 10.0


class Setup(Record):
    """What a keeper is told, on its standard input.

    `held` are descriptors that say that something of the attempt lives; the run inherits them.
    """

    number: int
    words: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    log: str
    log_bytes: int
    secrets: tuple[str, ...]
    tag: str
    held: tuple[int, ...]
    leave_s: float
    dump_signal: int | None = None


class Keeper:
    """One attempt: its process, its log, its end."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._clock = SystemClock()
        self._slot = Slot(Path(setup.folder) / ATTEMPT_NAME)
        self._log = Log(Path(setup.log), setup.log_bytes, setup.secrets)
        self._me = processes.myself()
        self._run: subprocess.Popen[bytes] | None = None
        self._is_reaped = False
        self._selector = selectors.DefaultSelector()
        self._pipe = -1
        self._has_told_of_log = False

    def keep(self) -> None:
        """Start the run, stay until nothing of it is left, and write down how it ended."""
        processes.adopt_orphans()
        self._listen()
        end = self._started()
        if end is None:
            self._write(None)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
            end = self._stay()
        self._log.close()
        self._write(end)

    def _listen(self) -> None:
        ours, theirs = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
        self._selector.register(ours, selectors.EVENT_READ)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in PASSED_ON:
            signal.signal(number, self._pass_on)
        signal.signal(signal.SIGUSR1, self._ask_for_stacks)
        signal.signal(signal.SIGUSR2, self._kill)

    def _started(self) -> End | None:
        setup = self._setup
        self._pipe, theirs = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._pipe, False)
        library = processes.system_library()
        try:
            self._run = subprocess.Popen(  # noqa: S603 - the command that is supervised
                setup.words,
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env={**setup.environment, setup.tag: str(setup.number)},
                pass_fds=setup.held,
                start_new_session=True,
                # This process has one thread, and the library is loaded.
                preexec_fn=partial(_become_the_run, library, os.getpid()),  # noqa: PLW1509
            )
        except FileNotFoundError as error:
            self._log.feed(
                f"{error.filename or setup.words[0]}: there is no such command\n".encode()
            )
            return End(status=NOT_FOUND)
        except (OSError, subprocess.SubprocessError) as error:
            self._log.feed(f"{setup.words[0]}: it cannot be started ({error})\n".encode())
            return End(status=CANNOT_EXECUTE)
        finally:
            os.close(theirs)
        self._selector.register(self._pipe, selectors.EVENT_READ)
        return None

    def _stay(self) -> End:
        assert self._run is not None
        pid = self._run.pid
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            self._wait(None)
        # Its number is still its own: it is not reaped before everything of it is gone.
        self._end_the_rest()
        self._is_reaped = True
        status = self._run.wait()
        self._end_what_was_missed()
        self._drain()
        return End(status=status) if status >= 0 else End(signal=-status)

    def _end_the_rest(self) -> None:
        for number, wait_s in (
            (signal.SIGTERM, self._setup.leave_s),
            (signal.SIGKILL, _KILLED_S),
        ):
            until_s = self._clock.now_s() + wait_s
            asked: set[int] = set()
            while rest := self._rest():
                # One that comes later is asked too; one that was asked is left in peace.
                processes.send(rest - asked, number)
                asked |= rest
                if self._clock.now_s() >= until_s:
                    break
                self._wait(_LOOK_S)
        self._signal_group(signal.SIGKILL)

    def _end_what_was_missed(self) -> None:
        """End what was forked while the others were listed.

        Where orphans are adopted, the system knows exactly whether any descendant is left.
        """
        until_s = self._clock.now_s() + _KILLED_S
        with suppress(ChildProcessError):
            while self._clock.now_s() < until_s:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
                processes.send(processes.children_of(os.getpid()), signal.SIGKILL)
                self._wait(_LOOK_S)

    def _rest(self) -> set[int]:
        assert self._run is not None
        # Whatever lost its parent on the way is a child of this process now.
        found = {
            *processes.tagged(self._setup.tag),
            *processes.grouped(self._run.pid),
            *processes.children_of(os.getpid()),
        }
        return found - {self._run.pid, os.getpid()}

    def _wait(self, timeout_s: float | None) -> None:
        for key, _ in self._selector.select(timeout_s):
            with suppress(BlockingIOError):
                output = os.read(key.fd, _READ_BYTES)
                if key.fd != self._pipe:
                    continue
                if output:
                    self._log.feed(output)
                    if self._log.fault and not self._has_told_of_log:
                        self._write(None)
                else:
                    self._selector.unregister(self._pipe)

    def _drain(self) -> None:
        until_s = self._clock.now_s() + _LAST_WORDS_S
        while self._pipe in self._selector.get_map() and self._clock.now_s() < until_s:
            self._wait(_LOOK_S)

    def _signal_group(self, number: int) -> None:
        if self._run is not None and not self._is_reaped:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._run.pid, number)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        self._signal_group(number)

    def _ask_for_stacks(self, _number: int, _frame: FrameType | None) -> None:
        number = self._setup.dump_signal
        if number is not None and self._run is not None and not self._is_reaped:
            # Who has no handler would be ended by it.
            found = {self._run.pid, *processes.tagged(self._setup.tag)}
            processes.send([pid for pid in found if processes.catches(pid, number)], number)

    def _kill(self, _number: int, _frame: FrameType | None) -> None:
        self._signal_group(signal.SIGKILL)
        if not self._is_reaped:
            processes.send(processes.tagged(self._setup.tag), signal.SIGKILL)

    def _write(self, end: End | None) -> None:
        run: Process | None = None
        if self._run is not None:
            run = processes.identified(self._run.pid)
        told = Attempt(
            number=self._setup.number,
            keeper=self._me,
            run=run if end is None else None,
            end=end,
            tail=self._log.tail if end is not None else "",
            log_fault=self._log.fault,
        )
        self._has_told_of_log = bool(self._log.fault)
        with suppress(OSError):
            self._slot.write(told)


def _become_the_run(library: ctypes.CDLL | None, keeper: int) -> None:
    processes.death_of_parent(library, keeper)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)


def main() -> int:
    """Keep the attempt that standard input describes."""
    try:
        setup = msgspec.json.decode(sys.stdin.buffer.read(), type=Setup)
    except msgspec.MsgspecError:
        return 1  # the supervisor died in the middle of the sentence: there is no run
    for descriptor in setup.held:
        os.set_inheritable(descriptor, False)
    Keeper(setup).keep()
    return 0


if __name__ == "__main__":
    sys.exit(main())
