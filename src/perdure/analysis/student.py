"""Student's t: how far a mean of few values may lie from the true one."""

from __future__ import annotations

import math
from functools import cache

_HALVINGS = 100  # past the last bit of a float


@cache
def t_quantile(confidence: float, freedom: int) -> float:
    """Give the t such that a value of Student's distribution is within -t..t by this chance.

    `freedom` is the degrees of freedom, 1 or more; `confidence` is above 0 and below 1.
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def t_tail(t: float, freedom: int) -> float:
    """Give the chance of a value of Student's distribution at least as far from 0 as `t`."""
    return max(0.0, 1.0 - _within(abs(t), freedom))


def _within(t: float, freedom: int) -> float:
    """Give the chance of -t..t: a finite sum for whole degrees of freedom.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    total, term = 0.0, cosine if odd else 1.0
    for step in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * step / (step + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
