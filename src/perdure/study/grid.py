"""A grid: keys of a scenario that take each value of a list, and the scenarios that this makes.

A cell is the scenario that its author could have written out by hand, and nothing in it says that
it came from a grid. Its id is made of the scenario's own and of what varies, and is an id like any
other; it does not depend on the order of the keys or of the values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from perdure.base import text
from perdure.base.canonical import encode, hash_hex
from perdure.study.findings import Findings, quoted, suggestion
from perdure.study.kinds import Anything, Free, Kind, MapOf, Named, Spot
from perdure.study.nodes import Entry, Items, Node, Scalar, Table, Void
from perdure.study.section import Field, Group, Section

JOINT = "--"

_ID_MAX = 64
_LABEL_MAX = 32
_SLUG_MAX = 16
_DIGITS = 6
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_NOT_VARIED = {
    "id": "Leave it out: the id of a cell is made of its scenario's id and of what varies.",
    "seed": "Write `seeds:` at the top of the file: each cell is run once with each of them.",
    "seeds": "Write `seeds:` at the top of the file: each cell is run once with each of them.",
}


@dataclass(frozen=True)
class Axis:
    """One key of a grid with its values, each with its line; none if all of them are refused.

    `inner` leads from the field to the place in it that varies; empty if all of it does. On the way
    through a section it has the field, else the key.
    """

    key: str
    field: Field[Any]
    inner: tuple[Any, ...]
    line: int
    values: tuple[Spot[Any], ...]

    def within(self, section: Section, value: Spot[Any], whole: Any) -> Section:
        """Give the scenario with one of the values. `whole` is what the field is without it."""
        return section.changed(self.field, value.line, _put(whole, self.inner, value))

    def blocked(self, whole: Any) -> str:
        """Name the first thing on the way inward that holds nothing; empty if there is none."""
        names = [self.field.key]
        for name in self.inner:
            if isinstance(name, Field):
                if not isinstance(whole, Section):
                    return ".".join(names)
                whole = whole.get(name) if whole.has(name) else None
                names.append(name.key)
            elif isinstance(self.field.kind, Free):
                if not isinstance(whole, dict):
                    return ".".join(names)
                whole = whole.get(name, {})
                names.append(name)
        return ""


def _put(whole: Any, inner: tuple[Any, ...], value: Spot[Any]) -> Any:
    """Give what stands at some place with a value put in further inward."""
    if not inner:
        return value.value
    name, *rest = inner
    if isinstance(name, Field):
        below = whole.get(name) if whole.has(name) else name.otherwise
        return whole.changed(name, value.line, _put(below, tuple(rest), value))
    if isinstance(whole, dict):
        return {**whole, name: _put(whole.get(name, {}), tuple(rest), value)}
    kept = tuple(one for one in whole or () if one.key != name)
    return (*kept, Named(name, value.line, value.value))


@dataclass(frozen=True, eq=False)
class Grid(Kind[tuple[Axis, ...]]):
    """Some of these fields, each with a list of values, in the order of their names."""

    fields: tuple[Field[Any], ...]

    @property
    def blank(self) -> tuple[Axis, ...]:
        """No grid."""
        return ()

    @property
    def shown(self) -> str:
        """What it holds."""
        return "a mapping from keys of a scenario to the list of the values that each takes"

    def read(self, node: Node, trail: str, found: Findings) -> tuple[Axis, ...] | None:
        """Read a grid; keys that are refused are left out."""
        if isinstance(node, Void):
            return None
        if not isinstance(node, Table) or not node.entries:
            wrong = f"`{trail}` is not a mapping." if not isinstance(node, Table) else ""
            remedy = "Write lines such as `activation: [0.5, 1]` under it."
            found.add(node.line, wrong or f"`{trail}` is empty.", remedy)
            return None
        axes = [self._axis(entry, trail, found) for entry in node.entries]
        ordered = sorted((axis for axis in axes if axis is not None), key=lambda axis: axis.key)
        return tuple(_apart(ordered, trail, found))

    def _axis(self, entry: Entry, trail: str, found: Findings) -> Axis | None:
        name, *inner = entry.key.strip().split(".")
        field = next((field for field in self.fields if field.key == name), None)
        if field is None:
            known = [field.key for field in self.fields]
            wrong = f"The key {quoted(entry.key)} in `{trail}` is not one that can vary."
            found.add(entry.line, wrong, _NOT_VARIED.get(name) or suggestion(name, known))
            return None
        below = f"{trail}.{text.one_line(entry.key.strip(), _ID_MAX)}"
        way = _way(field, inner, Scalar(entry.line, below), found)
        if way is None:
            return None
        places, kind = way
        values = _values(entry, kind, below, found)
        return Axis(entry.key.strip(), field, places, entry.line, values)


def _way(
    field: Field[Any], inner: list[str], place: Scalar, found: Findings
) -> tuple[tuple[Any, ...], Kind[Any]] | None:
    """Follow the names after the first: give the places they lead to, and what stands there."""
    kind = field.kind
    if not inner:
        return (), kind
    if isinstance(kind, Group):
        below = next((one for one in kind.fields if one.key == inner[0]), None)
        if below is None:
            wrong = f"`{place.text}` names nothing in `{field.key}`."
            found.add(place.line, wrong, suggestion(inner[0], [one.key for one in kind.fields]))
            return None
        way = _way(below, inner[1:], place, found)
        return None if way is None else ((below, *way[0]), way[1])
    if isinstance(kind, Free) and all(inner):
        return tuple(inner), Anything()
    if isinstance(kind, MapOf) and len(inner) == 1:
        key = kind.key.read_text(inner[0], place, found)
        return None if key is None else ((key,), kind.value)
    wrong = f"`{place.text}` names nothing in `{field.key}`."
    found.add(place.line, wrong, f"Write `{field.key}:` and a list of its values.")
    return None


def _values(entry: Entry, kind: Kind[Any], trail: str, found: Findings) -> tuple[Spot[Any], ...]:
    node = entry.node
    if isinstance(node, Void):
        return ()
    if not isinstance(node, Items) or not node.nodes:
        wrong = f"`{trail}` has no values." if isinstance(node, Items) else ""
        remedy = f"Write a list of values, each {kind.shown}."
        found.add(entry.line, wrong or f"`{trail}` is not a list.", remedy)
        return ()
    values: list[Spot[Any]] = []
    seen: set[bytes] = set()
    for index, item in enumerate(node.nodes):
        value = kind.read(item, f"{trail}[{index}]", found)
        if value is None:
            continue
        if (same := encode(_bare(value))) in seen:
            wrong = f"`{trail}` has the value {quoted(label(value))} twice."
            found.add(item.line, wrong, "Keep one of the two.")
            continue
        seen.add(same)
        values.append(Spot(item.line, value))
    return tuple(values)


def _apart(axes: list[Axis], trail: str, found: Findings) -> Iterator[Axis]:
    """Leave out a key that lies inside another one: both would say what stands there."""
    for axis in axes:
        around = next((one.key for one in axes if axis.key.startswith(f"{one.key}.")), None)
        if around is None:
            yield axis
        else:
            wrong = f"`{axis.key}` in `{trail}` lies inside `{around}`, which varies too."
            found.add(axis.line, wrong, "Vary one of the two.")


def size(axes: tuple[Axis, ...]) -> int:
    """Count the cells of a grid, without making them."""
    return math.prod(len(axis.values) for axis in axes)


def cells(
    scenario: Named[str, Section], axes: tuple[Axis, ...], timeline: Section
) -> Iterator[Named[str, Section]]:
    """Make the scenarios of a grid, one after the other; the last key varies fastest.

    A key whose values are all refused is there in each of them, without a value.
    """
    bare = scenario.value
    wholes = {}
    for axis in axes:
        if not axis.values:
            bare = bare.changed(axis.field, axis.line, None)
    sound = [axis for axis in axes if axis.values]
    for axis in sound:
        where = bare if bare.present(axis.field) else timeline
        wholes[axis.field.key] = where.get(axis.field)
        if blocked := axis.blocked(wholes[axis.field.key]):
            wrong = f"`{blocked}` is not a mapping, so `{axis.key}` cannot vary."
            bare.found.add(axis.line, wrong, f"Vary `{blocked}`, or make it a mapping.")
            return
    for chosen in product(*(axis.values for axis in sound)):
        section, now = bare, dict(wholes)
        for axis, value in zip(sound, chosen, strict=True):
            section = axis.within(section, value, now[axis.field.key])
            now[axis.field.key] = section.get(axis.field)
        varied = {axis.key: value.value for axis, value in zip(sound, chosen, strict=True)}
        yield Named(cell_id(scenario.key, varied), scenario.line, section)


def cell_id(scenario: str, varied: Mapping[str, Any]) -> str:
    """Make the id of a cell: its scenario's, then each key that varies with its value.

    An id has 64 characters at most: the end of a longer one gives way to digits of its hash.
    """
    parts = [f"{_word(key)}-{label(value)}" for key, value in varied.items()]
    whole = JOINT.join([scenario, *parts])
    if len(whole) <= _ID_MAX:
        return whole
    digits = hash_hex(whole)[: 2 * _DIGITS]
    return f"{whole[: _ID_MAX - len(digits) - len(JOINT)]}{JOINT}{digits}"


def varied_in(scenario: str) -> tuple[str, dict[str, str]]:
    """Take a scenario's id apart: its own part, and each key that varies with its value's name.

    An id that no grid made, or whose end gave way to a hash, stays whole.
    """
    own, *parts = scenario.split(JOINT)
    pairs = [part.partition("-") for part in parts]
    if len(scenario) >= _ID_MAX or not all(key and value for key, _, value in pairs):
        return scenario, {}
    return own, {key: value for key, _, value in pairs}


def label(value: Any) -> str:
    """Name a value in a few plain characters: itself if it is a word, a number or whole numbers.

    A list of one word is named as that word is.

    Anything else is named by the letters and digits in it and by digits of its hash.
    """
    bare = _bare(value)
    if isinstance(bare, list) and bare and all(isinstance(one, int) for one in bare):
        shown = "-".join(map(_number, bare))
    elif isinstance(bare, list) and len(bare) == 1 and isinstance(bare[0], str):
        shown = bare[0]
    else:
        shown = "" if isinstance(bare, list | dict) else _number(bare)
    if _PLAIN.fullmatch(shown) and len(shown) <= _LABEL_MAX:
        return shown
    slug = _slug(" ".join(_leaves(bare)))
    return "-".join(filter(None, (slug, hash_hex(bare)[:_DIGITS])))


def _word(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else f"{_slug(key)}-{hash_hex(key)[:_DIGITS]}"


def _slug(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")[:_SLUG_MAX].strip("-")


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _leaves(bare: Any) -> Iterator[str]:
    if isinstance(bare, dict):
        for key, value in bare.items():
            yield str(key)
            yield from _leaves(value)
    elif isinstance(bare, list):
        for value in bare:
            yield from _leaves(value)
    else:
        yield _number(bare)


def _bare(value: Any) -> Any:
    """Give a value as read, without the lines that it is written on."""
    if isinstance(value, tuple):
        if value and isinstance(value[0], Named):
            return {str(one.key): _bare(one.value) for one in value}
        return [_bare(one) for one in value]
    if isinstance(value, Section):
        return {key: _bare(one) for key, one in sorted(value.values().items())}
    return _bare(value.value) if isinstance(value, Spot) else value
