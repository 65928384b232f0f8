"""What a fault is: a name, what a person needs to know about it, and how it is played."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from perdure.testing.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Fault:
    """A named way to misbehave: of one `group` (`status`, `transport`, `content`, `stream`)."""

    name: str
    group: str
    about: str
    play: Callable[[Exchange], Awaitable[None]]
