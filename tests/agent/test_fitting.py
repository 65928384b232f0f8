"""A prompt is no longer than it may be: memories give way first, then beliefs, then the turn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest

from perdure.agent.fitting import CONTEXT_TOKENS, Fitted, fitted, length, tokens_max
from perdure.agent.state import keep
from perdure.records.persona import Memory
from perdure.records.request import Message
from perdure.records.scenario import AgentSettings

FAINT, STRONG, LATE = (
    Memory(tick=1, text="f" * 40, importance=0.1),
    Memory(tick=2, text="s" * 40, importance=0.9),
    Memory(tick=3, text="l" * 40, importance=0.5),
)
BELIEFS = {"c1": -3, "c2": 1, "c3": 2}


def write(memories: tuple[Memory, ...], beliefs: Mapping[str, int]) -> tuple[Message, ...]:
    """Write a prompt of 40 characters for each part, and 40 more."""
    parts = ["p" * 40, *(memory.text for memory in memories), *(name * 20 for name in beliefs)]
    return (Message(role="user", content="".join(parts)),)


def fit(limit: int | None) -> Fitted | None:
    """Fit three memories and three beliefs into a prompt."""
    recall = partial(keep, (FAINT, STRONG, LATE))
    return fitted(write, recall, BELIEFS, memories_max=3, limit=limit)


@pytest.mark.parametrize(
    ("limit", "memories", "beliefs"),
    [
        (None, (FAINT, STRONG, LATE), ["c1", "c2", "c3"]),
        (70, (FAINT, STRONG, LATE), ["c1", "c2", "c3"]),
        (69, (STRONG, LATE), ["c1", "c2", "c3"]),
        (59, (STRONG,), ["c1", "c2", "c3"]),
        (49, (), ["c1", "c2", "c3"]),
        (39, (), ["c1", "c3"]),
        (29, (), ["c1"]),
        (10, (), []),
    ],
)
def test_what_weighs_least_gives_way(
    limit: int | None, memories: tuple[Memory, ...], beliefs: list[str]
) -> None:
    """One memory after the other is left out, and then one belief after the other."""
    found = fit(limit)
    assert found is not None
    assert found.memories == memories
    assert found.messages == write(memories, dict.fromkeys(beliefs, 0))
    assert limit is None or length(found.messages) <= limit


def test_what_does_not_fit_without_them_does_not_fit() -> None:
    """Who somebody is and what is asked never gives way."""
    assert fit(9) is None


def test_a_study_says_how_long_and_channels_have_a_limit() -> None:
    """By role: what the study says; else a limit on channels, and none elsewhere."""
    given = AgentSettings(context_tokens_max={"tier_a": 500})
    assert tokens_max(given, "tier_a", acts=True) == 500
    assert tokens_max(given, "tier_a", acts=False) == 500
    assert tokens_max(given, "tier_b", acts=False) is None
    assert tokens_max(given, "tier_b", acts=True) == CONTEXT_TOKENS["tier_b"] == 8_192
    assert tokens_max(AgentSettings(), "tier_a", acts=True) == 2_048
    assert tokens_max(AgentSettings(), "mine", acts=True) is None
