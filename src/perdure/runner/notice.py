"""What a person who watches a run is told at once: it ends nothing."""

from __future__ import annotations

from collections.abc import Callable

from perdure.trace.sittings import JournalLoss

# A sentence, or a loss that makes one.
Said = str | JournalLoss
Notice = Callable[[Said], None]


def unheard(_said: Said) -> None:
    """Tell nobody."""
