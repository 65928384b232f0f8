"""Finds communities in a graph by Leiden, and says whether they qualify.

The search is graspologic-native's: seeded, on ties in a fixed order with whole strengths, so that
equal ties give equal communities, in any process. Fewer, larger communities are looked for at lower
resolutions, by halves and then between the last too many and the first too few.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from perdure.base.chance import Stream
from perdure.base.errors import UsageError
from perdure.population.ties import Tie
from perdure.records.graph import Communities
from perdure.records.study import CommunitySpec

LIBRARY = "graspologic-native"

_ITERATIONS = 1
_SEED_BITS = 63
_SEARCHES_MAX = 8
_DIGITS = 6


def communities(
    count: int, ties: Sequence[Tie], strengths: Sequence[int], spec: CommunitySpec
) -> tuple[Communities | None, list[int | None]]:
    """Find the communities of `count` personas; give what was found, and each one's community.

    Without ties there is nothing to find. A partition that does not qualify is given as found, with
    why, and nobody is in a community of it.

    Raises:
        UsageError: the library is not installed.

    """
    nobody: list[int | None] = [None] * count
    if not ties:
        return None, nobody
    edges = [
        (str(one), str(other), float(strength))
        for (one, other), strength in zip(ties, strengths, strict=True)
    ]
    seed = Stream(str(spec.seed), 0, "communities").uint64() >> (64 - _SEED_BITS)
    resolution, low, high = 1.0, 0.0, 1.0
    best: tuple[Communities, list[int | None]] | None = None
    for _ in range(_SEARCHES_MAX):
        members = _numbered(_leiden(edges, seed, resolution), count)
        found = _judged(count, ties, strengths, members, resolution=resolution, spec=spec)
        if not found.why:
            return found, members
        best = best or (found, nobody)
        if len(found.sizes) > spec.most:
            # The nearest that was found so far: fewer of them may qualify.
            best, high = (found, nobody), resolution
        else:
            low = resolution
        if low >= high:
            break
        resolution = math.sqrt(low * high) if low else high / 2
    return best or (None, nobody)


def _leiden(edges: list[tuple[str, str, float]], seed: int, resolution: float) -> Mapping[str, int]:
    try:
        from graspologic_native import leiden  # type: ignore[import-untyped] # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"The study has a graph, and {LIBRARY}, which finds its communities, is not installed.",
            remedy="Install it: pip install 'perdure[graph]'",
        ) from error
    _, found = leiden(
        edges=edges, resolution=resolution, iterations=_ITERATIONS, seed=seed, trials=1
    )
    members: Mapping[str, int] = found
    return members


def _numbered(found: Mapping[str, int], count: int) -> list[int | None]:
    """Give communities their numbers: by size, the largest 0, then by their first persona."""
    sizes = Counter(found.values())
    first: dict[int, int] = {}
    for place in range(count):
        name = found.get(str(place))
        if name is not None:
            first.setdefault(name, place)
    order = sorted(sizes, key=lambda name: (-sizes[name], first[name]))
    numbers = {name: number for number, name in enumerate(order)}
    return [
        None if (name := found.get(str(place))) is None else numbers[name] for place in range(count)
    ]


def _judged(
    count: int,
    ties: Sequence[Tie],
    strengths: Sequence[int],
    members: Sequence[int | None],
    *,
    resolution: float,
    spec: CommunitySpec,
) -> Communities:
    counts = Counter(one for one in members if one is not None)
    sizes = tuple(counts[number] for number in range(len(counts)))
    modularity = _modularity(ties, strengths, members)
    return Communities(
        modularity=modularity,
        resolution=resolution,
        sizes=sizes,
        why=_lacking(count, sizes, modularity, spec),
    )


def _lacking(count: int, sizes: Sequence[int], modularity: float, spec: CommunitySpec) -> str:
    number, least = len(sizes), sizes[-1] / count
    if not spec.least <= number <= spec.most:
        return f"it has {number:,} communities, and {spec.least} to {spec.most} are asked for"
    if least < spec.share:
        return f"its smallest community has {least:.1%} of all personas, less than {spec.share:.1%}"
    if modularity < spec.modularity:
        return f"its modularity is {modularity:.3f}, less than {spec.modularity:g}"
    return ""


def _modularity(
    ties: Sequence[Tie], strengths: Sequence[int], members: Sequence[int | None]
) -> float:
    inside: Counter[int | None] = Counter()
    ends: Counter[int | None] = Counter()
    for (one, other), strength in zip(ties, strengths, strict=True):
        ends[members[one]] += strength
        ends[members[other]] += strength
        if members[one] == members[other]:
            inside[members[one]] += strength
    whole = sum(strengths)
    value = sum(inside[name] / whole - (ends[name] / (2 * whole)) ** 2 for name in ends)
    return round(value, _DIGITS)
