"""Whether somebody wants the run to stop: by a signal, or by a file in the supervisor's folder."""

from __future__ import annotations

import signal

from perdure.supervise.book import Book
from perdure.supervise.escalation import Step


class StopRequest:
    """The operator's wish, once there is one. It is never taken back."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._first: Step | None = None
        self._is_second = False

    def hear(self, number: int) -> None:
        """Take the operator's signal: the first is passed on, a second one kills."""
        if self._first is not None:
            self._is_second = True
        else:
            self._first = Step.INT if number == signal.SIGINT else Step.TERM

    def is_there(self) -> bool:
        """Say whether the run is to stop."""
        if self._first is None and self._book.is_asked_to_stop():
            self._first = Step.INT
        return self._first is not None

    @property
    def first(self) -> Step:
        """What the run gets first: what the operator's own signal was, or else INT."""
        return self._first or Step.INT

    @property
    def is_second(self) -> bool:
        """Whether the operator does not want to wait any longer."""
        return self._is_second
