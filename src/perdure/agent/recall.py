"""Which memories come to mind: the recent, the important and, with embeddings, the relevant. Pure.

Relevance is how near a memory is in meaning to what is shown and asked now. It has a part only in
worlds whose study pins an embedding model; elsewhere every memory is as relevant as any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.base.vectors import Vector
from perdure.records.persona import Memory
from perdure.records.presentation import Stimulus
from perdure.records.scenario import Header, Question

EMBED = "embed"
# A cosine is a sum of thousands of products, and the last digits of it are the machine's own.
_DECIMALS = 6


def embeds(header: Header) -> bool:
    """Say whether memories have vectors in this world."""
    return EMBED in header.pins


def kept_max(header: Header) -> int:
    """Say how many memories a persona keeps.

    Without relevance, what was once too light to be told will never be told again, and more would
    be kept for nothing.
    """
    settings = header.agent
    if not embeds(header):
        return settings.memories_max
    return max(settings.memories_kept, settings.memories_max)


def must_compare(header: Header, memories: Sequence[Memory]) -> bool:
    """Say whether it takes relevance to choose the memories of a prompt."""
    return embeds(header) and 0 < header.agent.memories_max < len(memories)


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
    # Heavy, and needed by those alone who pin an embedding model.
    import numpy as np  # noqa: PLC0415

    query, *missing = (np.array(vector) for vector in vectors)
    size = np.sqrt((query * query).sum())
    added = iter(missing)
    found = []
    for memory in memories:
        own = np.frombuffer(memory.vector, "<f4").astype(float) if memory.vector else next(added)
        near = 0.0
        sizes = float(size * np.sqrt((own * own).sum()))
        if own.shape == query.shape and sizes > 0.0:
            near = round(float((query * own).sum()) / sizes, _DECIMALS)
        found.append(min(1.0, max(0.0, near)))
    return tuple(found)
