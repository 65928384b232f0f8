"""Which world is in which worker process, and what follows when a process dies. No effects.

Nobody knows which world of a process brought it down, so each of them goes on in a process of its
own until it closes a tick. One that was alone in its process when that died gets a strike; a closed
tick takes its strikes back, and at the third it has failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

STRIKES_MAX = 3


@dataclass(frozen=True)
class Fall:
    """What follows from a death: worlds that go on, each with its new process; one that failed."""

    again: tuple[tuple[int, str], ...] = ()
    failed: str | None = None


class Roster:
    """Worlds and processes; a process is a number that is never used again."""

    def __init__(self, size: int) -> None:
        """Make a roster of so many processes, at least one, when nothing has gone wrong."""
        self._size = size
        self._worlds: dict[int, set[str]] = {}
        self._on_probation: set[int] = set()
        self._strikes: Counter[str] = Counter()
        self._moving: set[str] = set()
        self._count = 0

    @property
    def processes(self) -> tuple[int, ...]:
        """The processes that there are."""
        return tuple(self._worlds)

    def worlds(self, process: int) -> frozenset[str]:
        """Give the worlds of a process; none if it is gone."""
        return frozenset(self._worlds.get(process, ()))

    def strikes(self, world: str) -> int:
        """Count how often a world died alone since it last closed a tick."""
        return self._strikes[world]

    def deal(self, worlds: Sequence[str]) -> dict[int, tuple[str, ...]]:
        """Deal worlds to new processes: one each as long as there are processes, then several."""
        number = min(self._size, len(worlds))
        dealt = [tuple(worlds[first::number]) for first in range(number)]
        return {self._begin(some): some for some in dealt}

    def closed(self, world: str) -> None:
        """Note that a world closed a tick: it brings nothing down.

        If it is alone in one process more than there should be, it is to move in with others.
        """
        self._strikes.pop(world, None)
        process = self._process_of(world)
        if process not in self._on_probation:
            return
        self._on_probation.discard(process)
        if len(self._worlds) > self._size and self._others(process):
            self._moving.add(world)

    def is_moving(self, world: str) -> bool:
        """Say whether a world is to end where it is, and go on elsewhere."""
        return world in self._moving

    def move(self, world: str) -> tuple[int, bool]:
        """Move a world to where the fewest are; give that process, and whether it is a new one."""
        self._moving.discard(world)
        here = self._process_of(world)
        others = self._others(here)
        self._leave(world, here)
        if not others:
            return self._begin([world]), True
        target = min(others, key=lambda process: (len(self._worlds[process]), process))
        self._worlds[target].add(world)
        return target, False

    def ended(self, world: str) -> None:
        """Note that a world will not go on."""
        self._moving.discard(world)
        self._strikes.pop(world, None)
        self._leave(world, self._process_of(world))

    def died(self, process: int, culprit: str | None = None) -> Fall:
        """Note that a process died, of this world if that is known."""
        worlds = self._worlds.pop(process, set())
        self._on_probation.discard(process)
        self._moving -= worlds
        failed = culprit if culprit in worlds else None
        if failed is None and len(worlds) == 1:
            [alone] = worlds
            self._strikes[alone] += 1
            failed = alone if self._strikes[alone] >= STRIKES_MAX else None
        again = []
        for world in sorted(worlds - {failed}):
            number = self._begin([world])
            self._on_probation.add(number)
            again.append((number, world))
        if failed is not None:
            self._strikes.pop(failed, None)
        return Fall(tuple(again), failed)

    def _begin(self, worlds: Iterable[str]) -> int:
        number, self._count = self._count, self._count + 1
        self._worlds[number] = set(worlds)
        return number

    def _leave(self, world: str, process: int) -> None:
        self._worlds[process].discard(world)
        if not self._worlds[process]:
            del self._worlds[process]
            self._on_probation.discard(process)

    def _others(self, process: int) -> list[int]:
        """List the other processes that take worlds in."""
        return [one for one in self._worlds if one != process and one not in self._on_probation]

    def _process_of(self, world: str) -> int:
        return next(process for process, worlds in self._worlds.items() if world in worlds)


def overdue(quiet_s: Mapping[str, float], limit_s: float) -> tuple[str | None, bool]:
    """Say whether a process hangs, given for how long each of its worlds works without a word.

    Gives the world that hangs if that is known, and whether any does. Where others were silent for
    about as long, one of them may be what kept it from a word.
    """
    late = [world for world, seconds in quiet_s.items() if seconds > limit_s]
    if not late:
        return None, False
    suspects = sum(seconds > limit_s / 2 for seconds in quiet_s.values())
    return (late[0] if suspects == 1 else None), True
