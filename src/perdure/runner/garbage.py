"""How often the interpreter looks for garbage while a run works."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects before a look. A tick's own live until it is written, so that looking at them every
# 700, as Python does, finds nothing and costs a twentieth of a run. So many take a few MB.
_NEW_OBJECTS = 50_000


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Let the interpreter look for cyclic garbage less often than it does of itself."""
    before = gc.get_threshold()
    if 0 < before[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
