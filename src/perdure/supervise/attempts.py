"""Attempts as a supervisor sees them: begun, found alive, ended a step at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from perdure.supervise.command import Command
from perdure.supervise.ends import End
from perdure.supervise.escalation import Step
from perdure.supervise.stored import Process


class Left(NamedTuple):
    """What is known of an attempt that has ended.

    Its end, None if it never began; its last output; why its log could not be written, if so.
    """

    end: End | None = None
    tail: str = ""
    log_fault: str = ""


class Running(Protocol):
    """An attempt that was begun."""

    number: int

    def has_ended(self) -> bool:
        """Say whether nothing of it is left."""
        ...

    def take_step(self, step: Step) -> None:
        """Take a step towards its end."""
        ...

    def run(self) -> Process | None:
        """Say which process it is, if that is known."""
        ...

    def log_fault(self) -> str:
        """Say why its log cannot be written; empty if it can, as far as that is known."""
        ...


class Attempts(Protocol):
    """Where attempts come from."""

    async def begin(self, number: int, command: Command, facts: Mapping[str, str]) -> Running:
        """Begin an attempt. `facts` are variables for its environment."""
        ...

    async def found(self, number: int) -> Running | None:
        """Find the attempt that an earlier supervisor began, if anything of it lives."""
        ...

    async def end_of(self, number: int) -> Left:
        """Say how an attempt ended.

        Nothing that it started is left when this returns.
        """
        ...
