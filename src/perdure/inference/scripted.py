"""A provider that says what it is told to say: for our tests and for users' own.

It takes a list of steps (one per call, in order), a mapping from model role to such a list, or a
function of the request. A step is a text, a tuple of tool calls, a `Reply`, a `Failure` or its
cause, or one of these after a `Delay`; `HANG` never comes back at all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

from perdure.base.clock import Clock, SystemClock
from perdure.base.errors import InternalError
from perdure.inference.telling import OnIncrement
from perdure.records.increment import Asked
from perdure.records.increment import Said as SaidPiece
from perdure.records.record import Record
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    FinishReason,
    Reply,
    Vectors,
)
from perdure.records.tools import ToolCall
from perdure.records.usage import Usage

SERVED: Final = "scripted"

_WORDS = re.compile(r"\S+\s*|\s+")


class _Hang(Enum):
    HANG = "hang"


HANG: Final = _Hang.HANG
"""A call that ignores its time limit: it ends only by being cancelled."""

Said: TypeAlias = str | tuple[ToolCall, ...] | Reply | Failure | FailureCause


class Delay(Record):
    """Wait on the provider's clock, then say `then`; a call whose time is up first times out."""

    seconds: float
    then: Said


Step: TypeAlias = Said | Delay | _Hang
Script: TypeAlias = Sequence[Step] | Mapping[str, Sequence[Step]] | Callable[[ChatRequest], Step]


def wrong_model(text: str, served: str = "another-model") -> Reply:
    """Make a good reply that comes from a model nobody asked for."""
    return Reply(text=text, served=served, usage=Usage(input_fresh=1, output=1))


class ScriptedProvider:
    """Says what its script says. `requests` and `embeddings` keep what it was asked, in order."""

    def __init__(
        self,
        script: Script,
        *,
        vectors: Callable[[EmbedRequest], Vectors | Failure] | None = None,
        clock: Clock | None = None,
        served: str = SERVED,
    ) -> None:
        """Take a script, and for embeddings a function; without one they are unsupported."""
        self._clock = clock if clock is not None else SystemClock()
        self._served = served
        self._vectors = vectors
        self._next_step = _reader(script)
        self.requests: list[ChatRequest] = []
        self.embeddings: list[EmbedRequest] = []
        self.opened = 0
        self.closed = 0

    @property
    def name(self) -> str:
        """What this provider is called in a study file."""
        return "scripted"

    @property
    def calls(self) -> int:
        """How many chat calls it was asked for, failed ones included."""
        return len(self.requests)

    async def open(self) -> None:
        """Count that it was opened."""
        self.opened += 1

    async def close(self) -> None:
        """Count that it was closed."""
        self.closed += 1

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        """Play the next step.

        Raises:
            InternalError: the script has no step left for this call.

        """
        self.requests.append(request)
        step = self._next_step(request)
        if step is HANG:
            await asyncio.Event().wait()
        if isinstance(step, Delay):
            await self._clock.sleep(min(step.seconds, timeout_s))
            if step.seconds >= timeout_s:
                return Failure(cause=FailureCause.TIMEOUT)
            step = step.then
        return self._say(step, request)

    async def stream(
        self, request: ChatRequest, timeout_s: float, on_increment: OnIncrement
    ) -> Reply | Failure:
        """Play the next step, told word by word, and then call by call.

        Raises:
            InternalError: the script has no step left for this call.

        """
        outcome = await self.chat(request, timeout_s)
        if isinstance(outcome, Reply):
            for word in _WORDS.findall(outcome.text):
                on_increment(SaidPiece(text=word))
                await asyncio.sleep(0)
            for index, call in enumerate(outcome.calls):
                on_increment(Asked(index=index, call=call))
        return outcome

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:  # noqa: ARG002
        """Give what the function for embeddings gives."""
        self.embeddings.append(request)
        if self._vectors is None:
            return Failure(cause=FailureCause.UNSUPPORTED)
        return self._vectors(request)

    def _say(self, said: Step, request: ChatRequest) -> Reply | Failure:
        if isinstance(said, Reply | Failure):
            return said
        if isinstance(said, FailureCause):
            return Failure(cause=said)
        if not isinstance(said, str | tuple):
            raise InternalError(f"A script cannot say {said!r}.")
        text, calls = (said, ()) if isinstance(said, str) else ("", said)
        return Reply(
            text=text,
            served=self._served,
            finish=FinishReason.TOOL_CALLS if calls else FinishReason.STOP,
            usage=Usage(input_fresh=_words_of(request), output=_words(text, calls)),
            calls=calls,
        )


def _words_of(request: ChatRequest) -> int:
    # Words stand in for tokens, so that costs are not all the same.
    sent = sum(_words(message.content, message.calls) for message in request.messages)
    return sent + sum(len(f"{spec.name} {spec.description}".split()) for spec in request.tools)


def _words(text: str, calls: tuple[ToolCall, ...]) -> int:
    return len(text.split()) + sum(1 + len(call.arguments.split()) for call in calls)


def _reader(script: Script) -> Callable[[ChatRequest], Step]:
    if callable(script):
        return script
    if isinstance(script, Mapping):
        by_role = {role: iter(steps) for role, steps in script.items()}
        return lambda request: _after(by_role.get(request.role, iter(())), request)
    steps = iter(script)
    return lambda request: _after(steps, request)


def _after(steps: Iterator[Step], request: ChatRequest) -> Step:
    for step in steps:
        return step
    raise InternalError(f"The script has no step left for a call of role {request.role!r}.")
