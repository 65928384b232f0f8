"""Tools on the wire: how they are offered and answered, and how calls of them are read."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from perdure.base.text import storable
from perdure.inference.call_ids import own_id
from perdure.inference.http.key import Key
from perdure.records.request import Message
from perdure.records.tools import ToolCall, ToolSpec

FUNCTION = "function"
NO_ARGUMENTS = "{}"
# Far more than any model asks for in one reply.
CALLS_MAX = 1_024

_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
_NAME_CHARACTERS_MAX = 200


class Function(msgspec.Struct):
    """What is called, as endpoints say it."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class Called(msgspec.Struct):
    """One call, as endpoints say it. `index` is its place, where they come in pieces."""

    id: str | None = None
    type: str | None = None
    function: Function | None = None
    index: int | None = None


def tool_fields(spec: ToolSpec) -> dict[str, Any]:
    """Give a tool as it is offered. One that takes nothing says so."""
    described = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters or _NO_PARAMETERS,
    }
    return {"type": FUNCTION, "function": described}


def message_fields(message: Message) -> dict[str, Any]:
    """Give a message as it is sent. One that only calls tools has no content."""
    if message.call_id:
        return {
            "role": message.role,
            "tool_call_id": message.call_id,
            "content": message.content,
        }
    fields: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        fields["content"] = message.content or None
        fields["tool_calls"] = [_call_fields(call) for call in message.calls]
    return fields


def read_calls(
    calls: Sequence[Called], taken: Collection[str], key: Key
) -> tuple[ToolCall, ...] | None:
    """Read calls in their order; None if one is none of a function with a name, or if too many.

    No two calls of a conversation have one id: a call that has none, or one that is `taken`, gets
    one that follows from how many ids there are.
    """
    if len(calls) > CALLS_MAX:
        return None
    read: list[ToolCall] = []
    ids = set(taken)
    for call in calls:
        function = call.function
        if call.type not in {None, FUNCTION} or function is None or not function.name:
            return None
        name = key.scrub(storable(function.name))
        if len(name) > _NAME_CHARACTERS_MAX:
            return None
        identity = own_id(key.scrub(storable(call.id or "")), ids)
        ids.add(identity)
        read.append(ToolCall(id=identity, name=name, arguments=_arguments(function.arguments, key)))
    return tuple(read)


def whole_arguments(given: dict[str, Any]) -> str:
    """Write arguments that came as an object as the text that they should have been."""
    return json.dumps(given, sort_keys=True, separators=(",", ":"))


def _call_fields(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": FUNCTION, "function": function}


def _arguments(given: str | dict[str, Any] | None, key: Key) -> str:
    if isinstance(given, dict):
        given = whole_arguments(given)
    text = key.scrub(storable(given or ""))
    return text if text.strip() else NO_ARGUMENTS
