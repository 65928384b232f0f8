"""Money: an integer count of nano-units of one declared currency, rounded up.

An unknown amount is `None`, never zero.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

NANO = 1_000_000_000


def nano(amount: Decimal | str | int) -> int:
    """Turn an amount in currency units into nano-units, rounded up."""
    return int((Decimal(amount) * NANO).to_integral_value(rounding=ROUND_CEILING))


def show(amount: int | None, currency: str) -> str:
    """Write an amount for people: at least two decimals, more where it is small; or `unknown`."""
    if amount is None:
        return f"unknown {currency}"
    units = Decimal(amount) / NANO
    places = 2 if amount == 0 or abs(units) >= 1 else 6
    return f"{units:,.{places}f} {currency}"
