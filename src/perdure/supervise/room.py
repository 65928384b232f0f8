"""Whether there is room for a run to go on, and whether there will be for the rest of it."""

from __future__ import annotations

from perdure.supervise import space
from perdure.supervise.case import Case
from perdure.supervise.means import Means


class Room:
    """The disk that a run writes to."""

    def __init__(self, means: Means, case: Case) -> None:
        self._means = means
        self._case = case
        self._is_short = False

    def is_enough(self) -> bool:
        """Look at the disk, and say whether a run may go on."""
        means, case = self._means, self._case
        settings, history = means.settings, means.history
        case.free_bytes = free = means.free_bytes(settings.watched)
        if free is None:
            return True
        is_short = not space.has_room(free, settings.disk_floor, was_short=self._is_short)
        if is_short != self._is_short:
            history.note("disk-short" if is_short else "disk-has-room", free=free)
        self._is_short = is_short
        now = space.Growth(free=free, units=case.look.progress.value or 0)
        if case.kept.grown_from is None:
            case.keep(grown_from=now)
        needed = space.needed(case.kept.grown_from, now, means.subject.target)
        if needed > free and case.needed_bytes <= free:
            history.note("disk-will-not-do", needed=needed, free=free)
            means.tell(f"At this pace the rest needs {needed} bytes; {free} are free.")
        case.needed_bytes = needed
        return not is_short

    @property
    def told(self) -> str:
        """How little there is, in words."""
        wanted = self._means.settings.disk_floor
        return f"{self._case.free_bytes} bytes are free, {wanted} are wanted"
