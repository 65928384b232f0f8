"""What a person who watches a run is told at once: a sentence that ends nothing."""

from __future__ import annotations

from collections.abc import Callable

Notice = Callable[[str], None]


def unheard(_sentence: str) -> None:
    """Tell nobody."""
