"""What a drive inside a tick works with: a counter, the job's models, the world's tools, limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from difflib import get_close_matches

import msgspec

from perdure.agent.drive.ports import (
    Interrupt,
    ModelFailedError,
    Place,
    SafePoint,
    Stop,
    Ticket,
    Tools,
)
from perdure.agent.drive.tools.cap import capped
from perdure.agent.port import CallFailedError, JobModels
from perdure.base.text import one_line
from perdure.records.drive import DriveLine, EndCause, RunPolicy
from perdure.records.increment import Increment
from perdure.records.request import ChatRequest, Reply
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall, ToolSpec, Writes

_BYTES_MAX = 20_000
_SUBJECT_MAX = 120
_NOTHING = Writes()


class Counter:
    """The moments of a tick: 0, 1, 2 and so on. Real durations are no part of a record."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self) -> int:
        """Give the next one."""
        self._next += 1
        return self._next - 1


async def never(_: int) -> None:
    """Wait for nothing: calls that fail are made again by the inference host."""


class TickLedger:
    """Keeps a drive's lines until its tick is written, all at once."""

    def __init__(self) -> None:
        self.lines: list[DriveLine] = []
        self.blobs: dict[str, bytes] = {}

    async def append(self, lines: Sequence[DriveLine], blobs: dict[str, bytes]) -> None:
        """Keep them."""
        self.lines += lines
        self.blobs.update(blobs)


class JobModel:
    """The models of a job, as a drive calls them: one call after the other, for one purpose."""

    def __init__(self, models: JobModels, purpose: str, name: str) -> None:
        self._models = models
        self._purpose = purpose
        self.name = name

    async def chat(
        self,
        request: ChatRequest,
        on_increment: Callable[[Increment], None] | None,  # noqa: ARG002 - nobody looks on
    ) -> Reply:
        """Ask for one reply; the host has made every attempt that could help.

        Raises:
            ModelFailedError: there is none.

        """
        try:
            return await self._models.chat(
                self._purpose,
                request.messages,
                role=request.role,
                tokens_max=request.tokens_max,
                temperature=request.temperature,
                tools=request.tools,
            )
        except CallFailedError as failed:
            raise ModelFailedError(failed.cause, again=False) from failed


class TurnLimits:
    """The limits of a turn, as they arrive at its safe points. Nothing halts a turn in a tick."""

    def __init__(self, models: JobModels) -> None:
        self._models = models

    def at(self, place: Place) -> Sequence[Interrupt]:
        """Say before a further request whether a limit is reached."""
        if place.point is not SafePoint.BEFORE_ASSEMBLE:
            return ()
        cause = self._models.limit()
        return () if cause is None else (Stop(cause=cause, by="study"),)

    async def halted(self) -> Stop:
        """Never come."""
        await asyncio.Event().wait()
        raise AssertionError


class WorldTools:
    """The tools that a world gives to a persona. `did` are its actions so far in this tick."""

    def __init__(self, models: JobModels) -> None:
        self._models = models
        self._acts = {tool.spec.name: tool.acts for tool in models.tools}
        self.did: list[ToolCall] = []

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is shown them."""
        return tuple(tool.spec for tool in self._models.tools)

    def effect(self, call: ToolCall) -> Effect | None:
        """Say whether a call looks or acts."""
        acts = self._acts.get(call.name)
        return None if acts is None else Effect.WRITE if acts else Effect.READ

    def writes(self, call: ToolCall) -> Writes:  # noqa: ARG002 - the port's signature
        """Write nothing outside: an action is merged by the world's next step."""
        return _NOTHING

    def admit(
        self, call: ToolCall, policy: RunPolicy, *, checkpointed: bool
    ) -> Ticket | ToolAnswer:
        """Let a call through that names a tool and has arguments that can be read."""
        del policy, checkpointed  # nothing here leaves the world
        if call.name not in self._acts:
            return _no_tool(call.name, list(self._acts))
        try:
            read = msgspec.json.decode(call.arguments.encode(errors="replace") or b"{}")
        except (msgspec.MsgspecError, RecursionError) as error:
            return _wrong(f"The arguments of {call.name} are not JSON: {error}.")
        if not isinstance(read, dict):
            return _wrong(f"The arguments of {call.name} are an object, by name.")
        return Ticket(subject=one_line(call.arguments, _SUBJECT_MAX))

    async def run(self, call: ToolCall) -> ToolAnswer:
        """Ask the world; an action that it accepts is done."""
        answer = await self._models.use(call, tuple(self.did))
        if self._acts[call.name] and answer.status is AnswerStatus.OK:
            self.did.append(call)
        return answer

    def account(self, call: ToolCall, answer: ToolAnswer) -> ToolAnswer:  # noqa: ARG002
        """Give an answer as it is told, cut to what a prompt can hold."""
        return capped(answer, _BYTES_MAX)

    async def close(self, cause: EndCause) -> tuple[str, ...]:  # noqa: ARG002
        """Leave nothing running."""
        return ()


class BothTools:
    """The tools of a world, and then those outside it."""

    def __init__(self, world: Tools, outside: Tools) -> None:
        self._world = world
        self._outside = outside
        self._names = frozenset(spec.name for spec in outside.specs)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is shown them."""
        return (*self._world.specs, *self._outside.specs)

    def effect(self, call: ToolCall) -> Effect | None:
        """Say what a call may do."""
        return self._of(call).effect(call)

    def writes(self, call: ToolCall) -> Writes:
        """Say what a call may write."""
        return self._of(call).writes(call)

    def admit(
        self, call: ToolCall, policy: RunPolicy, *, checkpointed: bool
    ) -> Ticket | ToolAnswer:
        """Let a call through, or answer it at once."""
        names = [spec.name for spec in self.specs]
        if call.name not in names:
            return _no_tool(call.name, names)
        return self._of(call).admit(call, policy, checkpointed=checkpointed)

    async def run(self, call: ToolCall) -> ToolAnswer:
        """Run a call that was let through."""
        return await self._of(call).run(call)

    def account(self, call: ToolCall, answer: ToolAnswer) -> ToolAnswer:
        """Give an answer as the model is told it."""
        return self._of(call).account(call, answer)

    async def close(self, cause: EndCause) -> tuple[str, ...]:
        """Leave nothing running."""
        return (*await self._world.close(cause), *await self._outside.close(cause))

    def _of(self, call: ToolCall) -> Tools:
        return self._outside if call.name in self._names else self._world


def _no_tool(name: str, names: Sequence[str]) -> ToolAnswer:
    near = get_close_matches(name, names) or list(names)
    return _wrong(f"There is no tool {name!r}. There is: {', '.join(near) or 'none'}.")


def _wrong(text: str) -> ToolAnswer:
    return ToolAnswer(status=AnswerStatus.ERROR, text=text)
