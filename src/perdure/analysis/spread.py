"""One figure measured in every world of a scenario: its mean over seeds and how far they lie apart.

Seeds are independent draws, so each world counts once in mean and standard deviation, also where
two came out the same. How well the mean is known is another matter: worlds that repeat one another
tell nothing new, so the interval rests on the effective replicates alone, and where these are too
few there is none, with its reason. An interval of no width is never given.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from perdure.analysis.student import t_quantile
from perdure.records.record import Record

SEEDS_MIN = 2
EFFECTIVE_MIN = 3
CONFIDENCE = 0.95


class Spread(Record):
    """A figure over seeds: `seeds` worlds have it, of which `effective` differ.

    `sd` is the standard deviation (n - 1), absent with fewer than two seeds; `least` and `most` are
    the extremes. `low` and `high` bound the mean at a confidence of 95 %: mean +- t * standard
    error, by Student's t with effective - 1 degrees of freedom, cut to what the figure can be. They
    are absent where `no_interval` says why.
    """

    seeds: int
    effective: int
    mean: float | None
    sd: float | None
    least: float | None
    most: float | None
    low: float | None
    high: float | None
    no_interval: str


def spread(
    values: Sequence[float], effective: int, *, bounds: tuple[float, float], alike: bool = True
) -> Spread:
    """Sum up one value per seed. `effective` of the worlds differ.

    The figure lies between its `bounds`. `alike` says whether the worlds ran under the same rungs;
    others are no replicates of one another.
    """
    seeds = len(values)
    mean = statistics.mean(values) if values else None
    sd = statistics.stdev(values) if seeds >= SEEDS_MIN else None
    refused = _why_not(sd, seeds, effective, alike=alike)
    low = high = None
    if mean is not None and not refused:
        # The squares are averaged over the seeds, then corrected for as many replicates as differ:
        # the same worlds once more leave the interval as it was.
        error = math.sqrt(statistics.pvariance(values) / (effective - 1))
        reach = t_quantile(CONFIDENCE, effective - 1) * error
        low, high = max(bounds[0], mean - reach), min(bounds[1], mean + reach)
    return Spread(
        seeds=seeds,
        effective=effective,
        mean=mean,
        sd=sd,
        least=min(values, default=None),
        most=max(values, default=None),
        low=low,
        high=high,
        no_interval=refused,
    )


def error_of(measured: Spread) -> float | None:
    """Give the standard error that the interval of a spread rests on; None if it has none."""
    if measured.low is None or measured.sd is None:
        return None
    squares = measured.sd**2 * (measured.seeds - 1) / measured.seeds
    return math.sqrt(squares / (measured.effective - 1))


def _why_not(sd: float | None, seeds: int, effective: int, *, alike: bool) -> str:
    reasons = (
        (not seeds, "nothing was measured"),
        (seeds == 1, "a spread needs 2 seeds, and there is 1"),
        (effective == 1, "the seeds made no difference"),
        (not alike, "the worlds did not run under the same rungs"),
        (
            effective < EFFECTIVE_MIN,
            f"an interval needs {EFFECTIVE_MIN} effective replicates, and there are {effective}",
        ),
        (sd == 0, "the figure came out the same for every seed"),
    )
    return next((why for holds, why in reasons if holds), "")
