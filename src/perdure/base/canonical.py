"""Canonical JSON and hashes: equal values have equal bytes, on every machine, for ever.

Keys are sorted, numbers are finite, text has no lone surrogates, and a record omits the fields that
equal their defaults (its class says so), so that a record that grows moves no old hash.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import msgspec

from perdure.base.errors import InternalError

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
    if b"null" in encoded:
        _require_finite(msgspec.to_builtins(value))
    return encoded


def sha256(data: bytes) -> bytes:
    """Hash bytes: 32 bytes of SHA-256."""
    return hashlib.sha256(data).digest()


def hash_hex(value: object) -> str:
    """Hash a value's canonical JSON: 64 hex digits."""
    return hashlib.sha256(encode(value)).hexdigest()


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
