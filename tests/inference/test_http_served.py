"""That a model which was not asked never passes for the one that was."""

from __future__ import annotations

import pytest

from perdure.inference.http.served import is_served_as_pinned
from perdure.records.scenario import ModelPin

SAME = [
    ("gpt-4o", "gpt-4o"),
    ("gpt-4o", "gpt-4o-2024-08-06"),
    ("gpt-4o", "openai/gpt-4o"),
    ("gpt-4o", "openai/gpt-4o-2024-08-06"),
    ("openai/gpt-4o", "openai/gpt-4o-2024-08-06"),
    ("openai/gpt-4o", "gpt-4o"),
    ("claude-sonnet-4", "claude-sonnet-4-20250514"),
    ("claude-sonnet-4", "claude-sonnet-4@20250514"),
    ("gemini-2.0-flash", "models/gemini-2.0-flash-001"),
    ("mistral-large", "mistral-large-v2.1"),
    ("meta/llama-3", "router/meta/llama-3"),
]
OTHERS = [
    ("gpt-4o", "gpt-4o-mini"),
    ("gpt-4o", "gpt-4o-mini-2024-07-18"),
    ("gpt-4o-mini", "gpt-4o"),
    ("gpt-4", "gpt-4.1"),
    ("gpt-4o", "GPT-4o"),
    ("gpt-4o", ""),
    ("gpt-4o", "openai/gpt-4o-mini"),
    ("openai/gpt-4o", "azure/gpt-4o"),
    ("openai/gpt-4o", "myopenai/gpt-4o"),
    ("gpt-4o", "gpt-4o-"),
    ("gpt-4o", "gpt-4o-2024-08-06-mini"),
]


@pytest.mark.parametrize(("asked", "served"), SAME)
def test_a_release_or_a_prefix_is_the_same_model(asked: str, served: str) -> None:
    """Dates, versions and the provider's prefix do not make another model."""
    assert is_served_as_pinned(ModelPin(provider="http", model=asked), served)


@pytest.mark.parametrize(("asked", "served"), OTHERS)
def test_another_name_is_another_model(asked: str, served: str) -> None:
    """Sizes, other names, and no name at all are not the model that was pinned."""
    assert not is_served_as_pinned(ModelPin(provider="http", model=asked), served)


def test_a_list_of_accepted_names_is_exact() -> None:
    """Where the pin lists names, nothing else counts, not even the name that was sent."""
    pin = ModelPin(provider="http", model="gpt-4o", accepts=("gpt-4o-2024-08-06", ""))
    assert is_served_as_pinned(pin, "gpt-4o-2024-08-06")
    assert is_served_as_pinned(pin, "")
    assert not is_served_as_pinned(pin, "gpt-4o")
