"""The tools of a drive, laid out: the real tool face."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import msgspec

from perdure.agent.drive.ports import Ticket
from perdure.agent.drive.tools.cap import capped
from perdure.agent.drive.tools.permit import why_refused
from perdure.agent.drive.tools.port import ANYTHING, Prepared, Tool
from perdure.agent.drive.tools.signature import ArgumentsError
from perdure.agent.drive.tools.workspace import PathRefusedError
from perdure.base.errors import UsageError
from perdure.base.text import one_line, storable
from perdure.records.drive import EndCause, PlacePolicy, RunPolicy
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall, ToolSpec, Writes

OUTPUT_MAX = 32 * 1024

_ERROR_WIDTH_MAX = 2000


@dataclass(frozen=True, slots=True)
class _Running:
    name: str
    grace_s: float


class Bench:
    """Tools in a fixed order. It has no clock and writes no line."""

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        place: PlacePolicy | None = None,
        output_max: int = OUTPUT_MAX,
    ) -> None:
        """Lay them out.

        Raises:
            UsageError: two have the same name.

        """
        self._tools = {tool.spec.name: tool for tool in tools}
        if len(self._tools) < len(tools):
            names = [tool.spec.name for tool in tools]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise UsageError(f"Two tools have the same name: {', '.join(twice)}.")
        self._place = place or PlacePolicy()
        self._output_max = output_max
        self._specs = tuple(tool.spec for tool in tools)
        self._left: list[str] = []
        self._running: dict[asyncio.Task[ToolAnswer], _Running] = {}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is shown them, in the order in which they were given."""
        return self._specs

    def effect(self, call: ToolCall) -> Effect | None:
        """Give the declared effect; None for a tool that is not there."""
        tool = self._tools.get(call.name)
        return tool.traits.may.effect if tool else None

    def writes(self, call: ToolCall) -> Writes:
        """Give what a call may write; of what cannot be read, the most that its tool may."""
        tool = self._tools.get(call.name)
        if tool is None:
            return ANYTHING
        try:
            return tool.prepare(call).may.writes
        except (ArgumentsError, PathRefusedError):
            return tool.traits.may.writes

    def admit(
        self, call: ToolCall, policy: RunPolicy, *, checkpointed: bool
    ) -> Ticket | ToolAnswer:
        """Let a call through, or answer it at once: refused, or an error in its arguments."""
        found = self._prepared(call)
        if isinstance(found, ToolAnswer):
            return found
        _, prepared = found
        why = why_refused(prepared.may, self._place, policy, checkpointed=checkpointed)
        if why is not None:
            return ToolAnswer(status=AnswerStatus.REFUSED, text=why)
        task = (
            str(prepared.arguments.get("task", "")) if prepared.may.effect is Effect.SPAWN else ""
        )
        return Ticket(subject=prepared.subject, task=task)

    async def run(self, call: ToolCall) -> ToolAnswer:
        """Run a call that was let through, for as long as its tool's deadline lets it."""
        found = self._prepared(call)
        if isinstance(found, ToolAnswer):
            return found
        tool, prepared = found
        task = asyncio.create_task(tool.run(call, prepared), name=f"tool {call.name}")
        self._running[task] = _Running(f"{call.name} ({call.id})", tool.traits.grace_s)
        try:
            done, _ = await asyncio.wait({task}, timeout=tool.traits.deadline_s)
            if not done:
                await self._end(task)
                return _too_late(tool, prepared)
            return self._answered(call, prepared, task)
        except asyncio.CancelledError:
            await self._end(task)
            raise
        finally:
            self._running.pop(task, None)

    def account(self, call: ToolCall, answer: ToolAnswer) -> ToolAnswer:
        """Give an answer as the model is told it: storable, and capped with a visible mark."""
        tool = self._tools.get(call.name)
        own = tool.traits.output_max if tool else None
        safe = msgspec.structs.replace(answer, text=storable(answer.text))
        return capped(safe, self._output_max if own is None else own)

    async def close(self, cause: EndCause) -> tuple[str, ...]:  # noqa: ARG002 - it is the same for all
        """Kill what still runs. Named is that, and what was killed when its call was cancelled."""
        for task, running in list(self._running.items()):
            self._left.append(running.name)
            await self._end(task)
        for tool in self._tools.values():
            self._left += await tool.close()
        left, self._left = tuple(dict.fromkeys(self._left)), []
        return left

    def _prepared(self, call: ToolCall) -> tuple[Tool, Prepared] | ToolAnswer:
        tool = self._tools.get(call.name)
        if tool is None:
            return _error(self._unknown(call.name))
        try:
            return tool, tool.prepare(call)
        except ArgumentsError as error:
            listed = "\n".join(f"- {one_line(problem, 300)}" for problem in error.problems)
            return _error(
                f"{call.name} was not run. Its arguments are not what it takes:\n{listed}"
            )
        except PathRefusedError as error:
            return ToolAnswer(status=AnswerStatus.REFUSED, text=str(error))

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name, self._tools, n=3, cutoff=0.5)
        meant = f" Did you mean: {', '.join(near)}?" if near else ""
        there = ", ".join(self._tools) or "none"
        return f"There is no tool {one_line(name)!r}.{meant} There are: {there}."

    def _answered(
        self, call: ToolCall, prepared: Prepared, task: asyncio.Task[ToolAnswer]
    ) -> ToolAnswer:
        if task.cancelled():
            return _error(f"{call.name} failed: it cancelled itself.")
        error = task.exception()
        if error is not None:
            told = storable(f"{type(error).__name__}: {error}")[:_ERROR_WIDTH_MAX]
            return _error(f"{call.name} failed: {told}")
        answer = task.result()
        if answer.wrote is None and answer.status is AnswerStatus.OK:
            return msgspec.structs.replace(answer, wrote=prepared.may.writes)
        return answer

    async def _end(self, task: asyncio.Task[ToolAnswer]) -> None:
        """Tell a call to end, and wait for that. A cancellation is put off until then."""
        running = self._running[task]
        task.cancel()
        waiting = asyncio.ensure_future(asyncio.wait({task}, timeout=running.grace_s))
        cut: asyncio.CancelledError | None = None
        while not waiting.done():
            try:
                await asyncio.shield(waiting)
            except asyncio.CancelledError as error:
                cut = error
        if not task.done():
            self._left.append(running.name)
        elif not task.cancelled():
            task.exception()  # looked at, so that nobody is told that it never was
        if cut is not None:
            raise cut


def _error(text: str) -> ToolAnswer:
    return ToolAnswer(status=AnswerStatus.ERROR, text=text)


def _too_late(tool: Tool, prepared: Prepared) -> ToolAnswer:
    spent = (
        f"{tool.spec.name} took longer than {tool.traits.deadline_s:g} seconds and was given up."
    )
    if prepared.may.effect is Effect.READ:
        return _error(spent)
    text = (
        f"{spent} What it was to do may have happened, in part or in whole: look before you go on."
    )
    return ToolAnswer(status=AnswerStatus.UNKNOWN, text=text)
