"""Finds attributes that are the held-out outcome under another name. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.records.persona import AttributeValue

# Fewer rows than this beyond the first of each pair can match one-to-one by mere chance.
CONFIRMED_MIN = 6


class Leaks:
    """Watches rows go by, and knows which attributes still match the outcome one-to-one."""

    def __init__(self, attributes: Iterable[str]) -> None:
        self._forward: dict[str, dict[AttributeValue, str]] = {name: {} for name in attributes}
        self._backward: dict[str, dict[str, AttributeValue]] = {name: {} for name in self._forward}
        self._rows = dict.fromkeys(self._forward, 0)

    def watch(self, attributes: dict[str, AttributeValue], outcome: str) -> None:
        """Take in one row whose outcome is known."""
        for name in tuple(self._forward):
            if name not in attributes:
                continue
            value = attributes[name]
            if (
                self._forward[name].setdefault(value, outcome) != outcome
                or self._backward[name].setdefault(outcome, value) != value
            ):
                del self._forward[name], self._backward[name], self._rows[name]
            else:
                self._rows[name] += 1

    def copies(self) -> list[str]:
        """Name the attributes that are recoded copies of the outcome over all rows watched."""
        return [
            name
            for name, pairs in self._forward.items()
            if len(pairs) > 1 and self._rows[name] - len(pairs) >= CONFIRMED_MIN
        ]
