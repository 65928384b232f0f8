"""A gate before the replies of a server: a run waits there until a test lets it go on.

Where a run is to be met in the middle of its work, no time that it may take is long enough on every
machine; behind a shut gate it waits for as long as that takes.
"""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from perdure.testing import FAULTS, Exchange, Fault, MisbehavingServer, SeenRequest

Beside = Callable[[SeenRequest], str | None]

_HELD = "held"
_LOOK_EVERY_S = 0.005


def nothing(_seen: SeenRequest) -> None:
    """Play no fault."""


class Gate:
    """Holds the replies to all calls of a server but the next `let`, until it is opened.

    So far `told` requests were told to wait, `held` replies were held, and `sent` of them have been
    sent since. Faults that are played `beside` it are played as ever, to those that were held once
    it is open.
    """

    def __init__(self, server: MisbehavingServer, let: int, beside: Beside) -> None:
        self.is_open = False
        self.told = self.held = self.sent = 0
        self._first = server.calls + let
        self._beside = beside
        self._faults: dict[int, str | None] = {}

    def open(self) -> None:
        """Send the replies that were held, and hold none any more."""
        self.is_open = True

    def fault(self, seen: SeenRequest) -> str | None:
        """Name what is played to a request."""
        fault = self._beside(seen)
        if self.is_open or seen.index < self._first:
            return fault
        self._faults[seen.index] = fault
        self.told += 1
        return _HELD

    async def hold(self, exchange: Exchange) -> None:
        """Answer once the gate is open, if anybody is there to be answered."""
        self.held += 1
        while not (self.is_open or exchange.is_gone):  # noqa: ASYNC110 - opened by a thread
            await asyncio.sleep(_LOOK_EVERY_S)
        fault = self._faults.pop(exchange.seen.index)
        if fault is None:
            await exchange.reply(exchange.good_body)
        else:
            await FAULTS[fault].play(exchange)
        self.sent += 1


@contextmanager
def gate(server: MisbehavingServer, let: int, *, beside: Beside = nothing) -> Iterator[Gate]:
    """Shut a gate after so many further calls; it is open, and gone, in the end."""
    shut = Gate(server, let, beside)
    FAULTS[_HELD] = Fault(_HELD, "transport", "a reply is held", shut.hold)
    server.play(shut.fault)
    try:
        yield shut
    finally:
        shut.open()
        server.play(beside)
        while shut.held < shut.told:
            time.sleep(_LOOK_EVERY_S)  # noqa: TID251 - the server's thread is waited for
        del FAULTS[_HELD]


def has_taken(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Say whether a signal that was sent to a process is pending no more."""
    said = Path(f"/proc/{process.pid}/status").read_text()
    (pending,) = re.findall(r"^ShdPnd:\s*([0-9a-f]+)$", said, re.MULTILINE)
    return not int(pending, 16) >> (number - 1) & 1
