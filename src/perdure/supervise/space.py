"""Whether there is room on the disk to go on. Pure."""

from __future__ import annotations

from perdure.records.record import Record

# What was too little is enough again only with so much more, so that nothing flaps.
_ENOUGH_AGAIN = 1.25


class Growth(Record):
    """What an earlier look found: free bytes, and units of progress."""

    free: int
    units: int


def has_room(free: int, floor: int, *, was_short: bool) -> bool:
    """Say whether a run may go on with so many free bytes."""
    return free >= floor * (_ENOUGH_AGAIN if was_short else 1.0)


def needed(first: Growth | None, now: Growth, target: int | None) -> int:
    """Estimate the bytes still to be written, from those that each unit took; 0 if unknown."""
    if first is None or target is None or now.units <= first.units or now.free >= first.free:
        return 0
    each = (first.free - now.free) / (now.units - first.units)
    return int(each * max(target - now.units, 0))
