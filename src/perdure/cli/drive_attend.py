"""Being with a drive while it works: what Ctrl-C does, words to the agent, and how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from perdure.base.errors import StopRequestedError
from perdure.cli.drive_view import Unseen, View, tell_end, tell_there_already
from perdure.cli.output import write_error
from perdure.runner.alone import Company, DrivenAlone
from perdure.runner.attended import Attended
from perdure.runner.signals import hear_no_more, hearing

Drive = Callable[[Company], Coroutine[Any, Any, DrivenAlone | None]]

_LINE_MAX = 65_536
_ASKED = """
Say something to the agent, and press Enter.
Enter alone stops it, Ctrl-C cuts it, Ctrl-D does neither.
> """


def attended(folder: Path, drive: Drive, *, quiet: bool, json: bool) -> int:
    """Drive with somebody looking on, and tell how it ended; give the exit status.

    Raises:
        PerdureError: as the drive raises.
        OutputError: what it did could not be shown. The drive went on without that.

    """
    view = Unseen() if quiet or json else View()
    ended = asyncio.run(_go(folder, drive, view))
    if isinstance(view, View) and view.failed is not None:
        raise view.failed
    if ended is None:
        return tell_there_already(folder, json=json)
    return tell_end(ended, folder, json=json, why=view.why if isinstance(view, Unseen) else "")


async def _go(
    folder: Path,
    drive: Drive,
    view: View | Unseen,
) -> DrivenAlone | None:
    person = Attended(folder)
    company = Company(
        interrupts=person, line=view.line, piece=view.piece if isinstance(view, View) else None
    )
    driving = asyncio.ensure_future(drive(company))

    def cut() -> None:
        person.halt()
        if not person.is_heard:
            driving.cancel()

    words = None
    if isinstance(view, View) and sys.stdin.isatty():
        words = _Words(person, view, cut)
    stopping = _Stopping(person, cut)
    interrupted = words.interrupt if words is not None else stopping
    try:
        with hearing({signal.SIGINT: interrupted, signal.SIGTERM: stopping}):
            try:
                return await driving
            finally:
                hear_no_more()
    except asyncio.CancelledError:
        raise StopRequestedError("It was stopped before it began.") from None
    finally:
        if words is not None:
            words.end()


class _Stopping:
    """The first time it is called, the drive ends at its next safe point; then, at once."""

    def __init__(self, person: Attended, cut: Callable[[], None]) -> None:
        self._person = person
        self._cut = cut
        self._is_asked = False

    def __call__(self) -> None:
        if self._is_asked:
            self._cut()
        self._person.stop()
        self._is_asked = True


class _Words:
    """Ctrl-C on a terminal asks for words, while the drive goes on; a second one cuts it."""

    def __init__(self, person: Attended, view: View, cut: Callable[[], None]) -> None:
        self._person = person
        self._cut = cut
        self._view = view
        self._asks = False
        self._is_stopping = False

    def interrupt(self) -> None:
        """Ask, or cut what is in flight: while words are asked for, and after a stop."""
        if self._asks or self._is_stopping:
            if self._asks:
                write_error("")
            self._answered()
            self._cut()
            return
        self._asks = True
        self._view.hold()
        sys.stderr.write(_ASKED)
        sys.stderr.flush()
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._heard)

    def end(self) -> None:
        """Ask no more. What was half typed goes to nobody."""
        if self._asks:
            self._answered()
            with suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    def _heard(self) -> None:
        try:
            said = os.read(sys.stdin.fileno(), _LINE_MAX)
        except OSError:
            said = b""
        text = said.decode(errors="replace").strip()
        if text:
            self._person.say(text)
        elif said:
            self._is_stopping = True
            self._person.stop()
            write_error("It stops at its next safe point; Ctrl-C cuts it.")
        else:
            write_error("")  # Ctrl-D: it goes on as it was
        self._answered()

    def _answered(self) -> None:
        if self._asks:
            self._asks = False
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._view.release()
