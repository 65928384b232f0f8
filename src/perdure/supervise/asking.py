"""Asking a command that has to answer, and asking again if it does not.

A command that was killed, or took too long, has said nothing about the run.
"""

from __future__ import annotations

from perdure.supervise.answers import Ran
from perdure.supervise.command import Command
from perdure.supervise.hours import Hours
from perdure.supervise.means import Means
from perdure.supervise.stop_request import StopRequest


class Asking:
    """Asks, until there is an answer or there was none too often in a row."""

    def __init__(self, means: Means, hours: Hours, stop: StopRequest) -> None:
        self._means = means
        self._hours = hours
        self._stop = stop

    async def ask(self, name: str, command: Command) -> Ran:
        """Run a command; what it gives has a `fault` if it never came to an end of its own."""
        ran = await self._means.run(command)
        for _ in range(self._means.settings.errors_max - 1):
            if not ran.fault or self._stop.is_there():
                break
            self._means.history.note("predicate-broken", predicate=name, fault=ran.fault)
            await self._hours.moment()
            ran = await self._means.run(command)
        return ran
