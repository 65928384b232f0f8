"""What a persona carries from tick to tick, moved on by its turns. Pure.

A state follows from events alone: from the turns of a persona in order, the memories and beliefs
after each, and whether a reflection was made. A run carries the state that it reads from the events
it has just written, so a state that is rebuilt from a record is the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from perdure.records.persona import Memory, PersonaState
from perdure.records.presentation import Presentation

# A memory weighs half as much as an equal one that is this many ticks younger. Because all
# memories fade at one pace, their order never changes, and what was forgotten once never returns:
# keeping the best few at every turn is the same as choosing the best few of all.
HALF_LIFE_TICKS = 10.0


def advance(
    state: PersonaState,
    presentation: Presentation,
    memories: Sequence[Memory],
    *,
    reflected: bool,
    memories_max: int,
    beliefs: Mapping[str, int] | None = None,
) -> PersonaState:
    """Move a state on by one turn that was taken. A failed turn moves nothing.

    `memories` are those of the turn and of its reflection, in order; `beliefs` are all that are
    held after it, None if it moved none. Only a turn that showed something counts towards the next
    reflection: a survey only reads.
    """
    turns = state.turns_since_reflection
    if reflected:
        turns = 0
    elif presentation.impression.exposures:
        turns += 1
    return PersonaState(
        memories=keep((*state.memories, *memories), memories_max),
        turns_since_reflection=turns,
        beliefs=state.beliefs if beliefs is None else dict(beliefs),
    )


def keep(
    memories: Sequence[Memory], memories_max: int, relevance: Sequence[float] | None = None
) -> tuple[Memory, ...]:
    """Choose the `memories_max` that weigh most, in their old order.

    They weigh by importance and recency, and by their `relevance` to something if that is given.
    Of equal ones the later is kept.
    """
    if len(memories) <= memories_max:
        return tuple(memories)
    if memories_max <= 0:
        return ()
    weights = [_weight(memory) for memory in memories]
    if relevance is not None:
        weights = [
            weight + _logarithm(near) for weight, near in zip(weights, relevance, strict=True)
        ]
    ranked = sorted(range(len(memories)), key=weights.__getitem__)
    forgotten = set(ranked[:-memories_max])
    return tuple(memory for place, memory in enumerate(memories) if place not in forgotten)


def _weight(memory: Memory) -> float:
    """Take the logarithm of the faded importance, up to a constant that all memories share."""
    return _logarithm(memory.importance) + memory.tick / HALF_LIFE_TICKS


def _logarithm(factor: float) -> float:
    return math.log2(factor) if factor > 0 else -math.inf
