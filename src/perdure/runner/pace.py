"""How far worlds may run apart: breadth-first by tick, without a barrier. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def may_open(tick: int, next_ticks: Iterable[int], skew: int) -> bool:
    """Say whether a world may open `tick`, given the next tick of every live world.

    A world may be at most `skew` ticks ahead of the slowest live world.
    """
    return tick - min(next_ticks, default=tick) <= skew
