"""Numbers written for people. What is not known reads `n/a`, never zero."""

from __future__ import annotations

from perdure.base.money import show

UNKNOWN = "n/a"
_MINUTE = 60
_HOUR = 3600


def percent(share: float | None, places: int = 1) -> str:
    """Write a share as a percentage."""
    return UNKNOWN if share is None else f"{100 * share:.{places}f} %"


def points(change: float | None, places: int = 1) -> str:
    """Write a difference of shares in percentage points, with its sign."""
    if change is None:
        return UNKNOWN
    rounded = round(100 * change, places)
    return f"{rounded + 0.0:+.{places}f}"


def hundredths(share: float | None, places: int = 1) -> str:
    """Write a share, or a deviation of shares, in hundredths, where a heading says that it is."""
    return UNKNOWN if share is None else f"{100 * share:.{places}f}"


def score(value: float | None) -> str:
    """Write a score such as Brier's."""
    return UNKNOWN if value is None else f"{value:.3f}"


def count(number: int) -> str:
    """Write a whole number with separators."""
    return f"{number:,}"


def plural(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def spend(amount: int, unknown: int, currency: str) -> str:
    """Write a sum of money beside how many amounts are unknown."""
    known = show(amount, currency)
    return f"{known} + {unknown:,} unknown" if unknown else known


def duration(seconds: float | None) -> str:
    """Write a duration as m:ss or h:mm:ss."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
