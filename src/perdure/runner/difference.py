"""The first difference between what is recorded and what is made again. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from perdure.base.text import one_line
from perdure.records.record import Record

_SHOWN_MAX = 80
# How much of two long texts is shown before the place where they part.
_LEAD = 24


class Differing(Record):
    """One field that differs: its path within its record, and what it was and is, to be shown."""

    field: str
    was: str
    now: str

    @property
    def told(self) -> str:
        """The difference as the middle of a sentence."""
        return f"{self.field} was {self.was} and is {self.now}"


def first_difference(recorded: object, now: object) -> Differing | None:
    """Find where two records first differ, in the order of their fields' names; None if nowhere."""
    if recorded == now:
        return None
    return next(_differences(msgspec.to_builtins(recorded), msgspec.to_builtins(now), ""), None)


def differing(field: str, was: object, now: object) -> Differing:
    """Describe two values that differ, around the place where they part."""
    old, new = _words(was), _words(now)
    if old == new:
        old, new = _visible(was), _visible(now)
    start = 0
    if max(len(old), len(new)) > _SHOWN_MAX:
        start = max(_common(old, new) - _LEAD, 0)
    return Differing(field=field, was=_shown(was, old, start), now=_shown(now, new, start))


def _differences(old: Any, new: Any, path: str) -> Iterator[Differing]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            place = f"{path}.{key}" if path else str(key)
            yield from _differences(old.get(key), new.get(key), place)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        for index, (left, right) in enumerate(zip(old, new, strict=False)):
            yield from _differences(left, right, f"{path}[{index}]")
        if len(old) != len(new):
            yield Differing(
                field=f"the length of {path or 'it'}", was=str(len(old)), now=str(len(new))
            )
    elif old != new or type(old) is not type(new):
        yield differing(path or "it", old, new)


def _common(old: str, new: str) -> int:
    """Count the characters that two texts begin with alike."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(old), len(new)))


def _words(value: object) -> str:
    return " ".join(str(value).split())


def _visible(value: object) -> str:
    """Write white space so that it can be seen, for texts that differ in nothing else."""
    return str(value).replace("\n", "⏎").replace("\t", "⇥").replace(" ", "·")


def _shown(value: object, words: str, start: int) -> str:
    if value is None:
        return "nothing"
    return repr(one_line(("…" if start else "") + words[start:], _SHOWN_MAX))
