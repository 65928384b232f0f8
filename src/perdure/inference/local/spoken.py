"""What a local model says, read: it asks for tools in its own words, in one of the known forms.

A form is what chat templates teach: objects between `<tool_call>` marks, one object that lists its
`tool_calls`, or one that is a call itself. What only looks like one is text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from perdure.base.text import storable
from perdure.inference.call_ids import ids_in, own_id
from perdure.records.request import Message
from perdure.records.tools import ToolCall, ToolSpec

_MARKED = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


class Spoken(NamedTuple):
    """A text, and the tools that it asks for beside that."""

    text: str
    calls: tuple[ToolCall, ...] = ()


def read_spoken(text: str, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> Spoken:
    """Read what a model says that was offered tools. Only those can be asked for."""
    names = {spec.name for spec in tools}
    if not names:
        return Spoken(text)
    marked = _MARKED.findall(text)
    found = [_object(part) for part in marked]
    rest = _MARKED.sub("", text).strip()
    if not marked and (whole := _object(text)) is not None:
        listed = whole.get("tool_calls")
        found = listed if isinstance(listed, list) else [whole]
        rest = str(whole.get("content") or "") if isinstance(listed, list) else ""
    calls = _calls(found, names, ids_in(messages))
    return Spoken(rest, calls) if calls else Spoken(text)


def _calls(
    found: Sequence[Any], names: Collection[str], taken: Collection[str]
) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    ids = set(taken)
    for one in found:
        if not isinstance(one, dict) or one.get("name") not in names:
            return ()
        arguments = one.get("arguments", one.get("parameters"))
        written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        identity = own_id(storable(str(one.get("id") or "")), ids)
        ids.add(identity)
        calls.append(ToolCall(id=identity, name=one["name"], arguments=storable(written)))
    return tuple(calls)


def _object(text: str) -> dict[str, Any] | None:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None
