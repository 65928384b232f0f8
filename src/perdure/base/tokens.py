"""How many tokens a text is, as it is estimated where no tokenizer is at hand."""

from __future__ import annotations

import math

CHARACTERS_PER_TOKEN = 4


def estimated_tokens(characters: float) -> int:
    """Estimate the tokens of so many characters, rounded up: four to a token on average."""
    return math.ceil(characters / CHARACTERS_PER_TOKEN)
