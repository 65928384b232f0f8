"""A drive on a terminal: what it says while it says it, what it did, how it ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from perdure.base.errors import (
    EXIT_DONE,
    EXIT_KEY_OR_MODEL,
    EXIT_PAUSED,
    EXIT_SOME_FAILED,
    EXIT_STOPPED,
    EXIT_UNREACHABLE,
    UsageError,
)
from perdure.base.money import show
from perdure.base.text import one_line, printable
from perdure.cli.figures import count, plural
from perdure.cli.output import write_json, write_out
from perdure.records.drive import (
    DRIVE_KIND_OF,
    ChildStarted,
    DriveLine,
    EndCause,
    HarnessReported,
    ModelReturned,
    RunFrozen,
    SteerReceived,
    ToolCalled,
    ToolResult,
    WatchdogFired,
)
from perdure.records.increment import Increment, Said
from perdure.records.request import FailureCause
from perdure.runner.alone import CURRENCY, DrivenAlone
from perdure.trace.drive_reader import DriveReader

_EXIT: dict[EndCause, int] = {
    EndCause.CONCLUDED: EXIT_DONE,
    EndCause.OUTPUT_CEILING: EXIT_SOME_FAILED,
    EndCause.EMPTY_REPLY: EXIT_SOME_FAILED,
    EndCause.STUCK: EXIT_SOME_FAILED,
    EndCause.TURNS: EXIT_PAUSED,
    EndCause.TOKENS: EXIT_PAUSED,
    EndCause.MONEY: EXIT_PAUSED,
    EndCause.TIME: EXIT_PAUSED,
    EndCause.CANCEL: EXIT_STOPPED,
    EndCause.HALT: EXIT_STOPPED,
    EndCause.PROVIDER: EXIT_UNREACHABLE,
    EndCause.CRASH: EXIT_STOPPED,
    EndCause.FAULT: EXIT_SOME_FAILED,
}
_REFUSED = {
    FailureCause.KEY_REFUSED: EXIT_KEY_OR_MODEL,
    FailureCause.MODEL_UNKNOWN: EXIT_KEY_OR_MODEL,
    FailureCause.OUT_OF_MONEY: EXIT_PAUSED,
}
assert set(_EXIT) == set(EndCause)


class View:
    """Writes what an agent says and does to standard output, as it happens."""

    def __init__(self) -> None:
        self._in_text = False
        self._told: str | None = None

    def piece(self, increment: Increment) -> None:
        """Write a piece of what is being said."""
        if isinstance(increment, Said):
            self._write(printable(increment.text))
            self._in_text = True
            self._told = (self._told or "") + increment.text

    def line(self, line: DriveLine) -> None:
        """Write what a line says, if it is for people."""
        if isinstance(line, ModelReturned):
            if self._told is None and line.text:
                self._write(printable(line.text))
                self._in_text = True
            self._told = None
        for text in _told(line):
            self._write(("\n" if self._in_text else "") + text + "\n")
            self._in_text = False

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _told(line: DriveLine) -> Iterator[str]:
    match line:
        case ToolCalled():
            yield f"-> {line.call.name} {one_line(line.subject or line.call.arguments, 100)}"
        case ToolResult():
            size = f"{count(len(line.text.encode()))} bytes"
            yield f"   {line.status.value}, {size}: {one_line(line.text, 100)}"
        case SteerReceived():
            yield f"** {line.source}: {one_line(line.text, 200)}"
        case WatchdogFired():
            cause = f" ({line.cause.value})" if line.cause is not None else ""
            yield f"!! {line.action.value.replace('_', ' ')}{cause} {one_line(line.text)}".rstrip()
        case HarnessReported():
            yield f"-- {line.kind.replace('_', ' ')}: {one_line(line.text or line.detail, 200)}"
        case ChildStarted():
            yield f"=> {line.child}: {one_line(line.task, 200)}"
        case RunFrozen():
            yield ""
        case _:
            pass


def exit_of(cause: EndCause, failed: FailureCause | None) -> int:
    """Give the exit status of a drive that ended so."""
    if cause is EndCause.PROVIDER and failed in _REFUSED:
        return _REFUSED[failed]
    return _EXIT[cause]


def tell_end(ended: DrivenAlone, folder: Path, *, json: bool) -> int:
    """Tell how a drive ended; give its exit status."""
    frozen = ended.frozen
    status = exit_of(frozen.cause, frozen.failed)
    if json:
        write_json(
            {
                "folder": str(folder),
                "run": frozen.run,
                "completion": frozen.completion.value,
                "cause": frozen.cause.value,
                "failed": frozen.failed.value if frozen.failed else None,
                "turns": frozen.turns,
                "text": frozen.text,
                "calls": ended.calls,
                "tokens": ended.tokens,
                "cost": None if ended.unpriced else ended.money,
                "currency": CURRENCY,
                "exit": status,
            }
        )
        return status
    cost = "cost unknown" if ended.unpriced else show(ended.money, CURRENCY)
    why = f", {frozen.failed.value}" if frozen.failed else ""
    write_out(
        f"{frozen.completion.value} ({frozen.cause.value}{why}) after "
        f"{plural(frozen.turns, 'turn')}: {plural(ended.calls, 'call')}, "
        f"{count(ended.tokens)} tokens, {cost}\n"
    )
    for command, what in _next(folder, status):
        write_out(f"  perdure drive {command:<24} {what}\n")
    return status


def _next(folder: Path, status: int) -> Iterator[tuple[str, str]]:
    if status != EXIT_DONE:
        yield f"resume {folder}", "go on from its handoff"
    yield f"show {folder}", "what it did, line by line"


def tell_there_already(folder: Path, *, json: bool) -> int:
    """Tell that there is nothing to go on with."""
    if json:
        write_json({"folder": str(folder), "completion": "done", "exit": EXIT_DONE})
    else:
        write_out("It is done already, and nothing is left to go on with.\n")
    return EXIT_DONE


def show_ledger(folder: Path, number: int | None, *, json: bool) -> None:
    """Write the lines of a ledger, one of them in full if that is asked for.

    Raises:
        UsageError: there is no such line.
        DamagedRecordError: the ledger does not hold what was written.

    """
    with DriveReader.open(folder) as reader:
        found = False
        rows: list[dict[str, Any]] = []
        for stored in reader.lines():
            kind = DRIVE_KIND_OF[type(stored.line)]
            tree = {"seq": stored.seq, "kind": kind, **msgspec.to_builtins(stored.line)}
            if number is not None:
                if stored.seq == number:
                    found = True
                    rows.append(tree)
                continue
            if json:
                rows.append(tree)
            else:
                write_out(f"{stored.seq:>5}  {kind:<22} {_summary(stored.line)}\n")
        if number is not None and not found:
            raise UsageError(f"The ledger has no line {number}.", where=str(folder))
        if json:
            write_json(rows[0] if number is not None else rows)
        elif number is not None:
            write_out(msgspec.json.format(msgspec.json.encode(rows[0]), indent=2).decode() + "\n")


def _summary(line: DriveLine) -> str:
    told = next(_told(line), "")
    if told:
        return one_line(told, 100)
    fields = msgspec.to_builtins(line)
    shown_fields = {k: v for k, v in fields.items() if k not in ("run", "t", "segments", "tools")}
    return one_line(
        ", ".join(f"{k}={v}" for k, v in shown_fields.items() if not isinstance(v, dict)), 100
    )
