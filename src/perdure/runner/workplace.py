"""What a worker process does: prove that it runs the run's code, take worlds, drive them.

Everything that concerns the whole run is asked of the governor over the line. A worker never
outlives its governor: the line breaks, and where the system can do it (Linux) it is killed at once.
"""

from __future__ import annotations

import asyncio
import ctypes
import faulthandler
import math
import os
import resource
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NoReturn

from perdure.base.clock import SystemClock
from perdure.base.errors import EXIT_BUG, EXIT_DONE, EXIT_HELD, PerdureError
from perdure.closure.loaded import Watch
from perdure.records.events import Event
from perdure.records.registry import WorldOutcome
from perdure.records.scenario import Header
from perdure.runner.failure_log import failure_log
from perdure.runner.garbage import collecting_seldom
from perdure.runner.loaded_log import LoadedLog
from perdure.runner.loop import event_loop
from perdure.runner.plugins import PluginParts
from perdure.runner.readings import Readings
from perdure.runner.remote import Questions, RemoteGovernor, RemoteHost
from perdure.runner.signals import STOP_SIGNALS
from perdure.runner.stacks import stacks_on_request
from perdure.runner.starting import Workshop
from perdure.runner.told import tell
from perdure.runner.wire import (
    CUT_OFF,
    OUT_OF_MEMORY,
    Alive,
    Answer,
    Line,
    Ready,
    Setup,
    TakeWorld,
    ToWorker,
    Unable,
    frame,
)
from perdure.runner.worker import drive
from perdure.runner.world_run import WorldRun
from perdure.trace.partitions import FolderPartitions
from perdure.trace.reader import RunReader
from perdure.trace.workers_lock import WorkersLock

_PR_SET_PDEATHSIG = 1
# Which process the system ends first when memory is short: a worker, whose worlds go on elsewhere.
_OOM_SCORE = "500"
_SIGN_EVERY_S = 1.0


def main(arguments: list[str]) -> NoReturn:
    """Work for a governor: `arguments` are the descriptor of the line, and the governor's pid."""
    descriptor, governor = map(int, arguments)
    os.set_inheritable(descriptor, False)
    _die_with(governor)
    _leave_stopping_to_the_governor()
    if sys.stderr is not None:
        faulthandler.enable()
    status = EXIT_BUG
    with collecting_seldom(), asyncio.Runner(loop_factory=event_loop) as runner:
        loop = runner.get_loop()
        working = loop.create_task(_work(descriptor))
        try:
            status = loop.run_until_complete(working)
        except BaseException:  # noqa: BLE001 - told, and the process ends
            # Nothing here cancels it, and it never leaves the loop before it has ended.
            if working.cancelled() or not working.done():
                status = CUT_OFF
            else:
                sys.excepthook(*sys.exc_info())
        # At once: a thread that hangs would keep the process, and a loop that is closed would first
        # cut off every world, wherever it is.
        _leave(status)


