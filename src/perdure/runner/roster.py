"""Which world is in which worker process, and what follows when a process dies. No effects.

Nobody knows which world of a process brought it down, so each that had begun there goes on in a
process of its own until it closes a tick; those that had not go on together. One that was alone in
its process when that died gets a strike; a closed tick takes its strikes back, and at the third it
has failed. Where processes die again and again before any world begins, their worlds have failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

STRIKES_MAX = 3


@dataclass(frozen=True)
class Fall:
    """What follows from a death: worlds that go on, by new process, and worlds that failed."""

    again: tuple[tuple[int, tuple[str, ...]], ...] = ()
    failed: tuple[str, ...] = ()


class Roster:
    """Worlds and processes; a process is a number that is never used again."""

    def __init__(self, size: int) -> None:
        """Make a roster of so many processes, at least one, when nothing has gone wrong."""
        self._size = size
        self._worlds: dict[int, set[str]] = {}
        self._on_probation: set[int] = set()
        self._strikes: Counter[str] = Counter()
        self._moving: set[str] = set()
        self._begun: set[str] = set()
        self._came: set[int] = set()
        self._stillborn = 0
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

    def came(self, process: int) -> None:
        """Note that a process is there, and can drive worlds."""
        self._came.add(process)
        self._stillborn = 0

    def began(self, world: str) -> None:
        """Note that a world begins to be driven where it is."""
        self._begun.add(world)

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
        """Note that a world will not go on; it may be known already."""
        self._moving.discard(world)
        self._strikes.pop(world, None)
        if any(world in worlds for worlds in self._worlds.values()):
            self._leave(world, self._process_of(world))

    def died(self, process: int, culprit: str | None = None) -> Fall:
        """Note that a process died, of this world if that is known."""
        worlds = self._worlds.pop(process, set())
        is_on_probation = process in self._on_probation
        self._on_probation.discard(process)
        begun = worlds & self._begun
        self._moving -= worlds
        self._begun -= worlds
        came = process in self._came
        self._came.discard(process)
        failed = self._failed(worlds, begun, culprit, came=came)
        again = [self._again([world], is_on_probation=True) for world in sorted(begun - failed)]
        if left := sorted(worlds - begun - failed):
            again.append(self._again(left, is_on_probation=is_on_probation))
        for world in failed:
            self._strikes.pop(world, None)
        return Fall(tuple(again), tuple(sorted(failed)))

    def _failed(
        self, worlds: set[str], begun: set[str], culprit: str | None, *, came: bool
    ) -> set[str]:
        if culprit in worlds:
            return {culprit}
        if worlds and not came:
            self._stillborn += 1
            return worlds if self._stillborn >= STRIKES_MAX else set()
        if len(begun) == 1:
            self._strikes.update(begun)
            return {world for world in begun if self._strikes[world] >= STRIKES_MAX}
        return set()

    def _again(
        self, worlds: Sequence[str], *, is_on_probation: bool
    ) -> tuple[int, tuple[str, ...]]:
        number = self._begin(worlds)
        if is_on_probation:
            self._on_probation.add(number)
        return number, tuple(worlds)

    def _begin(self, worlds: Iterable[str]) -> int:
        number, self._count = self._count, self._count + 1
        self._worlds[number] = set(worlds)
        return number

    def _leave(self, world: str, process: int) -> None:
        self._begun.discard(world)
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
