"""What moved between a run as it was asked and as it is asked now, and whether it may go on. Pure.

Everything that moved is named at once. Some of it may be forced, by name; what makes other worlds
(population, scenarios, seeds) never. Code that only carries bytes may move; that is recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from perdure.base.canonical import hash_hex
from perdure.base.errors import MovedError, UsageError
from perdure.closure import Difference
from perdure.records.fingerprint import Fingerprint
from perdure.records.registry import LogPayload, Moved, RunEntry, RunForced

# Each compared thing, and whether a run may be forced past it.
FORCEABLE: dict[str, bool] = {
    "brief": True,
    "ontology": True,
    "questions": True,
    "pins": True,
    "agent": True,
    "settings": True,
    "plugins": True,
    "files": True,
    "engine": True,
    "python": True,
    "population": False,
    "held_out": False,
    "scenarios": False,
    "seeds": False,
}
_PARTS_SHOWN = 5


def asked_then(entry: RunEntry, log: Iterable[LogPayload]) -> dict[str, str]:
    """Give the hashes of a run's inputs as they stood last: as first asked, or as forced since."""
    hashes = dict(entry.hashes)
    for row in log:
        if isinstance(row, RunForced):
            hashes.update({one.name: one.now for one in row.moved})
    return hashes


def code_then(entry: RunEntry, log: Iterable[LogPayload]) -> Fingerprint | None:
    """Give the code of a run as it stood last: as it began, or as forced since."""
    forced = [row.fingerprint for row in log if isinstance(row, RunForced) and row.fingerprint]
    return forced[-1] if forced else entry.fingerprint


def compare(was: Mapping[str, str], now: Mapping[str, str]) -> tuple[Moved, ...]:
    """List every input that moved, in the order in which they are compared."""
    return tuple(
        Moved(name=name, was=was.get(name, ""), now=value)
        for name, value in now.items()
        if name in FORCEABLE and was.get(name, "") != value
    )


def moved_code(differences: Iterable[Difference]) -> tuple[Moved, ...]:
    """Gather differences of code by their part: the engine, the plug-ins, and so on."""
    parts: dict[str, list[Difference]] = defaultdict(list)
    for one in differences:
        parts[one.part].append(one)
    return tuple(
        Moved(
            name=part,
            was=hash_hex([one.old for one in found]),
            now=hash_hex([one.new for one in found]),
            parts=tuple(one.name for one in found),
        )
        for part, found in parts.items()
    )


def require_leave(
    moved: Sequence[Moved], force: Sequence[str], where: str, diffs: Sequence[str] = ()
) -> None:
    """Refuse a run of which something moved that is not forced. `diffs` show how code moved.

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
    if all(FORCEABLE[one.name] for one in refused):
        flags = " ".join(f"--force {one.name}" for one in refused)
        remedy = f"Restore it, start another run, or go on with {flags}, which is recorded."
    else:
        remedy = "Restore what moved, or start another run in another folder."
    raise MovedError(
        f"What decides this run moved: {'; '.join(map(told_moved, refused))}.",
        moved=tuple(one.name for one in refused),
        diffs=tuple(diffs),
        where=where,
        remedy=remedy,
    )


def told_moved(one: Moved) -> str:
    """Name one thing that moved, with its parts or with what it was and is."""
    if not one.parts:
        return f"{one.name} ({one.was[:12]} then, {one.now[:12]} now)"
    more = len(one.parts) - _PARTS_SHOWN
    listed = ", ".join(one.parts[:_PARTS_SHOWN])
    return f"{one.name} ({listed}{f' and {more} more' if more > 0 else ''})"
