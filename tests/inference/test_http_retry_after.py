"""That a `Retry-After` header is a finite wait or nothing, whatever it holds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.http.retry_after import parse_retry_after

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("2", 2.0),
        (" 30 ", 30.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("1000000000", 1e9),
        ("Tue, 14 Nov 2023 22:13:25 GMT", 5.0),
        ("Tue, 14 Nov 2023 21:00:00 GMT", 0.0),
        ("-5", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("1e3", None),
        ("٣", None),
        ("9" * 400, None),
        ("Tue, 99 Nov 2023 22:13:25 GMT", None),
        (None, None),
    ],
)
def test_a_header_is_seconds_or_a_date(value: str | None, wait: float | None) -> None:
    """Seconds and dates are read, what has passed is now, and anything else is no wish."""
    assert parse_retry_after(value, NOW) == wait


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ \S*"))
def test_no_header_is_an_exception(value: str) -> None:
    """Every text gives a finite wait that is not negative, or none."""
    wait = parse_retry_after(value, NOW)
    assert wait is None or (math.isfinite(wait) and wait >= 0)
