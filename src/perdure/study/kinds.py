"""What a value of a study file can be: how each kind is read, described, and refused.

A kind never looks at quotes: `5`, `"5"` and `'5'` are the same text, and the same number where a
number is due. `no`, `1:30`, `0x10`, `1_000`, `.5`, `1e3` and `nan` are text everywhere, and where a
number or a truth value is due they are refused with what to write instead.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Generic, TypeVar

from perdure.base import money, text
from perdure.study.findings import Findings, quoted, suggestion
from perdure.study.nodes import Items, Node, Scalar, Table, Void

T = TypeVar("T")
K = TypeVar("K")

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?", re.ASCII)
_DATE = re.compile(r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Spot(Generic[T]):
    """A value and its line."""

    line: int
    value: T


@dataclass(frozen=True, slots=True)
class Named(Generic[K, T]):
    """A key of a mapping, its line, and its value."""

    key: K
    line: int
    value: T


class Kind(ABC, Generic[T]):
    """One kind of value. `blank` stands in for a refused one, so that reading goes on."""

    @property
    @abstractmethod
    def blank(self) -> T:
        """A value of the right type, used only in a study that is refused anyway."""

    @property
    @abstractmethod
    def shown(self) -> str:
        """What to write, in words: `Write {shown}.` is a sentence."""

    @abstractmethod
    def read(self, node: Node, trail: str, found: Findings) -> T | None:
        """Read a node; None, with a problem among the findings, if it is not of this kind."""


class ScalarKind(Kind[T]):
    """A kind that is written as one piece of text."""

    def read(self, node: Node, trail: str, found: Findings) -> T | None:
        """Read a scalar node."""
        if isinstance(node, Void):
            return None
        if not isinstance(node, Scalar):
            shape = "a list" if isinstance(node, Items) else "a mapping"
            found.add(node.line, f"`{trail}` is {shape}.", f"Write {self.shown}.")
            return None
        return self.read_text(node.text.strip(), Scalar(node.line, trail), found)

    def refuse(self, value: str, place: Scalar, found: Findings, hint: str = "") -> None:
        """Note that a value is not of this kind."""
        wrong = f"`{place.text}` is {quoted(value)}." if value else f"`{place.text}` is empty."
        found.add(place.line, wrong, f"Write {self.shown}.{hint}")

    @abstractmethod
    def read_text(self, value: str, place: Scalar, found: Findings) -> T | None:
        """Read a stripped text; `place` holds the line and the trail of keys that led there."""


@dataclass(frozen=True)
class Text(ScalarKind[str]):
    """Text for people. White space around it does not count."""

    longest: int = 20_000
    empty: bool = False

    @property
    def blank(self) -> str:
        """An empty text."""
        return ""

    @property
    def shown(self) -> str:
        """A text of a bounded length."""
        return f"text of up to {self.longest:,} characters"

    def read_text(self, value: str, place: Scalar, found: Findings) -> str | None:
        """Read a text that is neither empty nor too long."""
        if len(value) > self.longest:
            wrong = f"`{place.text}` has {len(value):,} characters."
            found.add(place.line, wrong, f"Write {self.shown}.")
            return None
        if not value and not self.empty:
            self.refuse(value, place, found)
            return None
        return value


@dataclass(frozen=True)
class Shaped(ScalarKind[str]):
    """Text of a fixed shape, such as an address or the name of a class."""

    pattern: str
    what: str
    such_as: str
    longest: int = 200

    @property
    def blank(self) -> str:
        """The example."""
        return self.such_as

    @property
    def shown(self) -> str:
        """The shape and an example."""
        return f"{self.what}, such as `{self.such_as}`"

    def fits(self, value: str) -> bool:
        """Say whether a text has the shape."""
        return len(value) <= self.longest and bool(re.fullmatch(self.pattern, value, re.ASCII))

    def read_text(self, value: str, place: Scalar, found: Findings) -> str | None:
        """Read a text that has the shape."""
        if not self.fits(value):
            self.refuse(value, place, found)
            return None
        return value


@dataclass(frozen=True)
class Day(ScalarKind[str]):
    """A date that there is, with its year, month and day."""

    @property
    def blank(self) -> str:
        """A date."""
        return "2026-01-05"

    @property
    def shown(self) -> str:
        """How a date is written."""
        return "a date with year, month and day, such as `2026-01-05`"

    def read_text(self, value: str, place: Scalar, found: Findings) -> str | None:
        """Read a date that is in the calendar of its year."""
        if _DATE.fullmatch(value):
            try:
                return date.fromisoformat(value).isoformat()
            except ValueError:
                found.add(place.line, f"There is no date {quoted(value)}.", f"Write {self.shown}.")
                return None
        self.refuse(value, place, found)
        return None


@dataclass(frozen=True)
class Name(ScalarKind[str]):
    """An id: safe as a file name, as a key and as a word on a terminal."""

    @property
    def blank(self) -> str:
        """No id."""
        return ""

    @property
    def shown(self) -> str:
        """What an id may hold."""
        return (
            "an id of 1 to 64 Latin letters, digits, `.`, `_` and `-`, "
            "starting with a letter or digit"
        )

    def read_text(self, value: str, place: Scalar, found: Findings) -> str | None:
        """Read an id."""
        if not text.is_plain_identifier(value):
            self.refuse(value, place, found)
            return None
        return value


@dataclass(frozen=True)
class Word(ScalarKind[str]):
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def blank(self) -> str:
        """The first word."""
        return self.words[0]

    @property
    def shown(self) -> str:
        """The words."""
        words = ", ".join(f"`{word}`" for word in self.words)
        return f"one of {words}" if len(self.words) > 1 else words

    def read_text(self, value: str, place: Scalar, found: Findings) -> str | None:
        """Read one of the words."""
        if value not in self.words:
            remedy = (
                suggestion(value, self.words) if len(self.words) > 1 else f"Write {self.shown}."
            )
            found.add(place.line, f"`{place.text}` is {quoted(value)}.", remedy)
            return None
        return value


@dataclass(frozen=True)
class WordOr(Kind[Any]):
    """One of a few words that stand for something, or that something written out."""

    words: tuple[str, ...]
    other: Kind[Any]

    @property
    def blank(self) -> Any:
        """That of what is written out."""
        return self.other.blank

    @property
    def shown(self) -> str:
        """Both."""
        return f"{self.other.shown}; or {Word(self.words).shown}"

    def read(self, node: Node, trail: str, found: Findings) -> Any:
        """Read a word where there is a text, and else what is written out."""
        kind = Word(self.words) if isinstance(node, Scalar) else self.other
        return kind.read(node, trail, found)


@dataclass(frozen=True)
class Switch(ScalarKind[bool]):
    """`true` or `false`, and no other spelling."""

    @property
    def blank(self) -> bool:
        """Off."""
        return False

    @property
    def shown(self) -> str:
        """The two words."""
        return "`true` or `false`"

    def read_text(self, value: str, place: Scalar, found: Findings) -> bool | None:
        """Read a truth value."""
        if value not in {"true", "false"}:
            self.refuse(value, place, found)
            return None
        return value == "true"


@dataclass(frozen=True)
class Whole(ScalarKind[int]):
    """A whole number in plain digits."""

    least: int
    most: int

    @property
    def blank(self) -> int:
        """The least number."""
        return self.least

    @property
    def shown(self) -> str:
        """The range."""
        if self.least == self.most:
            return f"`{self.least}`"
        return f"a whole number from {self.least} to {self.most}, in plain digits"

    def read_text(self, value: str, place: Scalar, found: Findings) -> int | None:
        """Read a whole number within the range."""
        if _WHOLE.fullmatch(value) and self.least <= int(value) <= self.most:
            return int(value)
        self.refuse(value, place, found)
        return None


@dataclass(frozen=True)
class Number(ScalarKind[float]):
    """A number in plain decimal digits."""

    least: float
    most: float

    @property
    def blank(self) -> float:
        """The least number."""
        return self.least

    @property
    def shown(self) -> str:
        """The range."""
        return f"a number from {self.least:g} to {self.most:.12g}, in plain decimals such as 0.5"

    def read_text(self, value: str, place: Scalar, found: Findings) -> float | None:
        """Read a number within the range. Minus zero is zero, so that equal numbers are equal."""
        if _NUMBER.fullmatch(value) and self.least <= float(value) <= self.most:
            return float(value) + 0.0
        self.refuse(value, place, found)
        return None


@dataclass(frozen=True)
class Money(ScalarKind[int]):
    """An amount of the study's currency, kept exactly as whole nano-units."""

    most: int = 1_000_000

    @property
    def blank(self) -> int:
        """Nothing."""
        return 0

    @property
    def shown(self) -> str:
        """The range."""
        return f"an amount from 0 to {self.most}, in plain decimals such as 0.15"

    def read_text(self, value: str, place: Scalar, found: Findings) -> int | None:
        """Read an amount; at most nine decimals, so that nothing is rounded."""
        if _NUMBER.fullmatch(value) and 0 <= Decimal(value) <= self.most:
            amount = Decimal(value) * money.NANO
            if amount == amount.to_integral_value():
                return money.nano(Decimal(value))
        self.refuse(value, place, found, " At most nine decimals.")
        return None


