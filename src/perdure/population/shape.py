"""What a graph is like: degrees, clustering, homophily, components; how strong ties are. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perdure.base.chance import Stream
from perdure.population.likeness import Likeness
from perdure.population.ties import Tie

_PAIRS = 20_000
_DIGITS = 6
HUNDREDTHS = 100


@dataclass(frozen=True)
class Shape:
    """What was measured of a graph; `records.graph.GraphReport` says what the figures mean.

    `overlaps` has, for each tie, how many neighbours its ends share.
    """

    degrees: list[int]
    overlaps: list[int]
    clustering: float
    homophily: float | None
    connected: float


def measure(count: int, ties: Sequence[Tie], likeness: Likeness, seed: int) -> Shape:
    """Measure a graph of `count` personas."""
    known: list[set[int]] = [set() for _ in range(count)]
    for one, other in ties:
        known[one].add(other)
        known[other].add(one)
    overlaps = [len(known[one] & known[other]) for one, other in ties]
    return Shape(
        degrees=[len(one) for one in known],
        overlaps=overlaps,
        clustering=_clustering(known, ties, overlaps),
        homophily=_homophily(count, ties, likeness, seed),
        connected=_connected(known),
    )


def strengths(ties: Sequence[Tie], shape: Shape, likeness: Likeness) -> list[int]:
    """Give the strength of each tie that is made, in hundredths from 1 to 100.

    Half of it is how alike the two are, half the share of neighbours that they have in common: who
    shares friends is closer (Granovetter).
    """
    found = []
    for (one, other), shared in zip(ties, shape.overlaps, strict=True):
        fewer = min(shape.degrees[one], shape.degrees[other]) - 1
        overlap = shared / fewer if fewer else 0.0
        strength = (likeness.between(one, other) + overlap) / 2
        found.append(max(1, round(HUNDREDTHS * strength)))
    return found


def _clustering(known: Sequence[set[int]], ties: Sequence[Tie], overlaps: Sequence[int]) -> float:
    closed = [0] * len(known)
    for (one, other), shared in zip(ties, overlaps, strict=True):
        closed[one] += shared
        closed[other] += shared
    shares = (
        number / (len(mine) * (len(mine) - 1))
        for number, mine in zip(closed, known, strict=True)
        if len(mine) > 1
    )
    return round(sum(shares) / len(known), _DIGITS) if known else 0.0


def _homophily(count: int, ties: Sequence[Tie], likeness: Likeness, seed: int) -> float | None:
    """Compare the likeness of tied pairs with that of pairs by chance."""
    if not likeness.is_known or not ties:
        return None
    chance = Stream(str(seed), 0, "pairs")
    tied = sum(likeness.between(one, other) for one, other in ties) / len(ties)
    total = 0.0
    for _ in range(_PAIRS):
        one = chance.below(count)
        other = (one + 1 + chance.below(count - 1)) % count
        total += likeness.between(one, other)
    by_chance = total / _PAIRS
    if by_chance >= 1.0:
        return None
    return round((tied - by_chance) / (1.0 - by_chance), _DIGITS)


def _connected(known: Sequence[set[int]]) -> float:
    seen = bytearray(len(known))
    largest = 0
    for start in range(len(known)):
        if seen[start]:
            continue
        seen[start] = 1
        size, queue = 0, [start]
        while queue:
            at = queue.pop()
            size += 1
            for other in known[at]:
                if not seen[other]:
                    seen[other] = 1
                    queue.append(other)
        largest = max(largest, size)
    return round(largest / len(known), _DIGITS) if known else 0.0
