"""Canonical JSON and hashes: equal values have equal bytes, on every machine, for ever.

Keys are sorted, numbers are finite, text has no lone surrogates, and a record omits the fields that
equal their defaults (its class says so), so that a record that grows moves no old hash.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
import msgspec.inspect

from perdure.base.errors import InternalError

T = TypeVar("T")

_encoder = msgspec.json.Encoder(order="sorted")


def encode(value: object) -> bytes:
    """Encode a record, or a tree of builtins, as canonical JSON.

    Raises:
        InternalError: a number is not finite, or text holds a lone surrogate.

    """
    try:
        encoded = _encoder.encode(value)
    except (UnicodeEncodeError, TypeError) as error:
        raise InternalError(f"A value cannot be recorded: {error}.") from error
    # The encoder writes a number that is not finite as null, so only a null needs a closer look.
    kind: Any = type(value)
    if _may_hold_floats(kind) and b"null" in encoded:
        _require_finite(msgspec.to_builtins(value))
    return encoded


def as_recorded(value: T) -> T:
    """Give a record as it comes back from its canonical JSON: its mappings in order of their keys.

    What a record does not keep must not decide anything either.

    Raises:
        InternalError: it cannot be recorded.

    """
    return msgspec.json.decode(encode(value), type=type(value))


def in_key_order(mapping: dict[str, T]) -> dict[str, T]:
    """Give a mapping in the order of its keys: itself, if that is how it stands."""
    if all(one < other for one, other in pairwise(mapping)):
        return mapping
    return dict(sorted(mapping.items()))


def sha256(data: bytes) -> bytes:
    """Hash bytes: 32 bytes of SHA-256."""
    return hashlib.sha256(data).digest()


def hash_hex(value: object) -> str:
    """Hash a value's canonical JSON: 64 hex digits."""
    return hashlib.sha256(encode(value)).hexdigest()


def hash_each(values: Iterable[object]) -> str:
    """Hash the canonical JSON of a list of values without holding all of it at once."""
    digest = hashlib.sha256(b"[")
    for place, value in enumerate(values):
        digest.update(b"," if place else b"")
        digest.update(encode(value))
    digest.update(b"]")
    return digest.hexdigest()


@cache
def _may_hold_floats(cls: type) -> bool:
    """Say whether a value of a type may hold a float: a record may not if no field of it may."""
    return not issubclass(cls, msgspec.Struct) or _has_float(msgspec.inspect.type_info(cls))


def _has_float(info: msgspec.inspect.Type) -> bool:
    known: set[type] = set()

    def look(part: object) -> bool:
        if isinstance(part, msgspec.inspect.FloatType | msgspec.inspect.AnyType):
            return True
        if isinstance(part, msgspec.inspect.StructType):
            if part.cls in known:
                return False
            known.add(part.cls)
            return any(look(field.type) for field in part.fields)
        if isinstance(part, msgspec.inspect.Type):
            names = part.__struct_fields__
            return any(look(getattr(part, name)) for name in names)
        return isinstance(part, tuple) and any(map(look, part))

    return look(info)


def _require_finite(tree: Any) -> None:
    if isinstance(tree, float) and not math.isfinite(tree):
        raise InternalError(f"A number that is not finite ({tree}) cannot be recorded.")
    if isinstance(tree, dict):
        for key, item in tree.items():
            _require_finite(key)
            _require_finite(item)
    elif isinstance(tree, list | tuple):
        for item in tree:
            _require_finite(item)
