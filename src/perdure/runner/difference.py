"""The first difference between what is recorded and what is made again. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from perdure.base.text import one_line

_SHOWN_MAX = 80


def first_difference(recorded: object, now: object) -> str:
    """Say where two records first differ, with the old and the new value; empty if nowhere."""
    if recorded == now:
        return ""
    found = next(_differences(msgspec.to_builtins(recorded), msgspec.to_builtins(now), ""), None)
    return found or ""


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            place = f"{path}.{key}" if path else str(key)
            yield from _differences(old.get(key), new.get(key), place)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        for index, (left, right) in enumerate(zip(old, new, strict=False)):
            yield from _differences(left, right, f"{path}[{index}]")
        if len(old) != len(new):
            yield f"{path or 'it'} had {len(old)} parts and has {len(new)}"
    elif old != new or type(old) is not type(new):
        yield f"{path or 'it'} was {_shown(old)} and is {_shown(new)}"


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(one_line(str(value), _SHOWN_MAX))
