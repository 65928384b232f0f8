"""Short ways to call a tool in a test."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from perdure.agent.drive.ports import Ticket, Tools
from perdure.records.drive import RunPolicy
from perdure.records.tools import ToolAnswer, ToolCall

T = TypeVar("T")


def a_call(
    name: str, text: str | None = None, /, *, call_id: str = "c0", **arguments: Any
) -> ToolCall:
    """Make a call, of given arguments or of a JSON text as it is."""
    written = msgspec.json.encode(arguments).decode() if text is None else text
    return ToolCall(id=call_id, name=name, arguments=written)


def admitted(tools: Tools, call: ToolCall, policy: RunPolicy | None = None) -> Ticket | ToolAnswer:
    """Ask for a call to be let through, with a checkpoint."""
    return tools.admit(call, policy or RunPolicy(), checkpointed=True)


async def answered(tools: Tools, call: ToolCall) -> ToolAnswer:
    """Bring a call through all three steps."""
    ticket = admitted(tools, call)
    answer = ticket if isinstance(ticket, ToolAnswer) else await tools.run(call)
    return tools.account(call, answer)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, and for half a minute at most."""

    async def limited() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(limited())
