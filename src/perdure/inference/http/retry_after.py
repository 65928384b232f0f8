"""The `Retry-After` header: from values to values."""

from __future__ import annotations

import email.utils

_DIGITS_MAX = 12


def parse_retry_after(value: str | None, now_s: float) -> float | None:
    """Read the seconds to wait: from a number or a date, None where there is neither.

    `now_s` is the wall clock's time. A date that has passed means now; a negative number, or
    anything else that is no wait, means nothing. Caps are the caller's.
    """
    if value is None:
        return None
    text = value.strip()
    if text.replace(".", "", 1).isdigit() and text.isascii():
        return float(text) if len(text) <= _DIGITS_MAX else None
    try:
        date = email.utils.parsedate_to_datetime(text)
        return max(0.0, date.timestamp() - now_s)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None  # not a date: the same as no header
