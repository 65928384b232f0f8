"""A model for drives that says what its script says, whole or piece by piece.

    model = ScriptedModel([calls("look"), "There is a door."])

A step is a text, a `Reply`, a `ModelFailedError`, a function of the request that gives one of
those, or one of these after a `Thinks` (an event is waited for first). A streamed reply is told in
pieces of its text and then its calls; `BreaksOff` is a stream that ends in the middle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perdure.agent.drive.ports import ModelFailedError
from perdure.base.errors import InternalError
from perdure.records.increment import Asked, Increment, Said
from perdure.records.request import ChatRequest, FailureCause, FinishReason, Reply
from perdure.records.tools import ToolCall
from perdure.records.usage import Usage

SERVED = "scripted"


@dataclass(frozen=True, slots=True)
class BreaksOff:
    """A stream tells the first so many of a reply's increments, and then fails."""

    reply: Reply
    after: int
    error: ModelFailedError | None = None


@dataclass(frozen=True, slots=True)
class Thinks:
    """The reply comes once an event is set. `entered` is set when the model begins to wait.

    With `after`, so many increments are told before the wait.
    """

    until: asyncio.Event
    then: Spoken
    entered: asyncio.Event | None = None
    after: int = 0


Spoken = str | Reply | ModelFailedError | BreaksOff
Step = Spoken | Thinks | Callable[[ChatRequest], Spoken | Thinks]


def calls(*asked: str | ToolCall | tuple[str, str], text: str = "", tag: str = "c") -> Reply:
    """Make a reply that asks for tools: each a name, a name with its arguments, or a whole call.

    Calls get the ids `c0`, `c1`, … unless they have one, with another `tag` in another turn.
    """
    made = tuple(
        one if isinstance(one, ToolCall) else _call(f"{tag}{place}", one)
        for place, one in enumerate(asked)
    )
    return Reply(
        text=text,
        served=SERVED,
        finish=FinishReason.TOOL_CALLS,
        usage=Usage(input_fresh=1, output=1),
        calls=made,
    )


def increments(reply: Reply, piece: int = 8) -> list[Increment]:
    """Cut a reply into what a stream would tell: its text in pieces, then its calls in order."""
    pieces = [reply.text[at : at + piece] for at in range(0, len(reply.text), piece)]
    asked = [Asked(index=index, call=call) for index, call in enumerate(reply.calls)]
    return [*(Said(text=text) for text in pieces), *asked]


class ScriptedModel:
    """Says its steps in order.

    `requests` holds what it was asked, `streamed` for each whether piece by piece; `cut` counts the
    calls that were cancelled under way.
    """

    def __init__(self, steps: Sequence[Step], *, name: str = SERVED, piece: int = 8) -> None:
        """Take the steps, and how many characters a piece of a stream has."""
        self._steps = iter(steps)
        self._name = name
        self._piece = piece
        self.requests: list[ChatRequest] = []
        self.streamed: list[bool] = []
        self.cut = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def chat(
        self, request: ChatRequest, on_increment: Callable[[Increment], None] | None
    ) -> Reply:
        """Play the next step.

        Raises:
            ModelFailedError: as the script says.
            InternalError: the script has no step left.

        """
        self.requests.append(request)
        self.streamed.append(on_increment is not None)
        step = next(self._steps, None)
        if step is None:
            raise InternalError(f"The script has no step left for request {len(self.requests)}.")
        if callable(step):
            step = step(request)
        told = 0
        if isinstance(step, Thinks):
            told = step.after
            await self._tell(step.then, 0, told, on_increment)
            if step.entered is not None:
                step.entered.set()
            try:
                await step.until.wait()
            except asyncio.CancelledError:
                self.cut += 1
                raise
            step = step.then
        if isinstance(step, ModelFailedError):
            raise step
        if isinstance(step, BreaksOff):
            await self._tell(step, told, step.after, on_increment)
            raise step.error or ModelFailedError(FailureCause.TRANSPORT, again=True)
        await self._tell(step, told, None, on_increment)
        return _reply(step)

    async def _tell(
        self,
        step: Spoken,
        start: int,
        end: int | None,
        on_increment: Callable[[Increment], None] | None,
    ) -> None:
        if on_increment is None or isinstance(step, ModelFailedError):
            return
        whole = step.reply if isinstance(step, BreaksOff) else _reply(step)
        for increment in increments(whole, self._piece)[start:end]:
            on_increment(increment)
            # What an increment sets off may run before the next one is there.
            await asyncio.sleep(0)


def _reply(step: str | Reply) -> Reply:
    if isinstance(step, Reply):
        return step
    usage = Usage(input_fresh=1, output=max(len(step.split()), 1))
    return Reply(text=step, served=SERVED, usage=usage)


def _call(call_id: str, asked: str | tuple[str, str]) -> ToolCall:
    name, arguments = asked if isinstance(asked, tuple) else (asked, "{}")
    return ToolCall(id=call_id, name=name, arguments=arguments)
