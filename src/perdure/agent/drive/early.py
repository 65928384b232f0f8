"""Reads that start while their reply is still being said. They pass no gate and leave no line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from perdure.agent.drive.ports import (
    Tools,
)
from perdure.records.increment import Asked, Increment
from perdure.records.tools import Effect, ToolAnswer, ToolCall


class Display:
    """Shows what is said, where somebody looks on; a display that fails is let go, and counted."""

    def __init__(self, sink: Callable[[Increment], None] | None) -> None:
        self._sink = sink
        self.failures = 0

    @property
    def is_on(self) -> bool:
        """Whether somebody looks on, or ever did: a display that failed changes no request."""
        return self._sink is not None or self.failures > 0

    def show(self, increment: Increment) -> None:
        """Show a piece of what is being said."""
        if self._sink is None:
            return
        try:
            self._sink(increment)
        except Exception:  # noqa: BLE001 - whatever a display does, the call goes on; it is counted
            self._sink = None
            self.failures += 1


class EarlyReads:
    """Starts the calls at the front of a reply that only read, as soon as each is complete."""

    def __init__(self, tools: Tools, display: Display) -> None:
        self._tools = tools
        self._display = display
        self._front = 0
        self.started: dict[int, tuple[ToolCall, asyncio.Task[ToolAnswer]]] = {}

    def hear(self, increment: Increment) -> None:
        """Take a piece of a reply in."""
        self._display.show(increment)
        if not isinstance(increment, Asked) or increment.index != self._front:
            return
        if self._tools.effect(increment.call) is not Effect.READ:
            self._front = -1
            return
        self._front += 1
        self.started[increment.index] = (
            increment.call,
            asyncio.ensure_future(self._tools.run(increment.call)),
        )

    async def drop(self) -> None:
        """Cancel what nobody asked for in the end, and wait until it is gone."""
        tasks = [task for _, task in self.started.values()]
        self.started = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
