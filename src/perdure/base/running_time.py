"""How long something ran, as against how long it took. Arithmetic on given instants."""

from __future__ import annotations


class RunningTime:
    """Counts the time between looks, but for `gap_max_s` at most between any two of them.

    Who is stopped, suspended or kept busy cannot look. What passes then is nobody's delay but its
    own, so it is not counted: `passed_s` is what ran so far, `skipped_s` what was left out.
    """

    __slots__ = ("_gap_max_s", "_looked_s", "passed_s", "skipped_s")

    def __init__(self, now_s: float, *, gap_max_s: float) -> None:
        self._gap_max_s = gap_max_s
        self._looked_s = now_s
        self.passed_s = 0.0
        self.skipped_s = 0.0

    def look(self, now_s: float) -> float:
        """Look at this instant; give the seconds that ran so far."""
        gap_s = max(0.0, now_s - self._looked_s)
        counted_s = min(gap_s, self._gap_max_s)
        self._looked_s += gap_s
        self.passed_s += counted_s
        self.skipped_s += gap_s - counted_s
        return self.passed_s
