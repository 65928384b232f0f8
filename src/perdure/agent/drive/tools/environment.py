"""The environment of a command: what it needs to run, and no secret of whoever started us."""

from __future__ import annotations

import re
from collections.abc import Mapping

# What a program needs to find itself and speak the reader's language. Nothing else is passed on.
_PASSED = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER", "VIRTUAL_ENV"}
)
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE", re.IGNORECASE
)
_SECRET_CHARACTERS_MIN = 8


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Keep of an environment only what is known to be harmless."""
    return {
        name: value
        for name, value in environment.items()
        if name in _PASSED or name.startswith("LC_")
    }


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Give the values of an environment that are secrets by their names, the longest first."""
    found = {
        value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _SECRET_CHARACTERS_MIN
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))
