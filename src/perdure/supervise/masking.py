"""Secrets taken out of what a supervisor writes. Pure.

What counts as a secret: the values of environment variables whose names say so or that are named
to it, and words that look like a key or a bearer token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MASK = b"[masked]"

_CHARACTERS_MIN = 8
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_LOOKS = re.compile(
    rb"(?<![A-Za-z0-9])(?:sk|pk|rk|ghp|gho|xox[a-z])[-_][A-Za-z0-9_-]{16,}"
    rb"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}"
)


def secrets_of(environment: Mapping[str, str], named: Iterable[str] = ()) -> tuple[str, ...]:
    """Give the secret values of an environment, the longest first."""
    asked = frozenset(named)
    found = {
        value
        for name, value in environment.items()
        if name in asked or (_NAMES.search(name) and not _is_plain(value))
        if len(value) >= _CHARACTERS_MIN
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def masked(text: bytes, secrets: Iterable[bytes]) -> bytes:
    """Take secrets out of a text."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return _LOOKS.sub(MASK, text)


def _is_plain(value: str) -> bool:
    """Say whether a value is a path or a number, which some variables with such names hold."""
    return value.startswith(("/", "~", ".")) or value.isdigit()
