"""How unequally attention is shared out: Gini's coefficient, and the part of the first tenth. Pure.

Both are of whole counts. With fewer than two things, or nothing to share, there is nothing unequal:
unmeasured, not 0.
"""

from __future__ import annotations

from collections.abc import Sequence

SEVERAL = 2
_TENTH = 10


def gini(counts: Sequence[int]) -> float | None:
    """Say how unequal counts are: 0 if all are the same, towards 1 if one has everything."""
    total, number = sum(counts), len(counts)
    if number < SEVERAL or not total:
        return None
    ranks = sum(place * count for place, count in enumerate(sorted(counts), start=1))
    return (2 * ranks - (number + 1) * total) / (number * total)


def first_tenth(counts: Sequence[int]) -> float | None:
    """Give the share that the largest tenth of the counts has, their number rounded up."""
    total, number = sum(counts), len(counts)
    if number < SEVERAL or not total:
        return None
    most = sorted(counts, reverse=True)[: -(-number // _TENTH)]
    return sum(most) / total
