"""What a supervisor works with: its subject, its limits, and whatever has an effect outside of it.

All of it is given to a supervisor, so that days pass in moments where somebody gives another clock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from perdure.base.clock import Clock
from perdure.supervise.answers import Ran
from perdure.supervise.attempts import Attempts
from perdure.supervise.book import Book
from perdure.supervise.command import Command
from perdure.supervise.general import Runs
from perdure.supervise.history import History
from perdure.supervise.notify import ServiceManager
from perdure.supervise.settings import Settings
from perdure.supervise.subject import Subject


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, kw_only=True)
class Means:
    """What a supervisor works with.

    `run` runs a predicate, a check or a guard, and `hook` a hook with variables of its own. `tell`
    says a line to people. `suspended_s` is how long the machine has slept so far, `free_bytes` what
    is free on the disk of a path, and `mask` takes secrets out of a text.
    """

    subject: Subject
    settings: Settings
    attempts: Attempts
    clock: Clock
    run: Runs
    hook: Callable[[Command, dict[str, str]], Awaitable[Ran]]
    book: Book
    history: History
    manager: ServiceManager
    tell: Callable[[str], None]
    suspended_s: Callable[[], float]
    free_bytes: Callable[[Path], int | None]
    mask: Callable[[str], str] = _as_it_is
