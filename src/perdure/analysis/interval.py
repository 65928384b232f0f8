"""Intervals over personas: how far a figure would move if others of their kind had been asked.

Personas are the units: all answers of one persona, over the seeds, count as one cluster, so that
more seeds of the same few people do not look like more people. The variance is the closed form for
a ratio of sums over clusters. The interval of a share is Wilson's, with as many answers as would
have that variance in a simple sample; that of any other mean is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from perdure.analysis.spread import CONFIDENCE
from perdure.analysis.student import t_quantile
from perdure.records.record import Record

PERSONAS_MIN = 5


class Unit(Record):
    """One persona's part in a figure: its sum over the seeds, how many it adds, its weight."""

    total: float
    count: int
    weight: float = 1.0


class Interval(Record):
    """A figure and its 95 % interval over personas, absent where `no_interval` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    no_interval: str = ""


def share_interval(units: Sequence[Unit]) -> Interval:
    """Give a share of all answers, in 0..1, each unit being a persona's answers that have it."""
    value, variance = _ratio(units)
    if value is None or len(units) < PERSONAS_MIN:
        return _none(value, units)
    if variance == 0.0 and 0.0 < value < 1.0:
        return Interval(value=value, no_interval="the figure came out the same for every persona")
    # Where all agree there is nothing to go by but their number.
    answers = value * (1.0 - value) / variance if variance else effective_size(units)
    square = t_quantile(CONFIDENCE, len(units) - 1) ** 2
    middle = value + square / (2.0 * answers)
    reach = math.sqrt(square * (value * (1.0 - value) / answers + square / (4.0 * answers**2)))
    scale = 1.0 + square / answers
    return Interval(
        value=value,
        low=max(0.0, (middle - reach) / scale),
        high=min(1.0, (middle + reach) / scale),
    )


def mean_interval(units: Sequence[Unit], bounds: tuple[float, float]) -> Interval:
    """Give a mean that lies between `bounds`, each unit being the sum of a persona's own values."""
    value, variance = _ratio(units)
    if value is None or len(units) < PERSONAS_MIN:
        return _none(value, units)
    if variance == 0.0:
        return Interval(value=value, no_interval="the figure came out the same for every persona")
    reach = t_quantile(CONFIDENCE, len(units) - 1) * math.sqrt(variance)
    low, high = bounds
    return Interval(value=value, low=max(low, value - reach), high=min(high, value + reach))


def effective_size(units: Sequence[Unit]) -> float:
    """Give Kish's effective sample size: as many personas of equal weight would tell as much."""
    squares = math.fsum(unit.weight**2 for unit in units)
    return math.fsum(unit.weight for unit in units) ** 2 / squares if squares else 0.0


def units_of(
    totals: Mapping[str, float], counts: Mapping[str, int], weights: Mapping[str, float]
) -> list[Unit]:
    """Make the units of the personas that add something, in the order of `counts`.

    Without weights each persona counts the same; a persona of weight 0 adds nothing.
    """
    made = (
        Unit(total=totals.get(one, 0.0), count=number, weight=weights.get(one, 1.0))
        for one, number in counts.items()
        if number
    )
    return [unit for unit in made if unit.weight > 0.0]


def _ratio(units: Sequence[Unit]) -> tuple[float | None, float]:
    whole = math.fsum(unit.weight * unit.count for unit in units)
    if not whole:
        return None, 0.0
    value = math.fsum(unit.weight * unit.total for unit in units) / whole
    number = len(units)
    if number <= 1:
        return value, 0.0
    residuals = [unit.weight * (unit.total - value * unit.count) for unit in units]
    if all(abs(one) < _NOTHING * whole for one in residuals):
        return value, 0.0
    squares = math.fsum(one * one for one in residuals)
    return value, number / (number - 1) * squares / whole**2


_NOTHING = 1e-14  # what rounding leaves of a residual that is none


def _none(value: float | None, units: Sequence[Unit]) -> Interval:
    if value is None:
        return Interval(value=None, no_interval="nothing was measured")
    why = f"an interval needs {PERSONAS_MIN} personas, and there are {len(units)}"
    return Interval(value=value, no_interval=why)
