"""What moved between a run as it was asked and as it is asked now, and whether it may go on. Pure.

Everything that moved is named at once. Some of it may be forced, by name; what makes other worlds
(population, graph, scenarios, seeds) never. Code that only carries bytes may move, on record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from perdure.base.canonical import hash_hex
from perdure.base.errors import MovedError, UsageError
from perdure.base.money import show
from perdure.closure.compare import Difference, Part
from perdure.records.budget import Budget
from perdure.records.registry import Moved
from perdure.runner.edits import differences
from perdure.study.findings import suggestion

# Each compared thing, and why a run cannot be forced past it; empty where it can.
_OTHER_WORLDS = "it makes other worlds"
NEVER: dict[str, str] = {
    "name": "",
    "brief": "",
    "ontology": "",
    "questions": "",
    "pins": "",
    "prices": "",
    "agent": "",
    "anchors": "",
    "settings": "",
    "plugins": "",
    "files": "",
    "engine": "",
    "python": "",
    "population": _OTHER_WORLDS,
    "graph": _OTHER_WORLDS,
    "scenarios": _OTHER_WORLDS,
    "seeds": _OTHER_WORLDS,
    "held_out": "the record holds the values that answers are compared with at the end",
    "budget": "a change of it is recorded, by `perdure budget`",
    "currency": "what was spent and what will be spent could not be summed",
}
FORCEABLE = tuple(name for name, reason in NEVER.items() if not reason)

_PARTS_MAX = 8
_DIFF_LINES_MAX = 400


def compare(
    was: Mapping[str, str], now: Mapping[str, str], say: Callable[[str], Iterable[str]]
) -> tuple[Moved, ...]:
    """List every input whose hash moved. `say` says of one, by name, what of it moved."""
    return tuple(
        Moved(name=name, was=was.get(name, ""), now=value, parts=_bounded(say(name)))
        for name, value in now.items()
        if name in NEVER and was.get(name, "") != value
    )


def moved_budget(was: Budget, now: Budget, currency: str) -> tuple[Moved, ...]:
    """Say whether the study's budget was edited; what the run's own became since is no edit."""
    was_told, now_told = (_budget(one, currency) for one in (was, now))
    return compare(
        {"budget": hash_hex(was)},
        {"budget": hash_hex(now)},
        lambda _: differences(was_told, now_told),
    )


def moved_code(differences: Iterable[Difference]) -> tuple[Moved, ...]:
    """Gather differences of code by their part: the engine, the plug-ins, and so on."""
    parts: dict[str, list[Difference]] = defaultdict(list)
    for one in differences:
        parts[one.part].append(one)
    return tuple(_gathered(part, found) for part, found in parts.items())


def require_forceable(force: Iterable[str]) -> None:
    """Refuse a force of what can never be forced, or of what is not compared.

    Raises:
        UsageError: something is forced that cannot be; says why, and what to do.

    """
    for name in force:
        if name not in NEVER:
            raise UsageError(
                f"--force {name} names nothing that is compared.",
                remedy=suggestion(name, FORCEABLE),
            )
        if NEVER[name]:
            raise UsageError(
                f"--force {name} is not possible: {NEVER[name]}.",
                remedy="Restore it, or start another run in another folder. These may be forced: "
                f"{', '.join(FORCEABLE)}.",
            )


def require_leave(
    moved: Sequence[Moved], force: Sequence[str], where: str, diffs: Sequence[str] = ()
) -> None:
    """Refuse a run of which something moved that is not forced. `diffs` show how code moved.

    Raises:
        MovedError: something moved and is not forced; names all of it.

    """
    refused = [one for one in moved if one.name not in force]
    if not refused:
        return
    never = [one.name for one in refused if NEVER[one.name]]
    if never:
        reasons = "; ".join(f"{name}, for {NEVER[name]}" for name in never)
        remedy = (
            "Restore what moved, or start another run in another folder. "
            f"This cannot be forced: {reasons}."
        )
    else:
        flags = " ".join(f"--force {one.name}" for one in refused)
        remedy = (
            f"Restore it, start another run in another folder, or go on with {flags}, "
            "which is recorded and marks the results for ever."
        )
    raise MovedError(
        f"What decides this run moved: {'; '.join(map(told, refused))}.",
        moved=tuple(one.name for one in refused),
        diffs=tuple(_shortened(diffs)),
        where=where,
        remedy=remedy,
    )


def told(one: Moved) -> str:
    """Say what moved of one thing, with its old and new value."""
    if not one.parts:
        return f"{one.name} ({_short(one.was)} then, {_short(one.now)} now)"
    return f"{one.name} ({'; '.join(one.parts)})"


def _budget(budget: Budget, currency: str) -> dict[str, object]:
    """Give a budget with its amounts as people read them."""
    amounts = {"amount": budget.amount, "ceiling": budget.ceiling}
    told = {name: None if one is None else show(one, currency) for name, one in amounts.items()}
    return msgspec.structs.asdict(budget) | told


def _bounded(parts: Iterable[str]) -> tuple[str, ...]:
    rest = iter(parts)
    kept = tuple(islice(rest, _PARTS_MAX))
    more = sum(1 for _ in rest)
    return (*kept, f"and {more} more") if more else kept


def _gathered(part: str, found: Sequence[Difference]) -> Moved:
    if part == Part.PYTHON:
        return Moved(name=part, was=found[0].old, now=found[0].new)
    return Moved(
        name=part,
        was=hash_hex([one.old for one in found]),
        now=hash_hex([one.new for one in found]),
        parts=_bounded(_part(one) for one in found),
    )


def _part(one: Difference) -> str:
    if not one.old or not one.new:
        return f"{one.name} is {'gone' if one.old else 'new'}"
    if one.part in {Part.FILES, Part.DISTRIBUTIONS}:
        return f"{one.name} was {_short(one.old)} and is {_short(one.new)}"
    return one.name


def _short(value: str) -> str:
    """Write a version as it is, and a hash by its beginning."""
    return value[:12] if value else "nothing"


def _shortened(diffs: Iterable[str]) -> Iterator[str]:
    """Cut what is shown of many diffs, and say so."""
    left = _DIFF_LINES_MAX
    skipped = 0
    for diff in diffs:
        lines = diff.splitlines()
        if left <= 0:
            skipped += 1
            continue
        if len(lines) > left:
            lines = [*lines[:left], f"... {len(lines) - left} more lines of this diff"]
        left -= len(lines)
        yield "\n".join(lines)
    if skipped:
        yield f"... and the diffs of {skipped} more modules"