@dataclass(frozen=True)
class ListOf(Kind[tuple[Spot[T], ...]]):
    """A list of values of one kind."""

    item: Kind[T]
    least: int = 0
    most: int = 1_000

    @property
    def blank(self) -> tuple[Spot[T], ...]:
        """An empty list."""
        return ()

    @property
    def shown(self) -> str:
        """The kind of the items."""
        return f"a list, each item {self.item.shown}"

    def read(self, node: Node, trail: str, found: Findings) -> tuple[Spot[T], ...] | None:
        """Read a list; items that are refused are left out."""
        if isinstance(node, Void):
            return None
        if not isinstance(node, Items):
            found.add(node.line, f"`{trail}` is not a list.", f"Write {self.shown}.")
            return None
        if not self.least <= len(node.nodes) <= self.most:
            wrong = f"`{trail}` has {len(node.nodes)} items."
            found.add(node.line, wrong, f"Write {self.least} to {self.most} items.")
            return None
        read = [
            (item.line, self.item.read(item, f"{trail}[{index}]", found))
            for index, item in enumerate(node.nodes)
        ]
        return tuple(Spot(line, value) for line, value in read if value is not None)


@dataclass(frozen=True)
class MapOf(Kind[tuple[Named[K, T], ...]]):
    """A mapping whose keys the author chooses."""

    key: ScalarKind[K]
    value: Kind[T]
    least: int = 0
    most: int = 1_000

    @property
    def blank(self) -> tuple[Named[K, T], ...]:
        """An empty mapping."""
        return ()

    @property
    def shown(self) -> str:
        """The kinds of keys and values."""
        return f"a mapping from {self.key.shown} to {self.value.shown}"

    def read(self, node: Node, trail: str, found: Findings) -> tuple[Named[K, T], ...] | None:
        """Read a mapping; entries that are refused are left out."""
        if isinstance(node, Void):
            return None
        if not isinstance(node, Table):
            found.add(
                node.line, f"`{trail}` is not a mapping.", "Write `key: value` lines under it."
            )
            return None
        if not self.least <= len(node.entries) <= self.most:
            wrong = f"`{trail}` has {len(node.entries)} entries."
            found.add(node.line, wrong, f"Write {self.least} to {self.most} entries.")
            return None
        named: list[Named[K, T]] = []
        first: dict[K, int] = {}
        for entry in node.entries:
            place = Scalar(entry.line, f"{trail} (key)")
            key = self.key.read_text(entry.key.strip(), place, found)
            below = f"{trail}.{text.one_line(entry.key, 64)}"
            value = self.value.read(entry.node, below, found)
            # Written differently, two keys can still be read as one: `1` and `"1 "`, `0` and `-0`.
            if key is not None and key in first:
                wrong = f"The key {quoted(entry.key)} is already on line {first[key]}."
                found.add(entry.line, wrong, "Keep one of the two.")
            elif key is not None:
                first[key] = entry.line
            if key is not None and value is not None:
                named.append(Named(key, entry.line, value))
        return tuple(named)


