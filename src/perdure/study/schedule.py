"""What calls each tick of a world will make, by the schedule of its survey world. Pure.

With a world or an agent of the user's own, it is what ours would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from perdure.records.scenario import AgentSettings, Scenario

Kind = tuple[str, str]

# The calls of the persona agent, by role and purpose.
TURNS: Kind = ("tier_a", "turn")
REFLECTIONS: Kind = ("tier_b", "reflection")

# Beyond so many exposures the long-run mean says enough.
_EXACT_MAX = 2_000


class Schedule:
    """The calls of a world's ticks, for each kind of call: its role and its purpose."""

    def __init__(self, scenario: Scenario, agent: AgentSettings) -> None:
        self._activation = scenario.activation
        self._every = agent.reflect_every
        self._waves = frozenset(scenario.waves)
        shown = sorted(int(tick) for tick, claims in scenario.exposures.items() if claims)
        self._place = {tick: place for place, tick in enumerate(shown)}
        self.ticks = tuple(sorted(self._waves | self._place.keys()))

    def is_wave(self, tick: int) -> bool:
        """Say whether everyone is asked at a tick. A survey wave is never thinned."""
        return tick in self._waves

    def expected(
        self, tick: int, personas: int, *, share: float = 1.0, optional_work: bool = True
    ) -> Mapping[Kind, float]:
        """Count the calls to expect of a tick, attempts after the first left out.

        Of those who would be active, `share` are; reflections are optional work. How many reflect
        is the mean over all ways in which the turns before can have fallen, at full activation.
        """
        calls: dict[Kind, float] = {}
        turns = float(personas) if tick in self._waves else 0.0
        if tick in self._place:
            turns += personas * self._activation * share
            if optional_work and self._every > 0:
                chances = _reflecting(len(self._place), self._activation, self._every)
                calls[REFLECTIONS] = personas * chances[self._place[tick]] * share
        if turns:
            calls[TURNS] = turns
        return {kind: count for kind, count in calls.items() if count}

    def most(self, tick: int, personas: int) -> Mapping[Kind, int]:
        """Count the calls that a tick can have at most, attempts after the first left out.

        At most everyone is active, and every reflection failed so far and is tried again.
        """
        calls: dict[Kind, int] = {}
        shown = tick in self._place
        turns = personas * ((tick in self._waves) + shown)
        if turns:
            calls[TURNS] = turns
        if shown and 0 < self._every <= self._place[tick] + 1:
            calls[REFLECTIONS] = personas
        return calls


@lru_cache(maxsize=256)
def _reflecting(shown: int, activation: float, every: int) -> tuple[float, ...]:
    """Give for each exposure in turn the chance that a persona reflects after it.

    A persona that was active since its last reflection at all but one of the `every` turns that it
    takes, and is active now, reflects.
    """
    if shown > _EXACT_MAX:
        return (activation / every,) * shown
    since = [1.0] + [0.0] * (every - 1 if every <= shown else shown)
    chances = []
    for _ in range(shown):
        last = since[every - 1] if every <= len(since) else 0.0
        chances.append(activation * last)
        moved = [last, *since[:-1]] if every <= len(since) else [0.0, *since[:-1]]
        since = [
            (1 - activation) * stays + activation * comes
            for stays, comes in zip(since, moved, strict=True)
        ]
    return tuple(chances)
