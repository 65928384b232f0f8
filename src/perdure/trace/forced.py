"""What a run was forced past, and what holds since, by its run log. Pure.

A run that was forced is compared with what it was forced to, not with what it began with; and it is
marked for ever, in whatever is shown or exported of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.records.fingerprint import Fingerprint
from perdure.records.record import Record
from perdure.records.registry import (
    LogPayload,
    Moved,
    RunEntry,
    RunForced,
    TransportMoved,
    WorldDiverged,
)


class ForceMark(Record):
    """One force: what had moved, and the last tick of each world that was closed before it."""

    moved: tuple[Moved, ...]
    ticks: dict[str, int]


class Marks(Record):
    """What marks a run: its forces, where its worlds diverged, and what moved of the transport."""

    forced: tuple[ForceMark, ...]
    diverged: tuple[WorldDiverged, ...]
    transport: tuple[Moved, ...]


def marks(log: Sequence[LogPayload]) -> Marks:
    """Gather what marks a run."""
    carried = [one for row in log if isinstance(row, TransportMoved) for one in row.moved]
    return Marks(
        forced=tuple(
            ForceMark(moved=row.moved, ticks=row.ticks) for row in log if isinstance(row, RunForced)
        ),
        diverged=tuple(row for row in log if isinstance(row, WorldDiverged)),
        transport=tuple(one for place, one in enumerate(carried) if one not in carried[:place]),
    )


def marks_of(found: Marks, world_id: str) -> Marks:
    """Keep of a run's marks what concerns one world."""
    return Marks(
        forced=tuple(
            ForceMark(moved=one.moved, ticks={n: t for n, t in one.ticks.items() if n == world_id})
            for one in found.forced
        ),
        diverged=tuple(one for one in found.diverged if one.world_id == world_id),
        transport=found.transport,
    )


def hashes_in_force(entry: RunEntry, log: Sequence[LogPayload]) -> dict[str, str]:
    """Give the hashes of a run's inputs: as first asked, or as forced since."""
    hashes = dict(entry.hashes)
    for row in log:
        if isinstance(row, RunForced):
            hashes.update({one.name: one.now for one in row.moved})
    return hashes


def study_in_force(entry: RunEntry, log: Sequence[LogPayload]) -> str:
    """Give the study, as canonical JSON: as first asked, or as forced since."""
    forced = [row.study for row in log if isinstance(row, RunForced) and row.study]
    return forced[-1] if forced else entry.study


def flags_in_force(entry: RunEntry, log: Sequence[LogPayload]) -> dict[str, str]:
    """Give the flags that belong to the study in force."""
    forced = [row.flags for row in log if isinstance(row, RunForced) and row.study]
    return forced[-1] if forced else entry.flags


def code_in_force(entry: RunEntry, log: Sequence[LogPayload]) -> Fingerprint | None:
    """Give the code that decides a run: as it began, or as forced since."""
    forced = [row.fingerprint for row in log if isinstance(row, RunForced) and row.fingerprint]
    return forced[-1] if forced else entry.fingerprint


def transport_in_force(log: Sequence[LogPayload]) -> tuple[Moved, ...]:
    """Give what is on record as having moved of the transport, since the code in force."""
    found: tuple[Moved, ...] = ()
    for row in log:
        if isinstance(row, RunForced) and row.fingerprint:
            found = ()
        elif isinstance(row, TransportMoved):
            found = row.moved
    return found


def forced_until(log: Sequence[LogPayload]) -> dict[str, int]:
    """Give the last tick that was closed before the run was last forced, by world, if any was."""
    found: dict[str, int] = {}
    for row in log:
        if isinstance(row, RunForced):
            found.update({name: max(tick, found.get(name, -1)) for name, tick in row.ticks.items()})
    return found
