"""Money is exact, rounded up, and unknown is not zero."""

from decimal import Decimal

import pytest

from perdure.base.money import nano, show


@pytest.mark.parametrize(
    ("amount", "units"), [("1", 10**9), ("0.15", 150_000_000), ("0.0000000001", 1), (0, 0)]
)
def test_amounts_become_nano_units_rounded_up(amount, units):
    """No fraction of a nano-unit is lost to the payer's favour."""
    assert nano(Decimal(amount)) == units


def test_unknown_is_shown_as_unknown():
    """An absent amount never reads as zero."""
    assert show(None, "USD") == "unknown USD"
    assert show(0, "USD") == "0.00 USD"
    assert show(nano("12.5"), "USD") == "12.50 USD"
    assert show(nano("0.0042"), "USD") == "0.004200 USD"
