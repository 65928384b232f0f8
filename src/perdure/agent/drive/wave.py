"""The calls of one reply: let through in order, reads at the front together, recorded in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from perdure.agent.drive.halting import Halt
from perdure.agent.drive.ports import Child, Stop, Ticket, Tools
from perdure.agent.drive.scribe import Scribe
from perdure.agent.pool import gather_bounded
from perdure.base.crashpoints import crashpoint
from perdure.records.drive import DriveLine, RunPolicy, ToolCalled, ToolResult, child_id
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall

_CUT = "The call was cut by a halt before it answered."
_CUT_ACTING = f"{_CUT} What it had done by then is done: its outcome is unknown."
_NO_SPAWN = "Work cannot be handed down here: do it yourself, or say why it is not done."
_HANDED_DOWN = "The work is handed down to {child}. Its report follows when it has ended."


class Wave:
    """One wave of a turn: `children` are the drives that it asked for, `results` its answers."""

    def __init__(
        self,
        *,
        turn: int,
        calls: Sequence[ToolCall],
        tools: Tools,
        policy: RunPolicy,
        has_net: bool,
        can_spawn: bool,
        scribe: Scribe,
        halt: Halt,
        ask: Callable[[int], Stop | None],
        record: Callable[[DriveLine], int],
        early: Mapping[int, tuple[ToolCall, asyncio.Task[ToolAnswer]]],
        concurrent: bool,
    ) -> None:
        self._turn = turn
        self._calls = calls
        self._tools = tools
        self._policy = policy
        self._has_net = has_net
        self._can_spawn = can_spawn
        self._scribe = scribe
        self._halt = halt
        self._ask = ask
        self._record = record
        self._early = early
        self._concurrent = concurrent
        self._has_acted = False
        self.children: list[Child] = []
        self.results: list[tuple[AnswerStatus, str]] = []

    async def run(self) -> Stop | None:
        """Run the calls in order; give the stop that ended the wave, if one did."""
        leading = len(
            list(takewhile(lambda call: self._tools.effect(call) is Effect.READ, self._calls))
        )
        stop = await self._run_reads(leading)
        for index in range(leading, len(self._calls)):
            if stop is not None:
                break
            stop = self._ask(index) or await self._run_one(index)
        if self._has_acted:
            # The intent of the next call keeps the result of the one before. The last has none.
            await self._scribe.flush()
        return stop

    async def _run_reads(self, count: int) -> Stop | None:
        """Run the reads that a reply begins with: let in by order, run together, told in order."""
        stop = None
        called: list[tuple[ToolCalled, Ticket | ToolAnswer]] = []
        for index in range(count):
            stop = self._ask(index)
            if stop is not None:
                break
            call = self._calls[index]
            verdict = self._admit(call)
            called.append((self._called(call, verdict), verdict))

        async def answer_to(index: int) -> ToolAnswer:
            line, verdict = called[index]
            return await self._answer(index, line.call, verdict)

        answers = await gather_bounded(
            range(len(called)), answer_to, workers_max=len(called) if self._concurrent else 1
        )
        for (line, _), answer in zip(called, answers, strict=True):
            self._record(line)
            self._answered(line.call, answer)
        return stop or (self._halt.stop if called else None)

    async def _run_one(self, index: int) -> Stop | None:
        """Run a call that may act. What it is about to do is durable before it does it."""
        call, effect = self._calls[index], self._tools.effect(self._calls[index])
        verdict = self._admit(call)
        if effect is Effect.SPAWN and not self._can_spawn:
            verdict = ToolAnswer(status=AnswerStatus.REFUSED, text=_NO_SPAWN)
        self._record(self._called(call, verdict))
        if isinstance(verdict, Ticket) and effect is Effect.SPAWN:
            answer = self._handed_down(call, verdict)
        else:
            acts = isinstance(verdict, Ticket) and effect is not Effect.READ
            if acts:
                await self._scribe.flush()
                crashpoint("drive.before-tool")
                self._has_acted = True
            answer = await self._answer(index, call, verdict)
            if acts:
                crashpoint("drive.tool-ran")
        self._answered(call, answer)
        return self._halt.stop

    def _admit(self, call: ToolCall) -> Ticket | ToolAnswer:
        return self._tools.admit(call, self._policy, checkpointed=self._has_net)

    async def _answer(self, index: int, call: ToolCall, verdict: Ticket | ToolAnswer) -> ToolAnswer:
        if isinstance(verdict, ToolAnswer):
            return verdict
        early = self._early.get(index)
        is_early = early is not None and early[0] == call
        work = _outcome(early[1]) if early is not None and is_early else self._tools.run(call)
        answer = await self._halt.race(work)
        if isinstance(answer, ToolAnswer):
            return answer
        if self._tools.effect(call) is Effect.READ:
            return ToolAnswer(status=AnswerStatus.ERROR, text=_CUT)
        return ToolAnswer(status=AnswerStatus.UNKNOWN, text=_CUT_ACTING)

    def _handed_down(self, call: ToolCall, ticket: Ticket) -> ToolAnswer:
        child = child_id(self._scribe.run, self._turn, len(self.children))
        self.children.append(
            Child(run=child, call_id=call.id, task=ticket.task, parent=self._scribe.run)
        )
        return ToolAnswer(status=AnswerStatus.OK, text=_HANDED_DOWN.format(child=child))

    def _called(self, call: ToolCall, verdict: Ticket | ToolAnswer) -> ToolCalled:
        return ToolCalled(
            run=self._scribe.run,
            t=self._scribe.now(),
            turn=self._turn,
            call=call,
            effect=self._tools.effect(call),
            subject=verdict.subject if isinstance(verdict, Ticket) else "",
        )

    def _answered(self, call: ToolCall, answer: ToolAnswer) -> None:
        told = self._tools.account(call, answer)
        self.results.append((told.status, told.text))
        self._record(
            ToolResult(
                run=self._scribe.run,
                t=self._scribe.now(),
                turn=self._turn,
                call_id=call.id,
                name=call.name,
                status=told.status,
                text=told.text,
                dropped=told.dropped,
            )
        )


async def _outcome(task: asyncio.Task[ToolAnswer]) -> ToolAnswer:
    return await task
