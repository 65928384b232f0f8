"""A mapping with known keys: its fields, how it is read, and where each of its values stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from perdure.study.findings import Findings, nearest, quoted, suggestion
from perdure.study.kinds import Kind
from perdure.study.nodes import Entry, Node, Table, Void

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Field(Generic[T]):
    """One known key: its kind, whether it must be there, and the value that stands in if not.

    `about` is its line in the reference. `default` is what the author gets by leaving it out, in
    words for the reference; `otherwise` is the value itself.
    """

    key: str
    kind: Kind[T]
    about: str
    required: bool = False
    otherwise: T | None = None
    default: str = ""


class Section:
    """A mapping that was read: every known field, with its line. `sound` if nothing was wrong."""

    def __init__(self, trail: str, line: int, found: Findings) -> None:
        self.trail = trail
        self.line = line
        self.found = found
        self.sound = True
        self._lines: dict[str, int] = {}
        self._values: dict[str, Any] = {}

    def fill(self, entries: tuple[Entry, ...], fields: tuple[Field[Any], ...]) -> None:
        """Read every entry by its field; note unknown keys and missing fields."""
        before = len(self.found)
        known = {field.key: field for field in fields}
        for entry in entries:
            field = known.get(entry.key)
            if field is None:
                place = f" in `{self.trail}`" if self.trail else ""
                wrong = f"The key {quoted(entry.key)}{place} is not known."
                self.found.add(entry.line, wrong, suggestion(entry.key, known))
                continue
            self._lines[entry.key] = entry.line
            value = field.kind.read(entry.node, self._below(entry.key), self.found)
            if value is not None:
                self._values[entry.key] = value
        # A key that is misspelt is one mistake, not a second one for what it was to be.
        meant = {nearest(entry.key, known) for entry in entries if entry.key not in known}
        for field in fields:
            if field.required and field.key not in self._lines and field.key not in meant:
                wrong = f"`{self._below(field.key)}` is missing."
                self.found.add(self.line, wrong, f"Write `{field.key}:` and {field.kind.shown}.")
        self.sound = len(self.found) == before

    def _below(self, key: str) -> str:
        return f"{self.trail}.{key}" if self.trail else key

    def present(self, field: Field[Any]) -> bool:
        """Say whether the author wrote this field, good or bad."""
        return field.key in self._lines

    def has(self, field: Field[Any]) -> bool:
        """Say whether the field is there and was read."""
        return field.key in self._values

    def get(self, field: Field[T]) -> T:
        """Return the field's value: as read, or what stands in for it."""
        if field.key in self._values:
            return cast("T", self._values[field.key])
        if self.present(field) or field.otherwise is None:
            return field.kind.blank
        return field.otherwise

    def values(self) -> Mapping[str, Any]:
        """Give the values of all fields that were read, by key."""
        return self._values

    def changed(self, field: Field[T], line: int, value: T | None) -> Section:
        """Give the same section with another value of a field; with None it is there, but bad."""
        other = Section(self.trail, self.line, self.found)
        other.sound = self.sound and value is not None
        other._lines = {**self._lines, field.key: line}
        other._values = {key: held for key, held in self._values.items() if key != field.key}
        if value is not None:
            other._values[field.key] = value
        return other

    def line_of(self, field: Field[Any]) -> int:
        """Return the line of a field, or of the section if the field is not there."""
        return self._lines.get(field.key, self.line)

    def wrong(self, field: Field[Any], wrong: str, remedy: str) -> None:
        """Note a problem at a field's line."""
        self.found.add(self.line_of(field), wrong, remedy)


@dataclass(frozen=True, eq=False)
class Group(Kind[Section]):
    """A nested mapping with known keys. `name` is its heading in the reference.

    With `short`, a plain text may be written in place of the mapping, and is that field's value.
    """

    name: str
    fields: tuple[Field[Any], ...]
    about: str = ""
    short: Field[str] | None = None

    @property
    def blank(self) -> Section:
        """A section without fields, whose findings go nowhere."""
        return Section("", 0, Findings(""))

    @property
    def shown(self) -> str:
        """The keys that must be there."""
        keys = ", ".join(f"`{field.key}`" for field in self.fields if field.required)
        return f"a mapping with {keys}" if keys else "a mapping"

    def read(self, node: Node, trail: str, found: Findings) -> Section | None:
        """Read a mapping by its fields."""
        if isinstance(node, Void):
            return None
        section = Section(trail, node.line, found)
        if self.short is not None and not isinstance(node, Table):
            entry = Entry(self.short.key, node.line, node)
            section.fill((entry,), self.fields)
        elif isinstance(node, Table):
            section.fill(node.entries, self.fields)
        else:
            found.add(node.line, f"`{trail}` is not a mapping.", f"Write {self.shown}.")
            return None
        return section
