"""Work in a fork, which may be killed, and what it had to say.

A process that forks never opens a database itself: there is nothing open to inherit.
"""

from __future__ import annotations

import gc
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from perdure.base.canonical import _may_hold_floats
from perdure.records.record import Record
from perdure.trace import guard
from perdure.trace.decoding import _decoder

# A fork that takes longer hangs: SIGALRM ends it, and that is told from a kill.
_LONGEST_S = 60


class Left(NamedTuple):
    """How a fork ended, and what it said, if it came to that."""

    killed: bool
    said: Any


class ForkFailedError(Exception):
    """A fork ended in another way than by its end, or by the kill that was meant for it."""


def fork(work: Callable[[], Any]) -> Left:
    """Do some work in a fork.

    Raises:
        ForkFailedError: it raised, or was ended by something else than SIGKILL.

    """
    heard, said = os.pipe()
    child = os.fork()  # noqa: TID251 - nothing is open in this process: see the top
    if child == 0:
        os.close(heard)
        _be_child(work, said)
    os.close(said)
    parts = []
    while part := os.read(heard, 1 << 20):
        parts.append(part)
    os.close(heard)
    _, status = os.waitpid(child, 0)
    answer = msgspec.msgpack.decode(b"".join(parts)) if parts else None
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return Left(killed=True, said=None)
    if status:
        raise ForkFailedError(answer or f"It ended with the status {status}.")
    return Left(killed=False, said=answer)


def _be_child(work: Callable[[], Any], said: int) -> None:
    status, write = 1, os.write
    try:
        signal.alarm(_LONGEST_S)
        data = msgspec.msgpack.encode(work())
        status = 0
    except BaseException:  # noqa: BLE001 - a fork must never return into its parent's code
        data = msgspec.msgpack.encode(traceback.format_exc(limit=-3))
    finally:
        while data:
            data = data[write(said, data) :]
        os._exit(status)


def be_parent(dress_rehearsal: Callable[[], object]) -> None:
    """Pay once here for what every fork would pay. What is rehearsed opens no database file."""
    dress_rehearsal()
    apsw.Connection(":memory:").close()
    for kind in _kinds(Record):
        with suppress(TypeError):  # not everything that is written is read back as one piece
            _decoder(kind)
            _may_hold_floats(kind)
    guard.release(guard.protect(Path("/dev/null")))
    gc.collect()
    gc.freeze()
    gc.disable()


def _kinds(of: type[Record]) -> Iterator[type[Record]]:
    for kind in of.__subclasses__():
        yield kind
        yield from _kinds(kind)
