"""Ceilings of a drive, on request: turns, tokens, money, time. They arrive as interrupts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from perdure.agent.drive.ports import Interrupt, Interrupts, Model, Place, SafePoint, Stop
from perdure.base.clock import Clock
from perdure.records.alone import Bounds
from perdure.records.drive import EndCause
from perdure.records.increment import Increment
from perdure.records.request import ChatRequest, Reply
from perdure.records.usage import Usage

BY = "ceiling"


class Meter:
    """Counts what a drive's calls took. A call whose cost nobody knows makes the sum unknown."""

    def __init__(self, cost: Callable[[Reply], int | None]) -> None:
        self._cost = cost
        self.calls = 0
        self.tokens = 0
        self.money = 0
        self.unpriced = 0

    def add(self, reply: Reply) -> None:
        """Count a reply."""
        self.calls += 1
        self.tokens += _tokens(reply.usage)
        cost = self._cost(reply)
        self.unpriced += cost is None
        self.money += cost or 0


class Metered:
    """A model whose replies are counted."""

    def __init__(self, model: Model, meter: Meter) -> None:
        self._model = model
        self._meter = meter

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def chat(
        self, request: ChatRequest, on_increment: Callable[[Increment], None] | None
    ) -> Reply:
        """Ask for one whole reply, and count it.

        Raises:
            ModelFailedError: there is none.

        """
        reply = await self._model.chat(request, on_increment)
        self._meter.add(reply)
        return reply


class Limited:
    """Interrupts that also come from a ceiling. Whatever a person says comes first."""

    def __init__(
        self,
        others: Interrupts,
        ceilings: Bounds,
        meter: Meter,
        clock: Clock,
    ) -> None:
        """Take who else interrupts, and the ceilings. The time runs from here on."""
        self._others = others
        self._ceilings = ceilings
        self._meter = meter
        self._clock = clock
        self._until_s = None if ceilings.seconds is None else clock.now_s() + ceilings.seconds

    def at(self, place: Place) -> Sequence[Interrupt]:
        """Take what has arrived; before a request, a ceiling that is reached ends the drive."""
        arrived = self._others.at(place)
        if place.point is not SafePoint.BEFORE_ASSEMBLE:
            return arrived
        cause = self._reached(place.turn)
        return arrived if cause is None else (*arrived, Stop(cause=cause, by=BY))

    async def halted(self) -> Stop:
        """Wait for a halt, or for the time to be up, whichever is first."""
        if self._until_s is None:
            return await self._others.halted()
        halt = asyncio.ensure_future(self._others.halted())
        up = asyncio.ensure_future(self._clock.sleep(self._until_s - self._clock.now_s()))
        try:
            await asyncio.wait({halt, up}, return_when=asyncio.FIRST_COMPLETED)
            return halt.result() if halt.done() else Stop(cause=EndCause.TIME, by=BY)
        finally:
            halt.cancel()
            up.cancel()
            await asyncio.gather(halt, up, return_exceptions=True)

    def _reached(self, turns: int) -> EndCause | None:
        ceilings, meter = self._ceilings, self._meter
        if ceilings.turns is not None and turns >= ceilings.turns:
            return EndCause.TURNS
        if ceilings.tokens is not None and meter.tokens >= ceilings.tokens:
            return EndCause.TOKENS
        if ceilings.money is not None and (meter.money >= ceilings.money or meter.unpriced):
            return EndCause.MONEY
        return None


def _tokens(usage: Usage | None) -> int:
    if usage is None:
        return 0
    return usage.input_fresh + usage.cache_write + usage.cache_read + usage.output
