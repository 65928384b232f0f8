"""How much of a long programme is run: all of it with PERDURE_CRASH=full, some of it otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("PERDURE_CRASH") == "full"


def some(cases: Iterable[T], every: int) -> list[T]:
    """Give all cases at full size, and at quick size every so many, the first one included."""
    listed = list(cases)
    return listed if FULL else listed[::every]
