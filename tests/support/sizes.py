"""How much of a long programme is run: all of it with PERDURE_CRASH=full, some of it otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")

FULL = os.environ.get("PERDURE_CRASH") == "full"

# What takes long, and is shown by others as well, though not so thoroughly.
only_at_full_size = pytest.mark.skipif(not FULL, reason="PERDURE_CRASH=full runs it")


def some(cases: Iterable[T], every: int) -> list[T]:
    """Give all cases at full size, and at quick size every so many, the first one included."""
    listed = list(cases)
    return listed if FULL else listed[::every]
