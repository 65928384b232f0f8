"""Which worlds are let in when, where not all of a run may be live at once. Pure.

Breadth-first, a group of worlds is live until all of them ended; only then is the next one let in,
so that worlds which keep step with each other began together. In depth order a world is let in as
soon as another one ended. Either way they come in the order of the run's cells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from perdure.records.record import Record
from perdure.records.registry import LogPayload, WorldsLive
from perdure.records.study import Order


class Door:
    """Keeps the worlds that wait to be let in. What an opening costs grows with who is let in."""

    def __init__(
        self, worlds: Sequence[str], *, cap: int, order: Order, first: Collection[str] = ()
    ) -> None:
        """Let in `worlds`, at most `cap` at once: those in `first` before the others."""
        ahead = [name for name in worlds if name in first]
        self._first = len(ahead)
        self._waiting = deque((*ahead, *(name for name in worlds if name not in first)))
        self._cap = cap
        self._order = order

    @property
    def next(self) -> str | None:
        """The world that is let in next; None if none waits."""
        return self._waiting[0] if self._waiting else None

    def leave(self, world: str) -> None:
        """Let a world go that has ended without being let in, if it waits."""
        if world in self._waiting:
            self._first -= self._waiting.index(world) < self._first
            self._waiting.remove(world)

    def let_in(self, live: int) -> tuple[str, ...]:
        """Let in whoever may go in, given how many are live; nobody if there is no room."""
        if self._order is Order.DEPTH:
            room = self._cap - live
        else:
            room = 0 if live else min(self._first or self._cap, self._cap)
        self._first = max(0, self._first - room)
        return tuple(self._waiting.popleft() for _ in range(min(room, len(self._waiting))))


class Groups(Record):
    """The worlds that were let in together last, and all that ever were."""

    last: frozenset[str] = frozenset()
    let_in: frozenset[str] = frozenset()


NO_GROUPS = Groups()


def groups_of(log: Iterable[LogPayload], groups: Groups = NO_GROUPS) -> Groups:
    """Gather the groups in which a run's worlds were let in; none where all were always live."""
    for row in log:
        if isinstance(row, WorldsLive):
            last = frozenset(row.worlds)
            groups = Groups(last=last, let_in=groups.let_in | last)
    return groups
