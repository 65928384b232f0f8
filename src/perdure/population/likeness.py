"""How alike two personas are in some attributes: 0 at most apart, 1 the same. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.records.persona import AttributeSpec, Persona

_UNKNOWN = 0.5


class Likeness:
    """Compares personas by their places in a population.

    A code stands at its place in the scale and a number between the least and the largest, so the
    nearer the more alike; texts are the same or not. An attribute that one of the two lacks does
    not count; with none left two are as alike as not.
    """

    def __init__(self, personas: Sequence[Persona], attributes: Sequence[AttributeSpec]) -> None:
        self._columns = [_column(personas, one) for one in attributes]
        self.is_known = bool(self._columns)

    def between(self, one: int, other: int) -> float:
        """Compare two personas. Of no attributes everybody is alike."""
        if not self._columns:
            return 1.0
        total, count = 0.0, 0
        for column in self._columns:
            left, right = column[one], column[other]
            if left is None or right is None:
                continue
            count += 1
            if isinstance(left, str) or isinstance(right, str):
                total += left == right
            else:
                total += 1.0 - abs(left - right)
        return total / count if count else _UNKNOWN

    def order_of(self, place: int) -> tuple[tuple[int, float, str], ...]:
        """Give a key by which personas who are alike stand near each other, missing values last."""
        return tuple(_sortable(column[place]) for column in self._columns)


def _sortable(value: float | str | None) -> tuple[int, float, str]:
    if value is None:
        return (1, 0.0, "")
    return (0, 0.0, value) if isinstance(value, str) else (0, value, "")


def _column(personas: Sequence[Persona], spec: AttributeSpec) -> list[float | str | None]:
    values = [one.attributes.get(spec.name) for one in personas]
    if spec.scale:
        last = max(1, len(spec.scale) - 1)
        places = {code: place / last for place, code in enumerate(spec.codes)}
        return [None if value is None else places[str(value)] for value in values]
    if spec.text:
        return [None if value is None else str(value) for value in values]
    numbers = [None if value is None else float(value) for value in values]
    held = [number for number in numbers if number is not None]
    if not held:
        return list(numbers)
    least, width = min(held), max(held) - min(held) or 1.0
    return [None if number is None else (number - least) / width for number in numbers]
