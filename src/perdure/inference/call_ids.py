"""The ids of tool calls: no two of a conversation are the same, whatever a model gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from perdure.records.request import Message

# The longest that endpoints take back.
_CHARACTERS_MAX = 40


def ids_in(messages: Sequence[Message]) -> frozenset[str]:
    """Give the ids of all calls that a conversation has so far."""
    return frozenset(call.id for message in messages for call in message.calls)


def own_id(given: str, taken: Collection[str]) -> str:
    """Give a call's id, or one that follows from how many are taken, if its own will not do."""
    if given and len(given) <= _CHARACTERS_MAX and given not in taken:
        return given
    number = len(taken)
    # Nine letters and digits: some endpoints take no other id.
    while (made := f"call{number:05d}") in taken:
        number += 1
    return made
