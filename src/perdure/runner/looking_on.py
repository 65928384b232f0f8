"""What others see of an agent that is driven alone: its lines, its moment, its transcript."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from perdure.agent.drive.drive import Frozen
from perdure.agent.drive.ports import ContextReading, Ledger
from perdure.base.canonical import encode
from perdure.base.text import one_line
from perdure.records.drive import DriveLine, ModelCalled, ModelReturned, RunFrozen, ToolCalled
from perdure.records.record import Record
from perdure.records.request import Message
from perdure.runner.veil import Veiled

MOMENT_NAME = "status.json"
_MOMENT_BYTES_MAX = 65_536
_SUBJECT_MAX = 72


class Moment(Record):
    """Where a drive stands: its turn, what it does, and how full its window is."""

    run: str
    turn: int
    doing: str
    used: int | None = None
    window: int = 0


class Shown:
    """A ledger whose lines are shown once they are durable. A display that fails is let go."""

    def __init__(
        self,
        ledger: Ledger,
        folder: Path,
        reading: ContextReading,
        show: Callable[[DriveLine], None] | None,
        veiled: Veiled | None = None,
    ) -> None:
        self._ledger = ledger
        self._path = folder / MOMENT_NAME
        self._reading = reading
        self._show = show
        self._veiled = veiled
        self._turn = 0
        self._done: list[str] | None = None

    async def append(self, lines: Sequence[DriveLine], blobs: dict[str, bytes]) -> None:
        """Append lines, and then show them.

        Raises:
            StorageError: they could not be written.

        """
        await self._ledger.append(lines, blobs)
        for line in lines:
            self._look(line)
        self._note(lines[-1])

    def _look(self, line: DriveLine) -> None:
        if isinstance(line, ModelCalled):
            self._turn = line.turn
        if isinstance(line, ToolCalled) and self._done is not None:
            self._done.append(f"{line.call.name} {line.subject}".rstrip())
        if self._show is None:
            return
        try:
            if self._veiled is not None and isinstance(line, ModelCalled):
                self._veiled.begin()
            if self._veiled is not None and isinstance(line, ModelReturned):
                self._veiled.finish()
            self._show(line)
        except Exception:  # noqa: BLE001 - whatever a display does, the drive goes on without it
            self._show = None

    def story(self) -> str:
        """Say what was done since this was asked last, as a message for the room's history."""
        done, self._done = self._done, []
        if done is None:
            return "Before the first change of a drive"
        subject = one_line(f"After {', '.join(done) or 'words alone'}", _SUBJECT_MAX)
        return "\n".join([subject, "", *(one_line(one) for one in done)])

    def _note(self, line: DriveLine) -> None:
        moment = Moment(
            run=line.run,
            turn=self._turn,
            doing=_doing(line),
            used=self._reading.used,
            window=self._reading.window,
        )
        beside = self._path.with_suffix(".new")
        try:
            beside.write_bytes(encode(moment) + b"\n")
            os.replace(beside, self._path)  # noqa: PTH105 - a glance, renewed with every line
        except OSError:
            # A glance for people: a full disk shows in the ledger's own writes.
            return


def moment_of(folder: Path) -> Moment | None:
    """Read where a drive stands, as it said last; None if it said nothing that can be read."""
    try:
        with (folder / MOMENT_NAME).open("rb") as file:
            return msgspec.json.decode(file.read(_MOMENT_BYTES_MAX), type=Moment)
    except (OSError, msgspec.MsgspecError):
        return None


def transcript_name(run: str) -> str:
    """Name the transcript of a drive. It is known beforehand."""
    return f"{run}.jsonl"


def transcribe(folder: Path, frozen: Frozen, secrets: Callable[[str], str]) -> Path | None:
    """Write what the model saw, a message per line, without secrets and read-only.

    None if that could not be done, which changes nothing about how the drive ended.
    """
    path = folder / transcript_name(frozen.run)
    text = b"".join(encode(_scanned(message, secrets)) + b"\n" for message in frozen.messages)
    try:
        path.write_bytes(text)
        path.chmod(0o444)
    except OSError:
        return None
    return path


def _scanned(message: Message, secrets: Callable[[str], str]) -> Message:
    calls = tuple(
        msgspec.structs.replace(call, arguments=secrets(call.arguments)) for call in message.calls
    )
    return msgspec.structs.replace(message, content=secrets(message.content), calls=calls)


def _doing(line: DriveLine) -> str:
    match line:
        case ModelCalled():
            return "waiting for the model"
        case ToolCalled():
            return f"running {line.call.name}"
        case RunFrozen():
            return f"{line.completion.value} ({line.cause.value})"
        case _:
            return "working"
