"""The governor and the inference host, as a worker sees them: the same two ports, over a line."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, cast

from perdure.base.errors import InternalError
from perdure.inference.reservations import Limit
from perdure.records.events import Head
from perdure.records.journal import TickOpening
from perdure.records.registry import CallsLost, CallsOrphaned, WorldOutcome
from perdure.records.request import CallKey, CallResult, ChatRequest, EmbedRequest, FailureCause
from perdure.records.tools import Effect, ToolAnswer, ToolCall
from perdure.runner.port import TickOpened, TickPaused, TickReport
from perdure.runner.told import error_of
from perdure.runner.wire import GOVERNOR, HOST, METHODS, Answer, Ask, Line, Withdraw, frame, pack


class Questions:
    """Asks over a line, and gives every answer to whoever asked."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._next = 0
        self.stop_cause: FailureCause | None = None

    async def ask(self, world: str, method: str, *arguments: Any) -> tuple[Any, Answer]:
        """Ask; give the result, and the answer that it came in.

        Who is cancelled meanwhile withdraws the question, and goes on when that has ended.

        Raises:
            Exception: what the method raised there.

        """
        framed = frame(Ask(id=self._next, world=world, method=method, arguments=pack(arguments)))
        number, self._next = self._next, self._next + 1
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._line.send(framed)
        try:
            answer = await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._line.send(frame(Withdraw(id=number)))
            await asyncio.wait({waiting})
            raise
        if answer.error is not None:
            raise error_of(answer.error)
        return METHODS[method].result(answer.value), answer

    def answered(self, answer: Answer) -> None:
        """Take an answer."""
        self.stop_cause = answer.stop_cause or self.stop_cause
        waiting = self._waiting.pop(answer.id, None)
        if waiting is None:
            raise InternalError(f"Nobody asked question {answer.id}.")
        waiting.set_result(answer)


class RemoteGovernor:
    """The governor of a run, asked over a line."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    async def admit(self, world_id: str) -> bool:
        """Wait until the world may be live; False if it is not let in any more."""
        return bool(await self._ask(world_id, "admit", world_id))

    async def open_tick(self, world_id: str, tick: int) -> TickOpened | TickPaused | None:
        """Wait for leave to open a tick. None means that the world goes no further here."""
        found = await self._ask(world_id, "open_tick", world_id, tick)
        return cast("TickOpened | TickPaused | None", found)

    async def ceiling_reached(self, world_id: str, limit: str) -> TickPaused:
        """Tell that a call did not fit with nothing open, so that its tick cannot close."""
        return cast("TickPaused", await self._ask(world_id, "ceiling_reached", world_id, limit))

    async def pause_recorded(self, world_id: str, head: Head) -> None:
        """Tell that a world has the pause in its record."""
        await self._ask(world_id, "pause_recorded", world_id, head)

    async def world_recalled(self, report: TickReport) -> None:
        """Tell where a world's record ended when it was opened again, with its totals so far."""
        await self._ask(report.world_id, "world_recalled", report)

    async def tick_closed(self, report: TickReport) -> None:
        """Tell of a tick that is durable in its partition."""
        await self._ask(report.world_id, "tick_closed", report)

    async def world_ended(self, outcome: WorldOutcome) -> None:
        """Tell that a world will not go on in this process."""
        await self._ask(outcome.world_id, "world_ended", outcome)

    async def _ask(self, world: str, name: str, *arguments: Any) -> Any:
        result, _ = await self._questions.ask(world, f"{GOVERNOR}.{name}", *arguments)
        return result


class RemoteHost:
    """The inference host of a run, asked over a line."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._refused: dict[tuple[str, int], Limit] = {}

    @property
    def stop_cause(self) -> FailureCause | None:
        """The failure that ends the run for every world, as of the last answer."""
        return self._questions.stop_cause

    def refusal(self, world: str, tick: int) -> Limit | None:
        """Name the ceiling under which a call of a tick did not fit; such a tick cannot close."""
        return self._refused.get((world, tick))

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open a tick durably before its first call; give the opening that holds."""
        found = await self._ask((opening.world, opening.tick), "open_tick", opening)
        return cast("TickOpening", found)

    async def lost(self, world: str, tick: int) -> tuple[CallsLost, ...]:
        """Charge the attempts of an open tick that came to nothing."""
        found = await self._ask((world, tick), "lost", world, tick)
        return cast("tuple[CallsLost, ...]", found)

    async def orphans(
        self, world: str, tick: int, used: Collection[CallKey]
    ) -> CallsOrphaned | None:
        """Charge the finished attempts of an open tick that are not in the record."""
        found = await self._ask((world, tick), "orphans", world, tick, tuple(used))
        return cast("CallsOrphaned | None", found)

    async def close_tick(self, world: str, tick: int) -> None:
        """Give up a tick that is in the record, with its charges in the run log."""
        await self._ask((world, tick), "close_tick", world, tick)

    async def call(self, key: CallKey, request: ChatRequest | EmbedRequest) -> CallResult:
        """Make one call, with its retries. A failure is in the result, never an exception."""
        found = await self._ask((key.world, key.tick), "call", key, request)
        return cast("CallResult", found)

    async def begin_effect(self, key: CallKey, call: ToolCall, effect: Effect) -> ToolAnswer | None:
        """Say durably that a tool outside the world is about to be called; None is leave."""
        found = await self._ask((key.world, key.tick), "begin_effect", key, call, effect)
        return cast("ToolAnswer | None", found)

    async def end_effect(self, key: CallKey, answer: ToolAnswer) -> None:
        """Say durably what the tool has answered, before anybody goes by it."""
        await self._ask((key.world, key.tick), "end_effect", key, answer)

    async def _ask(self, place: tuple[str, int], name: str, *arguments: Any) -> Any:
        result, answer = await self._questions.ask(place[0], f"{HOST}.{name}", *arguments)
        if answer.refused is not None:
            self._refused[place] = answer.refused
        return result
