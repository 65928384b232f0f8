"""What a line of a drive's ledger says to a person: while it happens, and in a list."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from perdure.base.text import one_line
from perdure.cli.figures import count, percent, plural
from perdure.records.drive import (
    CheckpointCommitted,
    ChildEnded,
    ChildStarted,
    CommandsKilled,
    ContextReminded,
    DriveLine,
    DriverFailed,
    EndCause,
    HandoffWritten,
    HarnessReported,
    ModelCalled,
    ModelReturned,
    PolicyChanged,
    PromptAssembled,
    PromptShapeCompared,
    ProviderFailed,
    RunFrozen,
    RunStarted,
    SteerReceived,
    ToolCalled,
    ToolResult,
    WatchdogAction,
    WatchdogFired,
)

_LINE_MAX = 2000
_PASSED = ("run", "t", "segments", "tools")


def told(line: DriveLine) -> Iterator[str]:  # noqa: C901, PLR0912 - one case per kind
    """Say what happened, if it is for somebody who looks on. Each is one line of any length."""
    match line:
        case ToolCalled():
            yield f"-> {line.call.name} {_short(line.subject or line.call.arguments)}"
        case ToolResult():
            size = f"{count(len(line.text.encode()) + line.dropped)} bytes"
            yield f"   {line.status.value}, {size}: {_short(line.text)}"
        case SteerReceived():
            yield f"** {line.source}: {_short(line.text)}"
        case PolicyChanged():
            yield f"** {line.by} changed what it may do"
        case WatchdogFired():
            yield f"!! {_watchdog(line)}"
        case ContextReminded():
            yield f"!! {_reminder(line)}"
        case ProviderFailed() | DriverFailed():
            yield f"!! {_short(line.text)}"
        case HarnessReported():
            yield f"-- {line.what.replace('_', ' ')}: {_short(line.text or line.detail)}"
        case ChildStarted():
            yield f"=> {line.child}: {_short(line.task)}"
        case ChildEnded():
            yield f"<= {line.child}: {line.completion.value} ({line.cause.value})"
        case CommandsKilled():
            yield f"!! killed: {_short(', '.join(line.commands))}"
        case RunFrozen() if line.cause is EndCause.CRASH:
            yield f"!! {line.run} was left open by a process that died, and is closed"
        case _:
            pass


def summed_up(line: DriveLine) -> str:
    """Say what a line holds, in one line of any length."""
    for text in told(line):
        return text
    match line:
        case RunStarted():
            text = f"by {line.dispatched_by.value}, on {line.model}: {line.task}"
        case PromptAssembled():
            sizes = (f"{one.slot} {count(one.size)}" for one in line.segments if one.size)
            text = f"bytes: {', '.join(sizes)}"
        case PromptShapeCompared():
            moved = "the first" if line.first else f"moved: {', '.join(line.moved) or 'nothing'}"
            text = f"turn {line.turn}, at most {count(line.upper_bound)} tokens, {moved}"
        case ModelCalled():
            again = f", attempt {line.attempt}" if line.attempt else ""
            text = f"turn {line.turn}{again}"
        case ModelReturned():
            text = _reply(line)
        case CheckpointCommitted():
            text = f"{line.oid[:12]}: {', '.join(line.files) or 'nothing moved'}"
        case HandoffWritten():
            text = f"{line.next_step} {line.progress}"
        case RunFrozen():
            turns = plural(line.turns, "turn")
            text = f"{line.completion.value} ({line.cause.value}) after {turns}"
        case _:
            fields = msgspec.to_builtins(line)
            text = ", ".join(f"{name}={fields[name]}" for name in fields if name not in _PASSED)
    return _short(text)


def _short(text: str) -> str:
    return one_line(text, _LINE_MAX)


def _watchdog(line: WatchdogFired) -> str:
    if line.action is not WatchdogAction.BACK_OFF:
        return f"{line.action.value}: {_short(line.text)}"
    why = line.cause.value.replace("_", " ") if line.cause is not None else "failed"
    return f"{why}: asks again in {max(line.until - line.t, 0) / 1000:.1f} s"


def _reminder(line: ContextReminded) -> str:
    whole = f" of {count(line.window)}" if line.window else ""
    share = f" ({percent(line.used / line.window, 0)})" if line.window else ""
    return f"its window holds {count(line.used)}{whole} tokens{share}"


def _reply(line: ModelReturned) -> str:
    parts = [f"turn {line.turn}, {line.finish.value}"]
    if line.calls:
        parts.append(f"asks for {', '.join(call.name for call in line.calls)}")
    if line.text:
        parts.append(f"says {line.text}")
    return ", ".join(parts)