@dataclass(frozen=True)
class Free(Kind[dict[str, Any]]):
    """A mapping that only the author's own plug-in reads. Every scalar in it is text."""

    @property
    def blank(self) -> dict[str, Any]:
        """An empty mapping."""
        return {}

    @property
    def shown(self) -> str:
        """What it may hold."""
        return "a mapping of anything; every value in it is passed on as text"

    def read(self, node: Node, trail: str, found: Findings) -> dict[str, Any] | None:
        """Read a mapping of anything."""
        if isinstance(node, Void):
            return None
        if not isinstance(node, Table):
            found.add(
                node.line, f"`{trail}` is not a mapping.", "Write `key: value` lines under it."
            )
            return None
        return {entry.key: _plain(entry.node) for entry in node.entries}


@dataclass(frozen=True)
class Anything(Kind[Any]):
    """Whatever a plug-in's own settings may hold at some place. Every scalar in it is text."""

    @property
    def blank(self) -> Any:
        """An empty text."""
        return ""

    @property
    def shown(self) -> str:
        """What it may be."""
        return "anything, passed on as text"

    def read(self, node: Node, trail: str, found: Findings) -> Any:  # noqa: ARG002 - as the others
        """Read anything."""
        return None if isinstance(node, Void) else _plain(node)


def _plain(node: Node) -> Any:
    if isinstance(node, Table):
        return {entry.key: _plain(entry.node) for entry in node.entries}
    if isinstance(node, Items):
        return [_plain(item) for item in node.nodes]
    return node.text if isinstance(node, Scalar) else ""
