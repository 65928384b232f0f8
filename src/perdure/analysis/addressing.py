"""A figure of a report with its address, and what every part of a report has addresses made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from perdure.analysis.evidence import (
    Part,
)
from perdure.analysis.report import Report, WorldLine

Path: TypeAlias = tuple[str | int, ...]

STANDS = "the registry: where each world stands"
HELD_OUT = "the registry: the held-out values of the personas"
ENTRY = "the registry: the run as asked"


class Figure(NamedTuple):
    """A figure of a report.

    `says` tells in words what it is, `how` how it comes out of what it rests on. `at` are its
    places in the report, the first being that of its row. `rows` names kinds of rows of the run log
    that it comes from, `beside` what else it comes from that is no event.
    """

    address: str
    says: str
    how: str
    at: tuple[Path, ...]
    parts: tuple[Part, ...] = ()
    rows: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


class Section:
    """Some figures of a report, which share its worlds."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.worlds: dict[str, list[WorldLine]] = {}
        for world in report.worlds:
            self.worlds.setdefault(world.scenario, []).append(world)
        self.all = tuple(world.world_id for world in report.worlds)

    def ids(self, scenario: str) -> tuple[str, ...]:
        """Name the worlds of a scenario."""
        return tuple(one.world_id for one in self.worlds.get(scenario, ()))

    def ended(self, scenario: str) -> tuple[str, ...]:
        """Name the worlds of a scenario that closed its last tick."""
        mine = self.worlds.get(scenario, ())
        last = max((one.horizon for one in mine), default=0) - 1
        return tuple(one.world_id for one in mine if one.tick == last)

    def partners(self, scenario: str, reference: str) -> tuple[tuple[str, str], ...]:
        """Pair each world of a scenario with the reference's of the same seed."""
        theirs = {one.seed: one.world_id for one in self.worlds.get(reference, ())}
        return tuple(
            (one.world_id, theirs[one.seed])
            for one in self.worlds.get(scenario, ())
            if one.seed in theirs
        )

    def labels(self, question: str) -> Mapping[str, str]:
        """Give the words of a question's choices."""
        return next((one.choices for one in self.report.questions if one.id == question), {})


def value_at(report: Report, path: Path) -> object:
    """Give what stands at a place in a report.

    Raises:
        LookupError: there is no such place.

    """
    found: object = report
    for key in path:
        if isinstance(found, Mapping):
            found = found[str(key)]
        elif isinstance(key, int) and isinstance(found, Sequence):
            found = found[key]
        else:
            try:
                found = getattr(found, str(key))
            except AttributeError as error:
                raise LookupError(path) from error
    return found


def has_value(report: Report, path: Path) -> bool:
    """Say whether there is such a place in a report."""
    try:
        value_at(report, path)
    except LookupError:
        return False
    return True