def _leave(status: int) -> NoReturn:
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _die_with(governor: int) -> None:
    """Have the system kill this process when its governor dies, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")
    if os.getppid() != governor:  # it died before that
        _leave(EXIT_HELD)


def _leave_stopping_to_the_governor() -> None:
    """Let stop signals pass: a stop of a whole group would otherwise cut the open ticks."""
    for number in STOP_SIGNALS:
        # No SIG_IGN, which whatever the study's code starts would inherit.
        signal.signal(number, lambda *_: None)


async def _work(end: int) -> int:
    line = await Line.on(end, ToWorker)
    setup = await line.receive()
    if not isinstance(setup, Setup):
        return EXIT_HELD
    questions = Questions(line)
    try:
        bench = _Bench(setup, line, questions)
    except Exception as error:  # noqa: BLE001 - whatever it is, the governor is told
        line.send(frame(Unable(error=tell(error))))
        await line.receive()
        return EXIT_DONE
    line.send(frame(Ready()))
    while (message := await line.receive()) is not None:
        match message:
            case TakeWorld():
                bench.take(message)
            case Answer():
                questions.answered(message)
    return EXIT_DONE


class _Bench:
    """A worker that is ready: the worlds that it drives, side by side."""

    def __init__(self, setup: Setup, line: Line, questions: Questions) -> None:
        """Make ready.

        Raises:
            MovedError: what is loaded here is not the code of the run.
            PluginError: a class of the study cannot be loaded.
            HeldError: another process takes over the run.

        """
        sys.path[:] = setup.path
        # It was set for this program alone, and not for what the study's own code may start.
        del os.environ["PYTHONPATH"]
        if setup.python_path is not None:
            os.environ["PYTHONPATH"] = setup.python_path
        self._open = ExitStack()
        if setup.tells_stacks:
            answering = stacks_on_request(Path(setup.run_folder), f"worker-{os.getpid()}")
            self._open.enter_context(answering)
        watch = Watch(Path(setup.study_folder), setup.files, setup.plugins)
        watch.begin(setup.fingerprint, SystemClock())
        if setup.memory_bytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (setup.memory_bytes, setup.memory_bytes))
        parts = PluginParts(setup.agent, setup.worlds, Path(setup.study_folder))
        watch.look()
        self._lock = WorkersLock.share(Path(setup.run_folder))
        self._loaded = LoadedLog(Path(setup.run_folder), "worker")
        self._loaded.note("start")
        self._line = line
        self._governor = _Careful(questions, self._before_ending)
        self._memory_bytes = setup.memory_bytes
        self._note = failure_log(Path(setup.run_folder))
        self._loop = asyncio.get_running_loop()
        partitions = _SignedPartitions(Path(setup.run_folder), self._sign)
        self._workshop = Workshop(
            parts=parts,
            people=setup.people,
            host=RemoteHost(questions),
            partitions=partitions,
            readings=Readings(partitions),
            epoch=setup.epoch,
            guard=watch.look,
        )
        self._driving: set[asyncio.Task[None]] = set()

    def take(self, taken: TakeWorld) -> None:
        """Begin to drive a world."""
        task = asyncio.get_running_loop().create_task(self._drive(taken))
        self._driving.add(task)
        task.add_done_callback(self._driven)

    def _driven(self, task: asyncio.Task[None]) -> None:
        self._driving.discard(task)
        if task.cancelled():
            # By code of the study, which can reach every task here: nobody would drive its world.
            _leave(CUT_OFF)
        if (error := task.exception()) is not None:
            sys.excepthook(type(error), error, error.__traceback__)
            _leave(EXIT_BUG)

    async def _drive(self, taken: TakeWorld) -> None:
        async def start(header: Header) -> WorldRun:
            return await self._workshop.start(header, taken.witness, taken.forced_until)

        await drive(
            [taken.header],
            start=start,
            recall=self._workshop.recall,
            governor=self._governor,
            note_failure=self._failed,
        )

    def _failed(self, world_id: str, error: Exception) -> str:
        """Note a world's failure, unless it may be another world's doing."""
        if len(self._driving) > 1:
            # Whoever ate all the memory, or broke what all of them stand on: each of them goes on
            # alone, and then it is known.
            if _is_for_memory(error):
                _leave(OUT_OF_MEMORY)
            if not isinstance(error, PerdureError):
                sys.excepthook(type(error), error, error.__traceback__)
                _leave(EXIT_BUG)
        return self._note(world_id, error)

    def _before_ending(self, outcome: WorldOutcome) -> None:
        """Look at how a world ended, before anybody is told.

        Where memory was short, reading a file or writing the record fails like anything else.
        """
        was_short = self._memory_bytes is not None and _peak_bytes() > 0.9 * self._memory_bytes
        if outcome.exit_status and was_short and len(self._driving) > 1:
            _leave(OUT_OF_MEMORY)
        self._loaded.note("end")

    def _sign(self, world_id: str) -> None:
        """Give a sign of life, from whatever thread."""
        self._loop.call_soon_threadsafe(self._line.send, frame(Alive(world=world_id)))


class _Careful(RemoteGovernor):
    """The governor, told how a world ended when that was looked at."""

    def __init__(self, questions: Questions, look: Callable[[WorldOutcome], None]) -> None:
        super().__init__(questions)
        self._look = look

    async def world_ended(self, outcome: WorldOutcome) -> None:
        """Tell that a world will not go on in this process."""
        self._look(outcome)
        await super().world_ended(outcome)


class _SignedPartitions(FolderPartitions):
    """Records whose reading gives signs of life: a long record takes long to live through again."""

    def __init__(self, folder: Path, sign: Callable[[str], None]) -> None:
        super().__init__(folder)
        self._run = folder
        self._sign = sign

    def read(self) -> RunReader:
        """Open the records to be read."""
        reader = _SignedReader.open(self._run)
        reader.sign = self._sign
        return reader


class _SignedReader(RunReader):
    sign: Callable[[str], None]

    def events(self, world_id: str, kinds: Collection[str] | None = None) -> Iterator[Event]:
        """Go through a world's events in order."""
        clock, signed_s = SystemClock(), -math.inf
        for event in super().events(world_id, kinds):
            if (now_s := clock.now_s()) > signed_s + _SIGN_EVERY_S:
                signed_s = now_s
                self.sign(world_id)
            yield event


def _peak_bytes() -> int:
    """Give the most address space that this process ever had; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmPeak:")[1].split()[0]) * 1024
    return 0


def _is_for_memory(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__
    return error is not None
