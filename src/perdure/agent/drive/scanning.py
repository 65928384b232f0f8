"""Which words of a line come from a model, a tool or a person, and are stored without secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from perdure.base.errors import InternalError
from perdure.records.drive import (
    CheckpointCommitted,
    ChildStarted,
    CommandsKilled,
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
from perdure.records.tools import ToolCall, Writes

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
    CheckpointCommitted: ("files", "scope"),
    CommandsKilled: ("commands",),
    HandoffWritten: ("must_read", "overview", "progress", "context", "next_step"),
}


def without_secrets(line: DriveLine, secrets: Callable[[str], str]) -> DriveLine:
    """Give a line as it is stored. What is driven goes on with the line as it was."""
    names = _FOREIGN.get(type(line), ())
    changed = {name: _scanned(getattr(line, name), secrets) for name in names}
    return msgspec.structs.replace(line, **changed) if changed else line


def _scanned(value: Any, secrets: Callable[[str], str]) -> Any:
    match value:
        case str():
            return secrets(value)
        case ToolCall():
            return msgspec.structs.replace(value, arguments=secrets(value.arguments))
        case Writes():
            return msgspec.structs.replace(value, paths=_scanned(value.paths, secrets))
        case tuple():
            return tuple(_scanned(one, secrets) for one in value)
    raise InternalError(f"Nothing is known of secrets in a {type(value).__name__}.")
