"""Ceilings of a drive in turns and in time, on request. They arrive as interrupts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from perdure.agent.drive.ports import Interrupt, Interrupts, Place, SafePoint, Stop
from perdure.base.clock import Clock
from perdure.records.alone import Bounds
from perdure.records.drive import EndCause

BY = "ceiling"


class Limited:
    """Interrupts that also come from a ceiling. Whatever a person says comes first."""

    def __init__(self, others: Interrupts, ceilings: Bounds, clock: Clock) -> None:
        """Take who else interrupts, and the ceilings. The time runs from here on."""
        self._others = others
        self._turns = ceilings.turns
        self._clock = clock
        self._until_s = None if ceilings.seconds is None else clock.now_s() + ceilings.seconds

    def at(self, place: Place) -> Sequence[Interrupt]:
        """Take what has arrived; before a request, a ceiling that is reached ends the drive."""
        arrived = self._others.at(place)
        is_due = self._turns is not None and place.turn >= self._turns
        if place.point is not SafePoint.BEFORE_ASSEMBLE or not is_due:
            return arrived
        return (*arrived, Stop(cause=EndCause.TURNS, by=BY))

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
