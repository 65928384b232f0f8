"""What a persona carries from tick to tick, moved on by its turns. Pure.

A state follows from events alone: from the turns of a persona in order, the memories after each,
and whether a reflection was made. So a state that is rebuilt from a record equals the one that was
carried through the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from perdure.records.outcome import TurnDone
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
) -> PersonaState:
    """Move a state on by one turn that was taken. A failed turn moves nothing.

    `memories` are those of the turn and of its reflection, in order. Only a turn that showed
    something counts towards the next reflection: a survey only reads.
    """
    turns = state.turns_since_reflection
    if reflected:
        turns = 0
    elif presentation.impression.exposures:
        turns += 1
    return PersonaState(
        memories=keep((*state.memories, *memories), memories_max),
        turns_since_reflection=turns,
    )


def advance_by(
    state: PersonaState, presentation: Presentation, outcome: TurnDone, *, memories_max: int
) -> PersonaState:
    """Move a state on by the outcome of one turn, as `advance` would by its events."""
    reflection = outcome.reflection
    reflected = reflection is not None and reflection.failed is None
    extra = reflection.memories if reflection is not None else ()
    return advance(
        state,
        presentation,
        (*outcome.memories, *extra),
        reflected=reflected,
        memories_max=memories_max,
    )


def keep(memories: Sequence[Memory], memories_max: int) -> tuple[Memory, ...]:
    """Choose the `memories_max` that weigh most, by importance and recency, in their old order.

    Of equal ones the later is kept.
    """
    if len(memories) <= memories_max:
        return tuple(memories)
    if memories_max <= 0:
        return ()
    weights = [_weight(memory) for memory in memories]
    ranked = sorted(range(len(memories)), key=weights.__getitem__)
    forgotten = set(ranked[:-memories_max])
    return tuple(memory for place, memory in enumerate(memories) if place not in forgotten)


def _weight(memory: Memory) -> float:
    """Take the logarithm of the faded importance, up to a constant that all memories share."""
    if memory.importance <= 0:
        return -math.inf
    return math.log2(memory.importance) + memory.tick / HALF_LIFE_TICKS
