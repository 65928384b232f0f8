"""The order of messages: by lot, by votes and age, by likeness to a persona, by ties. Pure.

What is equal goes by lot, seeded, for each persona anew: no message is ahead of others for its
author's place in the population, and none is seen by everybody for no reason at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from perdure.base.chance import Stream

# Logarithms may differ in their last digit from one machine to another, and digests may not.
_DECIMALS = 9


def heat(votes: int, tick: int, decay: float) -> float:
    """Say how hot a message of some tick is: `decay` ticks weigh as much as ten times the votes.

    Votes against it (fewer than none) count as much as votes for it, the other way. One more is
    counted than there are, so that the first one makes a difference.
    """
    size = math.copysign(math.log10(1 + abs(votes)), votes)
    return round(size + tick / decay, _DECIMALS)


def shuffled(stream: Stream, count: int) -> Iterator[int]:
    """Give the numbers below `count` in a random order, one by one.

    It takes as many draws as numbers are taken from it, however many there are.
    """
    if count == 1:
        yield 0
        return
    moved: dict[int, int] = {}
    for last in range(count - 1, -1, -1):
        place = stream.below(last + 1)
        yield moved.get(place, place)
        moved[place] = moved.pop(last, last)
