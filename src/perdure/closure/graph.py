"""An import closure: what a program's entries reach, and by which way. Pure."""

from __future__ import annotations

from perdure.closure.facts import Unknown
from perdure.closure.places import Module
from perdure.records.record import Record

# How a module is reached that no import leads to: Python loads it by itself, or a process did.
STARTUP, LOADED = "startup", "loaded"


class Edge(Record):
    """One import of one module by another, or the entry that starts everything (no importer).

    `how` is a word for people: entry, import, package, string, command, entry point, registry,
    declared, typing; startup and loaded have no importer either.
    """

    importer: str
    imported: str
    line: int = 0
    how: str = "import"


class Closure(Record):
    """What the entries of a program reach.

    `because` has the first import by which each module was reached, so that following it leads back
    to an entry in the fewest steps. `typing` are imports that only a type checker sees; `absent`
    are imports whose failure is expected and that lead nowhere; neither is in the closure.
    `outside` has the first import by which each distribution was reached, and `standard` are the
    top-level names of the standard library.
    """

    entries: tuple[str, ...]
    modules: dict[str, Module]
    because: dict[str, Edge]
    distributions: dict[str, str]
    typing: tuple[Edge, ...] = ()
    absent: tuple[Edge, ...] = ()
    standard: tuple[str, ...] = ()
    outside: dict[str, Edge] = {}  # noqa: RUF012 - a record copies its defaults
    unknown: tuple[Unknown, ...] = ()


def way_to(closure: Closure, name: str) -> tuple[Edge, ...]:
    """Give the imports that lead from an entry to a module, in order; empty if none do."""
    way: list[Edge] = []
    edge = closure.because.get(name)
    while edge is not None:
        way.append(edge)
        edge = closure.because.get(edge.importer)
    return tuple(reversed(way))
