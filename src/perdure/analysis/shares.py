"""Shares of a whole, each with the count it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from perdure.records.record import Record


class Share(Record):
    """`count` of `of` have this choice. `share` is absent where there is nothing to divide by.

    Where answers are scored by likeness the count is the sum of their probabilities, and no whole
    number.
    """

    choice: str
    count: float
    of: int
    share: float | None


def ratio(part: float, whole: int) -> float | None:
    """Divide, or say that there is nothing to divide by."""
    return part / whole if whole else None


def shares(values: Iterable[str], choices: Sequence[str]) -> tuple[Share, ...]:
    """Count each choice among the values, in the order of the choices."""
    counts = Counter(values)
    total = counts.total()
    return tuple(
        Share(choice=choice, count=counts[choice], of=total, share=ratio(counts[choice], total))
        for choice in choices
    )


def most_common(values: Iterable[str], choices: Sequence[str]) -> str:
    """Name the choice that most of the values have; the earlier one on a tie, empty if none."""
    counts = Counter(values)
    if not counts:
        return ""
    return max(choices, key=lambda choice: (counts[choice], -choices.index(choice)))
