"""Finds attributes that are the held-out outcome under another name, or that give it away. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from perdure.population.measure import Told, folded, gain, ranges, told, weights_of
from perdure.population.pieces import Piece, pieces_of, pieces_of_id
from perdure.records.persona import AttributeValue

# Fewer rows than this beyond the first of each pair can match one-to-one by mere chance.
CONFIRMED_MIN = 6
# At most this many values are compared, those of most rows; at most so many rows are taken apart.
VALUES_MAX = 5_000
TAKEN_APART_MAX = 1_000
# Below this many rows for each value, values are also compared by their pieces and their order.
_SPARSE = 8
_PIECE_MIN = 3
ABSENT = ""

T = TypeVar("T")

BY_VALUE = "its values"
BY_ABSENCE = "its values and their absence"
BY_ORDER = "ranges of its numbers"
BY_PIECE = "a part of its text"


@dataclass(frozen=True)
class Leak:
    """An attribute that tells the outcome: by what, and how well. `told` is None for a copy."""

    name: str
    by: str
    told: Told | None = None


class Leaks:
    """Watches rows go by, and knows afterwards which attributes tell the outcome."""

    def __init__(self, attributes: Iterable[str], terms: Mapping[str, str]) -> None:
        self._values: dict[str, list[AttributeValue | None]] = {name: [] for name in attributes}
        self._outcomes: list[str] = []
        self._ids: list[str] = []
        self._terms = sorted({*terms, *terms.values()})

    def watch(self, identity: str, attributes: dict[str, AttributeValue], outcome: str) -> None:
        """Take in one row whose outcome is known."""
        self._ids.append(identity)
        self._outcomes.append(outcome)
        for name, values in self._values.items():
            values.append(attributes.get(name))

    def found(self) -> Iterator[Leak]:
        """Name the attributes that are copies of the outcome or tell it, over all rows watched."""
        for name, column in self._values.items():
            known = [
                (value, outcome)
                for value, outcome in zip(column, self._outcomes, strict=True)
                if value is not None
            ]
            if is_copy(known):
                yield Leak(name, BY_VALUE)
                continue
            leak = self._telling(name, known) or self._absence(name, column)
            if leak is not None:
                yield leak

    def in_ids(self) -> Told | None:
        """Say what the ids tell of the outcome, if they do."""
        rows = _thinned(list(zip(self._ids, self._outcomes, strict=True)), TAKEN_APART_MAX)
        return _by_pieces(
            [(pieces_of_id(identity, self._terms), outcome) for identity, outcome in rows]
        )

    def _telling(self, name: str, known: list[tuple[AttributeValue, str]]) -> Leak | None:
        measured = by_values(known)
        if measured is not None:
            return Leak(name, BY_VALUE, measured)
        if len(known) >= _SPARSE * len({value for value, _ in known}):
            return None
        rows = _thinned(known, TAKEN_APART_MAX)
        numbers = [(value, outcome) for value, outcome in rows if not isinstance(value, str)]
        measured = by_order(numbers) if len(numbers) == len(rows) else None
        if measured is not None:
            return Leak(name, BY_ORDER, measured)
        measured = _by_pieces(
            [(pieces_of(str(value), self._terms), outcome) for value, outcome in rows]
        )
        return None if measured is None else Leak(name, BY_PIECE, measured)

    def _absence(self, name: str, column: list[AttributeValue | None]) -> Leak | None:
        if None not in column:
            return None
        rows = [
            (ABSENT if value is None else value, outcome)
            for value, outcome in zip(column, self._outcomes, strict=True)
        ]
        measured = by_values(rows)
        if measured is None:
            present = [(str(value != ABSENT), outcome) for value, outcome in rows]
            measured = by_values(present)
        return None if measured is None else Leak(name, BY_ABSENCE, measured)


def is_copy(rows: Sequence[tuple[AttributeValue, str]]) -> bool:
    """Say whether each value goes with one outcome and each outcome with one value."""
    forward: dict[AttributeValue, str] = {}
    backward: dict[str, AttributeValue] = {}
    for value, outcome in rows:
        if (
            forward.setdefault(value, outcome) != outcome
            or backward.setdefault(outcome, value) != value
        ):
            return False
    return len(forward) > 1 and len(rows) - len(forward) >= CONFIRMED_MIN


def by_values(rows: Sequence[tuple[AttributeValue, str]]) -> Told | None:
    """Say what equal values tell. None if most values stand alone."""
    sizes = Counter(value for value, _ in rows)
    shared = [(value, outcome) for value, outcome in rows if sizes[value] > 1]
    if 2 * len(shared) < len(rows):
        return None
    groups = _grouped(shared).values()
    table = sorted(groups, key=lambda group: -group.total())[:VALUES_MAX]
    return told(lambda part: folded(table, part), _choices(shared), 0.0)


def by_order(rows: Sequence[tuple[int | float, str]]) -> Told | None:
    """Say what ranges of numbers tell."""
    if not rows:
        return None
    groups = _grouped(rows)
    ordered = [groups[value] for value in sorted(groups)]

    return told(lambda part: ranges(folded(ordered, part)), _choices(rows), math.log2(len(rows)))


def _by_pieces(rows: Sequence[tuple[set[Piece], str]]) -> Told | None:
    """Say what pieces of values tell: each row is put to the piece that tells most."""
    counts: defaultdict[Piece, Counter[str]] = defaultdict(Counter)
    for pieces, outcome in rows:
        for piece in pieces:
            counts[piece][outcome] += 1
    shared = {piece: count for piece, count in counts.items() if count.total() >= _PIECE_MIN}
    if not shared:
        return None
    price = math.log2(len(shared))
    total = Counter(outcome for _, outcome in rows)

    def grouped(part: tuple[str, ...]) -> list[Counter[str]]:
        weights = weights_of(folded([total], part)[0])
        most = max(weights.values())
        # What could not save its price even if it told all of its rows is not looked at.
        worth = [piece for piece in shared if (shared[piece].total() - 1) * most > price]
        tables = dict(zip(worth, folded([shared[piece] for piece in worth], part), strict=True))
        gains = {piece: gain(table, weights) - price for piece, table in tables.items()}
        gains = {piece: saved for piece, saved in gains.items() if saved > 0}
        order = sorted(gains, key=lambda piece: (-gains[piece], piece))
        rank = {piece: place for place, piece in enumerate(order)}
        rest = len(order)
        groups = _grouped(
            (min((rank.get(piece, rest) for piece in pieces), default=rest), outcome)
            for pieces, outcome in rows
        )
        return folded(list(groups.values()), part)

    return told(grouped, _choices(rows), price)


def _grouped(rows: Iterable[tuple[AttributeValue, str]]) -> dict[AttributeValue, Counter[str]]:
    groups: defaultdict[AttributeValue, Counter[str]] = defaultdict(Counter)
    for (value, outcome), count in Counter(rows).items():
        groups[value][outcome] += count
    return groups


def _choices(rows: Sequence[tuple[object, str]]) -> list[str]:
    return sorted({outcome for _, outcome in rows})


def _thinned(rows: Sequence[T], most: int) -> Sequence[T]:
    """Take every row, or every so-manieth of a long list."""
    return rows[:: -(-len(rows) // most)] if len(rows) > most else rows
