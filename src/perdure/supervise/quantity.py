"""Times, sizes and counts as people write them: `30m`, `250ms`, `64MB`, `3`. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from perdure.base.errors import UsageError
from perdure.base.text import one_line

_UNITS_S = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_COUNT_MAX = 10**9
_WRITTEN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)")


def seconds(text: str, option: str) -> float:
    """Read a time; a bare number is seconds.

    Raises:
        UsageError: it is not a time.

    """
    return _read(text, _UNITS_S, option, "a time such as 250ms, 90s, 30m, 6h")


def size(text: str, option: str) -> int:
    """Read a size in bytes.

    Raises:
        UsageError: it is not a size.

    """
    return int(_read(text, _UNITS_BYTES, option, "a size such as 500kB, 64MB, 2GB"))


def number(text: str, option: str) -> int:
    """Read how many; at least one.

    Raises:
        UsageError: it is not a number of anything.

    """
    found = text.strip()
    if not (found.isascii() and found.isdigit() and found.strip("0")):
        raise UsageError(f"{option} {one_line(text)!r} is not a whole number from 1 on.")
    if len(found.lstrip("0")) > len(str(_COUNT_MAX)) or int(found) > _COUNT_MAX:
        raise UsageError(f"{option} {one_line(text)!r} is too large.")
    return int(found)


def _read(text: str, units: Mapping[str, float], option: str, kind: str) -> float:
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or found[2].lower() not in units:
        raise UsageError(f"{option} {one_line(text)!r} is not {kind}.")
    value = float(found[1]) * units[found[2].lower()]
    if not math.isfinite(value):
        raise UsageError(f"{option} {one_line(text)!r} is too large.")
    return value
