"""Which words of a line come from a model, a tool or a person, and are stored without secrets."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.records.drive import (
    ChildStarted,
    DriveLine,
    DriverFailed,
    HandoffWritten,
    HarnessAnswered,
    HarnessReported,
    Line,
    ModelReturned,
    ProviderFailed,
    RunStarted,
    SteerReceived,
    ToolCalled,
    ToolResult,
)
from perdure.records.tools import ToolCall

_FOREIGN: dict[type[Line], tuple[str, ...]] = {
    RunStarted: ("task", "goal"),
    SteerReceived: ("text",),
    ModelReturned: ("text", "calls"),
    ToolCalled: ("call", "subject"),
    ToolResult: ("text",),
    ProviderFailed: ("text",),
    DriverFailed: ("text",),
    ChildStarted: ("task",),
    HarnessReported: ("text", "detail"),
    HarnessAnswered: ("text",),
    HandoffWritten: ("overview", "progress", "context", "next_step"),
}


def without_secrets(line: DriveLine, secrets: Callable[[str], str]) -> DriveLine:
    """Give a line as it is stored. What is driven goes on with the line as it was."""
    names = _FOREIGN.get(type(line), ())
    changed = {name: _scanned(getattr(line, name), secrets) for name in names}
    return msgspec.structs.replace(line, **changed) if changed else line


def _scanned(
    value: str | ToolCall | tuple[ToolCall, ...], secrets: Callable[[str], str]
) -> str | ToolCall | tuple[ToolCall, ...]:
    if isinstance(value, str):
        return secrets(value)
    if isinstance(value, ToolCall):
        return msgspec.structs.replace(value, arguments=secrets(value.arguments))
    return tuple(msgspec.structs.replace(call, arguments=secrets(call.arguments)) for call in value)
