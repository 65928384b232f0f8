"""The tree that a study file is read into: text, lists and mappings, each with its line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scalar:
    """A piece of text as written, whatever its quotes: only the schema gives it a type."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    line: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping, the line it is on, and what it leads to."""

    key: str
    line: int
    node: Node


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping, in the order of the file; no key appears twice."""

    line: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Void:
    """The place of something that was refused, so that it is not reported a second time."""

    line: int


Node = Scalar | Items | Table | Void
