"""What arrives while an agent is driven alone: words, a stop, a halt, a request in its folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from perdure.agent.drive.ports import Interrupt, Place, Steer, Stop
from perdure.records.drive import EndCause
from perdure.trace.stop_request import forget_request, is_asked_to_stop


class Attended:
    """Keeps what was said until the drive asks for it. All of it is called on one event loop.

    `is_heard` says whether it ever did: before, its parts are still made ready.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._said: list[Interrupt] = []
        self._stop: Stop | None = None
        self._halt: Stop | None = None
        self._halted = asyncio.Event()
        self._ended = asyncio.Event()
        self.is_heard = False

    def say(self, text: str) -> None:
        """Say something to the agent; it reads it with its next request."""
        self._said.append(Steer(text=text))

    def stop(self, by: str = "user") -> None:
        """Let the drive end at its next safe point, and what handed work down to it too."""
        self._stop = Stop(cause=EndCause.CANCEL, by=by)
        self._ended.set()

    def halt(self, by: str = "user") -> None:
        """Cut what is in flight, and end the drive."""
        self._halt = Stop(cause=EndCause.HALT, by=by)
        self._halted.set()
        self._ended.set()

    def at(self, place: Place) -> Sequence[Interrupt]:  # noqa: ARG002 - the same everywhere
        """Take what was said since, and a request to stop that somebody left in the folder."""
        self.is_heard = True
        said, self._said = self._said, []
        if is_asked_to_stop(self._folder):
            forget_request(self._folder)
            self.stop(by="perdure stop")
        return said if self._stop is None else [*said, self._stop]

    async def halted(self) -> Stop:
        """Wait for a halt."""
        await self._halted.wait()
        assert self._halt is not None, "who sets the event says who it is"
        return self._halt

    async def ended(self) -> Stop:
        """Wait for a stop or a halt: before the drive, either ends what is made ready for it."""
        await self._ended.wait()
        stop = self._halt or self._stop
        assert stop is not None, "who sets the event says who it is"
        return stop
