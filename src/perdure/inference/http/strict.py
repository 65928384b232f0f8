"""Strict JSON: one document, finite numbers, no key twice, bounded depth; else nothing.

The fast path is msgspec. It takes the last of two equal keys and refuses lone surrogates, so a
body where either may be is read again by the slow path, which refuses the one and cleans the other.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeVar

import msgspec

from perdure.base.text import storable

T = TypeVar("T")


class NotStrictError(ValueError):
    """The text is not strict JSON."""


class StrictDecoder:
    """Decodes bodies of one type. `once` are keys which no honest body has twice at one level."""

    def __init__(self, type_: type[T], *, once: tuple[str, ...]) -> None:
        self._type = type_
        self._decoder = msgspec.json.Decoder(type_)
        self._once = tuple(f'"{key}"'.encode() for key in once)

    def decode(self, body: bytes) -> Any:
        """Decode a body into the decoder's type; None if it is not strict JSON of that type."""
        try:
            value = self._decoder.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return self._slowly(body)
        # Inside a JSON string a quote is escaped, so these bytes are a key, or a whole string.
        for key in self._once:
            if body.count(key) > 1:
                return self._slowly(body)
        return value

    def _slowly(self, body: bytes) -> Any:
        try:
            return msgspec.convert(_cleaned(strict_tree(body)), self._type)
        except (ValueError, RecursionError):
            return None  # ValueError covers what is not strict, and wrong types


def strict_tree(body: bytes) -> Any:
    """Decode strict JSON into builtins. Its texts may hold lone surrogates.

    Raises:
        NotStrictError: it is not strict JSON.

    """
    try:
        return json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object_without_doubles,
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError) as error:  # bad UTF-8, bad JSON, doubles
        raise NotStrictError(str(error)) from error


def _object_without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        raise NotStrictError("a key occurs twice")
    return tree


def _refuse(constant: str) -> NoReturn:
    raise NotStrictError(f"{constant} is not a number")


def _cleaned(tree: Any) -> Any:
    if isinstance(tree, str):
        return storable(tree)
    if isinstance(tree, dict):
        return {storable(key): _cleaned(item) for key, item in tree.items()}
    if isinstance(tree, list):
        return [_cleaned(item) for item in tree]
    return tree
