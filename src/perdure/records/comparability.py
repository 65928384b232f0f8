"""Which cells of a run can be compared with which, and why the others cannot."""

from __future__ import annotations

from perdure.records.record import Record
from perdure.records.registry import RungAt


class Alike(Record):
    """Cells that ran alike: any two of them can be compared.

    They are at their end, had the same restraining `rungs` at the same ticks, and shares of failed
    turns between `failed_min` and `failed_max` (0 to 1).
    """

    worlds: tuple[str, ...]
    rungs: tuple[RungAt, ...] = ()
    failed_min: float = 0.0
    failed_max: float = 0.0


class Unlike(Record):
    """A cell that cannot be compared with those of the largest group; `why` is a sentence."""

    world_id: str
    why: str


class Comparability(Record):
    """Which cells of a run can be compared: groups, the largest first, and the cells outside it.

    A cell that is not at its end is in no group. `unlike` has every cell that is not in the first
    group, in the order of the run's cells.
    """

    groups: tuple[Alike, ...] = ()
    unlike: tuple[Unlike, ...] = ()
