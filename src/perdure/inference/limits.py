"""Limits on what is in flight: a ceiling that yields to rate limits, and rates per minute.

All of it is arithmetic on given instants; nothing here waits or reads a clock.
"""

from __future__ import annotations

from perdure.records.record import Record

_SHRINK = 0.5
_MINUTE_S = 60.0
_BURST_SHARE = 0.1


class Limits(Record):
    """What a run may have in flight and send, all roles and worlds together.

    `queue_max` calls may wait for their turn, none of them longer than `queue_s` seconds.
    """

    in_flight_max: int = 64
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    queue_max: int = 200_000
    queue_s: float = 3600.0


class Ceiling:
    """How many calls may be in flight: halved when an endpoint says "too many", regrown by success.

    A call takes the ceiling's generation along. A refusal of an older generation was caused by the
    ceiling that has already been lowered, so it does not lower it again.
    """

    __slots__ = ("_limit", "_maximum", "_successes", "generation")

    def __init__(self, maximum: int) -> None:
        self._maximum = float(max(maximum, 1))
        self._limit = self._maximum
        self._successes = 0
        self.generation = 0

    @property
    def limit(self) -> int:
        """The number of calls that may be in flight now; at least 1."""
        return int(self._limit)

    def answered(self) -> None:
        """Count a success; as many as the ceiling is high raise it by one."""
        if self._limit >= self._maximum:
            return
        self._successes += 1
        if self._successes >= self._limit:
            self._successes = 0
            self._limit = min(self._limit + 1.0, self._maximum)

    def turned_away(self, generation: int) -> None:
        """Lower the ceiling for a rate limit, once per generation."""
        if generation != self.generation:
            return
        self.generation += 1
        self._successes = 0
        self._limit = max(1.0, float(int(self._limit * _SHRINK)))


class Rate:
    """A rate per minute as a bucket that may go into debt: whoever takes waits for the debt.

    No window of a minute sees more than the limit: a tenth may go at once, and the rest follows at
    an even pace.
    """

    __slots__ = ("_burst", "_filled_at_s", "_level", "_per_s")

    def __init__(self, per_minute: int, now_s: float) -> None:
        self._burst = max(1.0, per_minute * _BURST_SHARE)
        paced = per_minute - self._burst if per_minute > self._burst else float(per_minute)
        self._per_s = paced / _MINUTE_S
        self._level = self._burst
        self._filled_at_s = now_s

    def take(self, amount: float, now_s: float) -> float:
        """Take an amount, and give the seconds to wait before using it."""
        self._fill(now_s)
        self._level -= amount
        return max(0.0, -self._level / self._per_s)

    def give_back(self, amount: float, now_s: float) -> None:
        """Return what was not used; a negative amount takes what was used beyond the estimate."""
        self._fill(now_s)
        self._level = min(self._burst, self._level + amount)

    def _fill(self, now_s: float) -> None:
        passed = max(0.0, now_s - self._filled_at_s)
        self._filled_at_s = max(now_s, self._filled_at_s)
        self._level = min(self._burst, self._level + passed * self._per_s)
