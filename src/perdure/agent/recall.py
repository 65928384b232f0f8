"""Which memories come to mind: the recent, the important and, with embeddings, the relevant. Pure.

Relevance is how near a memory is in meaning to what is shown and asked now. It has a part only in
worlds whose study pins an embedding model and in which more is kept than told; elsewhere every
memory is as relevant as any other, and none has a vector.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from perdure.base.vectors import Vector, unpack
from perdure.records.persona import Memory
from perdure.records.presentation import Stimulus
from perdure.records.scenario import Header, Question

EMBED = "embed"
# The last digits of a length are the machine's own, and no memory is to be chosen by them.
_DECIMALS = 6


def embeds(header: Header) -> bool:
    """Say whether memories have vectors in this world."""
    return EMBED in header.pins and header.agent.chooses


def kept_max(header: Header) -> int:
    """Say how many memories a persona keeps.

    Without relevance, what was once too light to be told will never be told again, and more would
    be kept for nothing.
    """
    settings = header.agent
    return settings.memories_kept if embeds(header) else settings.memories_max


def must_compare(header: Header, memories: Sequence[Memory]) -> bool:
    """Say whether it takes relevance to choose the memories of a prompt."""
    return embeds(header) and header.agent.memories_max < len(memories)


def query_text(shown: Sequence[Stimulus], question: Question) -> str:
    """Write what is shown and asked now, as what memories are compared with."""
    return "\n".join([*(stimulus.text for stimulus in shown), question.text])


def vectorless(memories: Sequence[Memory]) -> tuple[str, ...]:
    """List the texts of memories whose vector is missing: the call for it had failed."""
    return tuple(memory.text for memory in memories if not memory.vector)


def relevance(memories: Sequence[Memory], vectors: Sequence[Vector]) -> tuple[float, ...]:
    """Give the relevance of each memory, 0 to 1: its cosine to the query, and 0 below that.

    `vectors` are those of the query and of the memories that have none of their own. Vectors of
    different lengths are of different models, and like nothing.
    """
    query, *missing = vectors
    size, added = math.hypot(*query), iter(missing)
    return tuple(
        _cosine(query, size, unpack(memory.vector, 1)[0] if memory.vector else next(added))
        for memory in memories
    )


def _cosine(query: Vector, size: float, own: Vector) -> float:
    sizes = size * math.hypot(*own)
    if len(query) != len(own) or sizes <= 0.0:
        return 0.0
    # The product of two 32-bit floats is exact in 64 bits, and so is the sum.
    cosine = math.fsum(map(mul, query, own)) / sizes
    return min(1.0, max(0.0, round(cosine, _DECIMALS)))
