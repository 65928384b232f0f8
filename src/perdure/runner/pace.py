"""How far worlds may run apart: breadth-first by tick, without a barrier. Pure.

In breadth-first order a world may be at most so many ticks ahead of the slowest live one. In depth
order each goes its own way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def may_open(tick: int, slowest: int, skew: int | None) -> bool:
    """Say whether a world may open `tick`, given the next tick of the slowest live world.

    Without a skew it always may.
    """
    return skew is None or tick - slowest <= skew


class Pace:
    """Follows the next tick of every live world. What it costs does not grow with their number."""

    def __init__(self, skew: int | None) -> None:
        self._skew = skew
        self._ticks: dict[str, int] = {}
        self._worlds_at: Counter[int] = Counter()
        self._slowest = 0

    @property
    def ticks(self) -> Mapping[str, int]:
        """The tick that each live world opens next or has open."""
        return self._ticks

    def move(self, world_id: str, tick: int) -> None:
        """Note that a live world is about to open a tick; it is live from the first time on."""
        known = self._ticks.get(world_id)
        self._ticks[world_id] = tick
        if known is not None:
            self._worlds_at[known] -= 1
        self._worlds_at[tick] += 1
        self._slowest = tick if len(self._ticks) == 1 else min(self._slowest, tick)

    def leave(self, world_id: str) -> None:
        """Note that a world is not live any more, if it was."""
        known = self._ticks.pop(world_id, None)
        if known is not None:
            self._worlds_at[known] -= 1

    def allows(self, tick: int) -> bool:
        """Say whether a world may open a tick."""
        if not self._ticks:
            return True
        while self._worlds_at[self._slowest] <= 0:
            del self._worlds_at[self._slowest]
            self._slowest += 1
        return may_open(tick, self._slowest, self._skew)
