"""What is done about a provider that fails, and about a model that goes round in circles. Pure.

Waits double from half a second to a minute, with a jitter from the drive's id, so that drives
spread out and each of them repeats itself exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.agent.drive.ports import ModelFailedError
from perdure.base.chance import Stream
from perdure.records.record import Record
from perdure.records.tools import AnswerStatus, ToolCall

BASE_MS = 500
CAP_MS = 60_000

# How often the same has to happen before a word is said about it.
REPEATS = 3
# An alternation is three rounds of two.
_ALTERNATES = 6

NUDGES = {
    "action": "You have made the same call {n} times in a row. Its answer will not change: try"
    " something else, or say what keeps you from it.",
    "error": "The same error has come back {n} times in a row. Read what it says, and do something"
    " about its cause.",
    "alternation": "You are going back and forth between two calls. Neither moves you on: try"
    " something else, or say what keeps you from it.",
}


class Watchdog:
    """Counts the failures of a drive's provider since its last answer."""

    def __init__(self, run: str, retries: int | None) -> None:
        self._run = run
        self._retries = retries
        self.failures = 0

    def answered(self) -> None:
        """Forget the failures: there was an answer."""
        self.failures = 0

    def until(self, error: ModelFailedError, now: int) -> int | None:
        """Say when, in milliseconds, a failed call may be made again; None if it may not be."""
        self.failures += 1
        if not error.again or (self._retries is not None and self.failures > self._retries):
            return None
        asked = round((error.retry_after_s or 0.0) * 1000)
        return now + max(back_off_ms(self._run, self.failures), asked)


def back_off_ms(run: str, failures: int) -> int:
    """Give the wait after so many failures in a row: at least the base, at most half more."""
    base: int = min(BASE_MS << min(failures - 1, 7), CAP_MS)
    return base + Stream(run, 0, "back-off", failures).below(base // 2 + 1)


class Exchange(Record):
    """What one turn did: its calls without their ids, and its errors."""

    actions: tuple[tuple[str, str], ...]
    errors: tuple[str, ...] = ()


def exchange(calls: Sequence[ToolCall], results: Sequence[tuple[AnswerStatus, str]]) -> Exchange:
    """Reduce a turn to what counts as the same again."""
    return Exchange(
        actions=tuple((call.name, call.arguments) for call in calls),
        errors=tuple(text for status, text in results if status is not AnswerStatus.OK),
    )


class StuckDetector:
    """Looks at the last turns. The first time it says so, the second time the drive is stuck."""

    def __init__(self) -> None:
        self._last: list[Exchange] = []
        self._was_told = False

    def look(self, latest: Exchange) -> tuple[str, bool] | None:
        """Take a turn in; give what to tell the model, and whether that was said once before."""
        self._last = [*self._last[-_ALTERNATES + 1 :], latest]
        circle = _circle(self._last)
        if circle is None:
            return None
        is_stuck, self._was_told, self._last = self._was_told, True, []
        return NUDGES[circle].format(n=REPEATS), is_stuck


def _circle(last: Sequence[Exchange]) -> str | None:
    repeated = last[-REPEATS:]
    if len(repeated) == REPEATS:
        if repeated[0].actions and all(one.actions == repeated[0].actions for one in repeated):
            return "action"
        if repeated[0].errors and all(one.errors == repeated[0].errors for one in repeated):
            return "error"
    ones, others = last[::2], last[1::2]
    alternates = (
        len(last) == _ALTERNATES
        and ones[0].actions != others[0].actions
        and all(one.actions == ones[0].actions for one in ones)
        and all(one.actions == others[0].actions for one in others)
    )
    return "alternation" if alternates else None
