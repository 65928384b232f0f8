"""Reading what a command line says: whatever is wrong with it is told at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from perdure.base.errors import UsageError, refuse_all

T = TypeVar("T")


class Reading:
    """Reads one thing after the other, and keeps what is wrong with any of them."""

    def __init__(self) -> None:
        self._wrong: list[UsageError] = []

    def take(self, read: Callable[[], T], instead: T) -> T:
        """Read something; give something else if it cannot be read, which `require` tells."""
        try:
            return read()
        except UsageError as error:
            self._wrong.append(error)
            return instead

    def refuse(self, wrong: str, *, remedy: str = "") -> None:
        """Keep that something is wrong."""
        self._wrong.append(UsageError(wrong, remedy=remedy))

    def require(self) -> None:
        """Refuse all of it, if anything was wrong.

        Raises:
            UsageError: something was; names everything that was.

        """
        refuse_all(self._wrong)
