"""What moved between a run as it was asked and as it is asked now, and whether it may go on. Pure.

Everything that moved is named at once. Some of it may be forced, by name; what makes other worlds
(population, scenarios, seeds) never.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perdure.base.errors import MovedError, UsageError
from perdure.records.registry import LogPayload, Moved, RunEntry, RunForced

# Each compared thing, in words, and whether a run may be forced past it.
FORCEABLE: dict[str, bool] = {
    "brief": True,
    "ontology": True,
    "questions": True,
    "pins": True,
    "agent": True,
    "settings": True,
    "population": False,
    "held_out": False,
    "scenarios": False,
    "seeds": False,
}


def asked_then(entry: RunEntry, log: Iterable[LogPayload]) -> dict[str, str]:
    """Give the hashes of a run's inputs as they stood last: as first asked, or as forced since."""
    hashes = dict(entry.hashes)
    for row in log:
        if isinstance(row, RunForced):
            hashes.update({one.name: one.now for one in row.moved})
    return hashes


def compare(was: Mapping[str, str], now: Mapping[str, str]) -> tuple[Moved, ...]:
    """List everything that moved, in the order in which things are compared."""
    return tuple(
        Moved(name=name, was=was.get(name, ""), now=now.get(name, ""))
        for name in FORCEABLE
        if was.get(name, "") != now.get(name, "")
    )


def require_leave(moved: Sequence[Moved], force: Sequence[str], where: str) -> None:
    """Refuse a run of which something moved that is not forced.

    Raises:
        UsageError: something is forced that cannot be.
        MovedError: something moved and is not forced; names all of it.

    """
    cannot = [name for name in force if not FORCEABLE.get(name, False)]
    if cannot:
        known = ", ".join(name for name, able in FORCEABLE.items() if able)
        raise UsageError(
            f"--force {cannot[0]} is not possible.",
            remedy=f"These may be forced: {known}. What makes other worlds needs another run.",
        )
    refused = [one for one in moved if one.name not in force]
    if not refused:
        return
    listed = "; ".join(f"{one.name} ({one.was[:12]} then, {one.now[:12]} now)" for one in refused)
    never = [one.name for one in refused if not FORCEABLE[one.name]]
    if never:
        remedy = "Restore what moved, or start another run in another folder."
    else:
        flags = " ".join(f"--force {one.name}" for one in refused)
        remedy = f"Restore it, start another run, or go on with {flags}, which is recorded."
    raise MovedError(
        f"What decides this run moved: {listed}.",
        moved=tuple(one.name for one in refused),
        where=where,
        remedy=remedy,
    )
