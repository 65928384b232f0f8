"""Whether there is room for a run to go on, and whether there will be for the rest of it."""

from __future__ import annotations

from pathlib import Path

from perdure.supervise import space
from perdure.supervise.case import Case
from perdure.supervise.means import Means


class Room:
    """The disks that a run and its supervisor write to.

    Any of them may be too full. What the rest of the run will take is estimated for the first one,
    which is the run's own.
    """

    def __init__(self, means: Means, case: Case) -> None:
        self._means = means
        self._case = case
        self._short: dict[Path, int] = {}

    def is_enough(self) -> bool:
        """Look at the disks, and say whether a run may go on."""
        means, floor = self._means, self._means.settings.disk_floor
        was_short, self._short = self._short, {}
        for place in means.settings.watched:
            free = means.free_bytes(place)
            if free is not None and not space.has_room(free, floor, was_short=place in was_short):
                self._short[place] = free
        if self._short and not was_short:
            place, free = self.shortest
            means.history.note("disk-short", place=str(place), free=free)
        elif was_short and not self._short:
            means.history.note("disk-has-room")
        self._look_ahead()
        return not self._short

    @property
    def told(self) -> str:
        """Where there is too little, and how little, in words."""
        place, free = self.shortest
        wanted = self._means.settings.disk_floor
        return f"{free} bytes are free at {place.absolute()}, {wanted} are wanted"

    @property
    def shortest(self) -> tuple[Path, int]:
        """The place with the least room of those that have too little, and the bytes there."""
        return min(self._short.items(), key=lambda found: found[1])

    def _look_ahead(self) -> None:
        means, case = self._means, self._case
        case.free_bytes = free = means.free_bytes(means.settings.watched[0])
        if free is None:
            return
        now = space.Growth(free=free, units=case.look.progress.value or 0)
        if case.kept.grown_from is None:
            case.keep(grown_from=now)
        needed = space.needed(case.kept.grown_from, now, means.subject.target)
        if needed > free and case.needed_bytes <= free:
            means.history.note("disk-will-not-do", needed=needed, free=free)
            means.tell(f"At this pace the rest needs {needed} bytes; {free} are free.")
        case.needed_bytes = needed
