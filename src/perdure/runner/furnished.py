"""The tools that a world gives to its personas, as a tick's jobs use them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from perdure.base.errors import PluginError
from perdure.records.tools import ToolAnswer, ToolCall, WorldTool
from perdure.runner.endings import blame, theirs
from perdure.world import Furnished


class Furniture:
    """The tools of one world in one tick. The world is asked by one job at a time."""

    def __init__(self, world: object, reference: str, place: str) -> None:
        """Take the world; one without tools gives none. `reference` and `place` name it."""
        self._world = world if isinstance(world, Furnished) else None
        self._reference = reference
        self._place = place
        self._turn = asyncio.Lock()

    def of(self, persona: str) -> tuple[WorldTool, ...]:
        """Name the tools of a persona.

        Raises:
            PluginError: what the world names are no tools, or two of them share a name.

        """
        if self._world is None:
            return ()
        with blame(self._reference, self._place):
            tools: Sequence[Any] = tuple(self._world.tools(persona))
        names = {tool.spec.name for tool in tools if isinstance(tool, WorldTool)}
        if len(names) != len(tools):
            raise PluginError(
                "Its tools are not WorldTools with a name of their own each.",
                where=f"{self._reference}, {self._place}",
            )
        return tuple(tools)

    async def use(self, persona: str, call: ToolCall, did: Sequence[ToolCall]) -> ToolAnswer:
        """Ask the world to answer a call, off the event loop.

        Raises:
            PluginError: the world raised, or gave something else than an answer.

        """
        assert self._world is not None, "there is a tool to be used"
        async with self._turn:
            answer = await theirs(
                self._reference, self._place, partial(self._world.use, persona, call, tuple(did))
            )
        if not isinstance(answer, ToolAnswer):
            raise PluginError(
                f"Its answer to a call of {call.name!r} is a {type(answer).__name__}.",
                where=f"{self._reference}, {self._place}",
                remedy="`use` returns a ToolAnswer.",
            )
        return answer
