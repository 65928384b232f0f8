"""Prompts that are no longer than they may be: what a persona remembers and believes gives way.

Pure. The length of a prompt is estimated from its characters, as a study's forecast does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from perdure.base.tokens import estimated_tokens
from perdure.records.persona import Memory
from perdure.records.request import Message
from perdure.records.scenario import AgentSettings

# How long a prompt of a role may be, in tokens, where the study does not say: on channels, where
# what a persona is shown is not in the hands of the study's author.
CONTEXT_TOKENS = {"tier_a": 2_048, "tier_b": 8_192}

# Gives as many memories as it is asked for, the weightiest ones.
Recall = Callable[[int], tuple[Memory, ...]]
Write = Callable[[tuple[Memory, ...], Mapping[str, int]], tuple[Message, ...]]


class Fitted(NamedTuple):
    """A prompt, and the memories that it tells."""

    messages: tuple[Message, ...]
    memories: tuple[Memory, ...]


def tokens_max(settings: AgentSettings, role: str, *, acts: bool) -> int | None:
    """Say how long a prompt of a role may be; None for any length.

    `acts` is whether the turn is on a channel where something can be done.
    """
    given = settings.context_tokens_max.get(role)
    return CONTEXT_TOKENS.get(role) if given is None and acts else given


def fitted(
    write: Write,
    recall: Recall,
    beliefs: Mapping[str, int],
    *,
    memories_max: int,
    limit: int | None,
) -> Fitted | None:
    """Write a prompt that is not longer than `limit` tokens; None if there is none.

    Memories are left out first, the lightest one first, then beliefs, the weakest one first.
    """
    memories = recall(memories_max)
    while True:
        messages = write(memories, beliefs)
        if limit is None or length(messages) <= limit:
            return Fitted(messages, memories)
        if memories:
            memories = recall(len(memories) - 1)
        elif beliefs:
            weakest = min(beliefs, key=lambda claim: abs(beliefs[claim]))
            beliefs = {claim: step for claim, step in beliefs.items() if claim != weakest}
        else:
            return None


def length(messages: tuple[Message, ...]) -> int:
    """Estimate the tokens of a prompt."""
    return estimated_tokens(sum(len(message.content) for message in messages))
