"""Tools that answer what they are told to answer: a drive's tool face without any tool behind it.

    tools = ScriptedTools(
        [ScriptedTool("look"), ScriptedTool("write", writes=Writes(anywhere=True))],
        answers={"look": ["a door", ToolAnswer(status=AnswerStatus.ERROR, text="too dark")]},
    )

An answer is a text, a `ToolAnswer`, an exception that the tool meets (an error answer, as the port
asks for), `Breaks` (the face itself raises), `Slow` (others run that many times first) or `Block`
(an event is waited for first). Answers are looked up by the call's id, then by the tool's name:
either one for every call, or a list with one for each. Without any, a tool says its own name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from perdure.agent.drive.ports import Ticket
from perdure.agent.drive.tools.cap import capped
from perdure.agent.drive.tools.permit import May, why_refused
from perdure.base.errors import InternalError
from perdure.records.drive import EndCause, PlacePolicy, RunPolicy
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall, ToolSpec, Writes

NOTHING = Writes()


@dataclass(frozen=True, slots=True)
class ScriptedTool:
    """A tool by its declaration. What writes is `write` unless another effect is said."""

    name: str
    writes: Writes = NOTHING
    effect: Effect | None = None
    deletes: bool = False
    description: str = ""
    parameters: dict[str, object] = field(default_factory=lambda: {"type": "object"})

    @property
    def may(self) -> May:
        """What any call of it may do."""
        usual = Effect.READ if self.writes.is_nothing else Effect.WRITE
        effect = self.effect if self.effect is not None else usual
        return May(effect=effect, writes=self.writes, deletes=self.deletes)


@dataclass(frozen=True, slots=True)
class Breaks:
    """The face itself raises, which the port rules out: a fault of the driver's own parts."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Slow:
    """Others run so many times before the answer is there."""

    rounds: int
    then: Said = "done"


@dataclass(frozen=True, slots=True)
class Block:
    """The answer is there once an event is set. `entered` is set when the tool begins to wait."""

    until: asyncio.Event
    then: Said = "done"
    entered: asyncio.Event | None = None


Said = str | ToolAnswer | Exception | Breaks
Answer = Said | Slow | Block
Answers = Mapping[str, Answer | Sequence[Answer]] | Callable[[ToolCall], Answer]


class ScriptedTools:
    """Says what its script says, and keeps what was asked of it, in order.

    `admitted`, `started`, `finished`, `cut` (cancelled under way) and `accounted` hold calls;
    `closed` the causes that it was closed with. `commands` are those that a close finds running.
    `fails` lets a method of the face itself raise, by its name.
    """

    def __init__(
        self,
        tools: Sequence[ScriptedTool] = (),
        *,
        answers: Answers | None = None,
        place: PlacePolicy | None = None,
        output_max: int | None = None,
        commands: Sequence[str] = (),
        fails: Mapping[str, Exception] | None = None,
    ) -> None:
        """Take the tools, in the order in which they are shown, and what they answer."""
        self._tools = {tool.name: tool for tool in tools}
        self._answer_to = answers if callable(answers) else _reader(answers or {})
        self._place = place or PlacePolicy()
        self._output_max = output_max
        self._commands = tuple(commands)
        self._fails = dict(fails or {})
        self.admitted: list[ToolCall] = []
        self.started: list[ToolCall] = []
        self.finished: list[ToolCall] = []
        self.cut: list[ToolCall] = []
        self.accounted: list[ToolCall] = []
        self.closed: list[EndCause] = []

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools, in the order in which they were given."""
        self._may_fail("specs")
        return tuple(
            ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)
            for tool in self._tools.values()
        )

    def effect(self, call: ToolCall) -> Effect | None:
        """Give the declared effect; None for a tool that is not there."""
        self._may_fail("effect")
        tool = self._tools.get(call.name)
        return tool.may.effect if tool else None

    def writes(self, call: ToolCall) -> Writes:
        """Give the declared writes; a tool that is not there may write anything."""
        self._may_fail("writes")
        tool = self._tools.get(call.name)
        return tool.writes if tool else Writes(anywhere=True)

    def admit(
        self, call: ToolCall, policy: RunPolicy, *, checkpointed: bool
    ) -> Ticket | ToolAnswer:
        """Let a call through, by the rules that hold for real tools."""
        self._may_fail("admit")
        tool = self._tools.get(call.name)
        if tool is None:
            there = ", ".join(self._tools) or "none"
            text = f"There is no tool {call.name!r}. There are: {there}."
            return ToolAnswer(status=AnswerStatus.ERROR, text=text)
        why = why_refused(tool.may, self._place, policy, checkpointed=checkpointed)
        if why is not None:
            return ToolAnswer(status=AnswerStatus.REFUSED, text=why)
        self.admitted.append(call)
        task = call.arguments if tool.may.effect is Effect.SPAWN else ""
        return Ticket(subject=call.arguments, task=task)

    async def run(self, call: ToolCall) -> ToolAnswer:
        """Play the call's answer.

        Raises:
            InternalError: the script has no answer left for this call.

        """
        self.started.append(call)
        answer = self._answer_to(call)
        try:
            if isinstance(answer, Slow):
                for _ in range(answer.rounds):
                    await asyncio.sleep(0)
                answer = answer.then
            elif isinstance(answer, Block):
                if answer.entered is not None:
                    answer.entered.set()
                await answer.until.wait()
                answer = answer.then
        except asyncio.CancelledError:
            self.cut.append(call)
            raise
        if isinstance(answer, Breaks):
            raise answer.error
        self.finished.append(call)
        return self._said(call, answer)

    def account(self, call: ToolCall, answer: ToolAnswer) -> ToolAnswer:
        """Give the answer as it is, or cut to `output_max` bytes where that was given."""
        self._may_fail("account")
        self.accounted.append(call)
        return answer if self._output_max is None else capped(answer, self._output_max)

    async def close(self, cause: EndCause) -> tuple[str, ...]:
        """Note the cause, and name the commands that were said to be running."""
        self._may_fail("close")
        self.closed.append(cause)
        killed, self._commands = self._commands, ()
        return killed

    def _may_fail(self, method: str) -> None:
        error = self._fails.get(method)
        if error is not None:
            raise error

    def _said(self, call: ToolCall, answer: str | ToolAnswer | Exception) -> ToolAnswer:
        if isinstance(answer, ToolAnswer):
            return answer
        if isinstance(answer, Exception):
            text = f"{call.name} failed: {type(answer).__name__}: {answer}"
            return ToolAnswer(status=AnswerStatus.ERROR, text=text)
        return ToolAnswer(status=AnswerStatus.OK, text=answer, wrote=self.writes(call))


def _reader(script: Mapping[str, Answer | Sequence[Answer]]) -> Callable[[ToolCall], Answer]:
    steps: dict[str, Iterator[Answer]] = {
        key: iter(answers)
        for key, answers in script.items()
        if isinstance(answers, Sequence) and not isinstance(answers, str)
    }

    def answer_to(call: ToolCall) -> Answer:
        for key in (call.id, call.name):
            if key in steps:
                for answer in steps[key]:
                    return answer
                raise InternalError(f"The script has no answer left for {key!r}.")
            if key in script:
                single = script[key]
                assert isinstance(single, str) or not isinstance(single, Sequence)
                return single
        return call.name

    return answer_to
