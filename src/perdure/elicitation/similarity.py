"""The semantic-similarity rating: a free answer to a share for each point of a scale. Pure.

An answer is compared with the anchors of a construct by the vectors of both. Sums are exact before
they are rounded once, and nothing depends on a library's order of summing, so every machine gets
the same. docs/scoring.md has the formula and what it does not show.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache

from perdure.base.vectors import Vector

# So that the last digit of a sum or of a power decides nothing.
DECIMALS = 12


class NoShareError(ValueError):
    """An answer is equally near to every point of a set, so it says nothing of the scale."""


def similarities(
    answer: Vector, anchors: Sequence[Sequence[Vector]]
) -> tuple[tuple[float, ...], ...]:
    """Give (1 + cosine) / 2 of an answer and each anchor, by set and point, to 12 decimals.

    Raises:
        ValueError: vectors differ in length, or one has no direction (all zeros, or not finite).

    """
    length = _length(answer)
    return tuple(
        tuple(_similarity(answer, length, anchor) for anchor in points) for points in anchors
    )


def set_masses(
    similarities: Sequence[Sequence[float]], *, epsilon: float = 0.0
) -> tuple[tuple[float, ...], ...]:
    """Give the share of each point by each set alone: how much nearer it is than the farthest.

    `epsilon` is added at the first of the farthest points, and to the sum that shares are of.

    Raises:
        NoShareError: all points of a set are equally near, and `epsilon` is 0.
        ValueError: `epsilon` is below 0 or not finite.

    """
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon is {epsilon}, and has to be a number from 0 up")
    return tuple(_set_mass(points, epsilon) for points in similarities)


def masses(
    similarities: Sequence[Sequence[float]], *, epsilon: float = 0.0, temperature: float = 1.0
) -> tuple[float, ...]:
    """Give the share of each point, to 12 decimals: the mean over the sets, then the temperature.

    Each share is raised to 1 / `temperature`, and all are brought to a sum of 1 again. At 0 the
    first of the largest shares is all, unless all are equal.

    Raises:
        NoShareError: all points of a set are equally near, and `epsilon` is 0.
        ValueError: there is no set, sets differ in their points, or `epsilon` or `temperature` is
            below 0 or not finite.

    """
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature is {temperature}, and has to be a number from 0 up")
    by_set = set_masses(similarities, epsilon=epsilon)
    if not by_set:
        raise ValueError("there is no set of anchors")
    mean = [math.fsum(point) / len(by_set) for point in zip(*by_set, strict=True)]
    return tuple(round(share, DECIMALS) for share in _tempered(mean, temperature))


def mean_point(masses: Sequence[float]) -> float:
    """Give the expected point: 1 for the lowest, up to the number of points."""
    return math.fsum(point * share for point, share in enumerate(masses, start=1))


def _similarity(answer: Vector, length: float, anchor: Vector) -> float:
    if len(answer) != len(anchor):
        raise ValueError(f"vectors of {len(answer)} and {len(anchor)} numbers were compared")
    product = math.fsum(map(operator.mul, answer, anchor))
    cosine = product / (length * _anchor_length(anchor))
    return round((1.0 + min(1.0, max(-1.0, cosine))) / 2.0, DECIMALS)


def _length(vector: Vector) -> float:
    length = math.sqrt(math.fsum(map(operator.mul, vector, vector)))
    if not 0 < length < math.inf:
        raise ValueError("a vector has no direction: it is all zeros, or not finite")
    return length


# The anchors of a study are the same for all its answers.
_anchor_length = lru_cache(maxsize=1_024)(_length)


def _set_mass(similarities: Sequence[float], epsilon: float) -> tuple[float, ...]:
    least = min(similarities)
    above = [similarity - least for similarity in similarities]
    above[similarities.index(least)] += epsilon
    total = math.fsum(above)
    if total <= 0:
        raise NoShareError("an answer is equally near to every point of a set")
    return tuple(part / total for part in above)


def _tempered(shares: Sequence[float], temperature: float) -> Sequence[float]:
    most = max(shares)
    if temperature == 1 or all(share == most for share in shares):
        return shares
    if temperature == 0:
        first = shares.index(most)
        return [float(point == first) for point in range(len(shares))]
    # By the largest, so that no power of all shares vanishes. It cancels out of the result.
    powers = [(share / most) ** (1.0 / temperature) for share in shares]
    total = math.fsum(powers)
    return [power / total for power in powers]
