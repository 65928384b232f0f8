"""What was edited in an input since a run began: every place, with its old and new value. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perdure.base.text import printable

_SHOWN_MAX = 80
# How much of what two long texts share is shown before the place where they part.
_BEFORE_MAX = 20
_NAMES = ("id", "name")


def differences(then: object, now: object) -> Iterator[str]:
    """Say of every place at which two inputs differ what was there and what is there now.

    Items of a list that have an id or a name are compared by that, not by their place.
    """
    yield from _differences(_tree(then), _tree(now), "")


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    key = _key_of(old, new)
    if key:
        yield from _named(old, new, path, key)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            place = f"{path}.{key}" if path else str(key)
            if key not in old or key not in new:
                yield f"{place} is {'gone' if key in old else 'new'}"
            else:
                yield from _differences(old.get(key), new.get(key), place)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        if old != new and _is_plain(old) and _is_plain(new):
            yield _was_and_is(path, list(old), list(new))
            return
        for index, (left, right) in enumerate(zip(old, new, strict=False)):
            yield from _differences(left, right, f"{path}[{index}]")
        if len(old) != len(new):
            yield f"{path or 'it'} had {len(old)} parts and has {len(new)}"
    elif old != new or type(old) is not type(new):
        yield _was_and_is(path, old, new)


def _named(old: Sequence[Any], new: Sequence[Any], path: str, key: str) -> Iterator[str]:
    before, after = ({str(item[key]): item for item in items} for items in (old, new))
    for name in dict.fromkeys((*before, *after)):
        place = f"{path}[{name}]"
        if name not in before or name not in after:
            yield f"{place} is {'gone' if name in before else 'new'}"
        else:
            yield from _differences(before[name], after[name], place)
    kept = [name for name in before if name in after]
    moved = [name for name in after if name in before]
    if kept != moved:
        yield _was_and_is(f"the order of {path or 'it'}", kept, moved)


def _key_of(old: object, new: object) -> str:
    """Give the key by which all items of two lists are named, each list's apart; empty if none."""
    if not (isinstance(old, list) and isinstance(new, list) and (old or new)):
        return ""
    if not all(isinstance(item, dict) for item in (*old, *new)):
        return ""
    return next((key for key in _NAMES if _names_each(key, old) and _names_each(key, new)), "")


def _names_each(key: str, items: Sequence[dict[str, Any]]) -> bool:
    names = {str(item[key]) for item in items if key in item}
    return len(names) == len(items)


def _is_plain(items: Sequence[Any]) -> bool:
    return all(isinstance(item, str | int | float) for item in items)


def _tree(value: object) -> Any:
    """Turn a record into builtins with every field there: a default is a value like any other."""
    fields = getattr(value, "__struct_fields__", None)
    if fields is not None:
        return {name: _tree(getattr(value, name)) for name in fields}
    if isinstance(value, dict):
        return {str(key): _tree(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tree(item) for item in value]
    return value


def _was_and_is(path: str, old: object, new: object) -> str:
    left, right = _text(old), _text(new)
    start = 0
    if max(len(left), len(right)) > _SHOWN_MAX:
        pairs = enumerate(zip(left, right, strict=False))
        parting = next((place for place, (a, b) in pairs if a != b), min(len(left), len(right)))
        start = max(0, parting - _BEFORE_MAX)
    return f"{path or 'it'} was {_shown(old, left, start)} and is {_shown(new, right, start)}"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _shown(value: object, text: str, start: int) -> str:
    if value is None:
        return "nothing"
    end = start + _SHOWN_MAX
    cut = f"{'…' if start else ''}{text[start:end]}{'…' if text[end:] else ''}"
    # A text in quotes, its white space and whatever would drive a terminal written out.
    return repr(cut) if isinstance(value, str) else printable(cut) or "none"
