"""The two distributions that the gates go by, from their textbook series. Pure."""

from __future__ import annotations

import math

_STEPS_MAX = 10_000
_SMALL = 1e-300
_PRECISION = 1e-14
_SERIES_FROM = 0.2


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """Give the chance that a chi-squared variable with so many degrees is at least as large."""
    if statistic <= 0:
        return 1.0
    shape, at = freedom / 2, statistic / 2
    scale = math.exp(shape * math.log(at) - at - math.lgamma(shape))
    if at < shape + 1:
        return max(0.0, 1.0 - scale * _lower_series(shape, at))
    return min(1.0, scale * _upper_fraction(shape, at))


def kolmogorov_tail(distance: float, count: int) -> float:
    """Give the chance that `count` values are at least this far from the distribution they follow.

    Asymptotic, with the correction of Stephens; for values that repeat it is an upper bound.
    """
    root = math.sqrt(count)
    scaled = (root + 0.12 + 0.11 / root) * distance
    if scaled < _SERIES_FROM:
        return 1.0
    total = 0.0
    for step in range(1, _STEPS_MAX):
        term = math.exp(-2 * step * step * scaled * scaled)
        total += term if step % 2 else -term
        if term < _PRECISION:
            break
    return min(1.0, max(0.0, 2 * total))


def _lower_series(shape: float, at: float) -> float:
    term = total = 1.0 / shape
    for step in range(1, _STEPS_MAX):
        term *= at / (shape + step)
        total += term
        if term < total * _PRECISION:
            break
    return total


def _upper_fraction(shape: float, at: float) -> float:
    """Evaluate the continued fraction of the upper incomplete gamma function, after Lentz."""
    base = at + 1 - shape
    ratio = 1 / _SMALL
    inverse = 1 / base
    value = inverse
    for step in range(1, _STEPS_MAX):
        factor = -step * (step - shape)
        base += 2
        inverse = 1 / _apart(factor * inverse + base)
        ratio = _apart(base + factor / ratio)
        change = inverse * ratio
        value *= change
        if abs(change - 1) < _PRECISION:
            break
    return value


def _apart(value: float) -> float:
    """Keep a divisor apart from zero."""
    return value if abs(value) > _SMALL else _SMALL
