"""Where a process is, for whoever asks: the stacks of all threads and tasks, into `logs/`.

SIGUSR1 asks for it. The stacks of threads are written at once, even by a process that hangs outside
of Python; those of tasks as soon as it runs Python again. Only frames are written, never the values
in them: a local variable may hold a secret. Nothing of it is part of the record.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any

from perdure.base.text import printable
from perdure.runner.failure_log import LOGS_NAME

ASKS = signal.SIGUSR1

_NAMES = "stacks-*.txt"

AlsoAsked = list[Callable[[], None]]


@contextmanager
def stacks_on_request(folder: Path, name: str) -> Iterator[AlsoAsked]:
    """Answer SIGUSR1 inside the block, into `logs/stacks-NAME.txt` in a run's folder.

    Whoever is in the list that this gives is called after that, each time. Elsewhere than in the
    main thread, and where no such file can be made, nobody is answered.
    """
    also: AlsoAsked = []
    file = _opened(folder / LOGS_NAME / _NAMES.replace("*", name))
    if file is None:
        yield also
        return
    with file, _waking_the_loop():
        before = signal.signal(ASKS, lambda *_: _answer(file, also))
        # What a process has that hangs outside of Python: it never comes to the handler above.
        faulthandler.register(ASKS, file=file, all_threads=True, chain=True)
        try:
            yield also
        finally:
            faulthandler.unregister(ASKS)
            signal.signal(ASKS, before)


@contextmanager
def _waking_the_loop() -> Iterator[None]:
    """Have a signal wake an event loop that waits, whichever thread the system gives it to."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        yield
        return
    before = signal.getsignal(ASKS)
    loop.add_signal_handler(ASKS, _nothing)
    try:
        yield
    finally:
        loop.remove_signal_handler(ASKS)
        signal.signal(ASKS, before)


def _nothing() -> None:
    """Do nothing: that the loop wakes is all."""


def is_of_stacks(path: Path) -> bool:
    """Say whether a file is one of these, asked for or not: each is there before there is a run."""
    return path.match(_NAMES)


def forget_unasked(folder: Path) -> None:
    """Remove the files of processes that nobody asked; they are gone, and so is the run's own."""
    logs = folder / LOGS_NAME
    with suppress(OSError):
        for path in logs.glob(_NAMES):
            if path.stat().st_size == 0:
                path.unlink()
        logs.rmdir()  # if nothing else is there


def _opened(path: Path) -> IO[bytes] | None:
    if threading.current_thread() is not threading.main_thread():
        return None
    try:
        path.parent.mkdir(exist_ok=True)
        # Without a buffer: two write to it, and one of them below Python.
        return path.open("ab", buffering=0)
    except OSError:
        return None  # a help for people; the run goes on all the same


def _answer(file: IO[bytes], also: AlsoAsked) -> None:
    with suppress(OSError):
        file.write(_tasks().encode())
    for ask in also:
        ask()


def _tasks() -> str:
    """Write where every task of the event loop waits."""
    try:
        tasks = sorted(asyncio.all_tasks(asyncio.get_running_loop()), key=asyncio.Task.get_name)
    except RuntimeError:
        tasks = []
    lines = [f"\nThose were the threads of process {os.getpid()}. It has {len(tasks)} tasks.\n"]
    for task in tasks:
        lines.append(f"\n{task.get_name()}:\n")
        lines.extend(traceback.StackSummary.extract(_frames(task.get_coro())).format())
    return printable("".join([*lines, "\n"]))


def _frames(waiting: Any) -> Iterator[tuple[FrameType, int]]:
    """Follow what a task waits for inward, as far as it is Python."""
    while (frame := getattr(waiting, "cr_frame", None)) is not None:
        yield frame, frame.f_lineno
        waiting = waiting.cr_await
