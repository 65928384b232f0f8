"""What flags say of money: a price, whose price, and a budget."""

from __future__ import annotations

import msgspec

from perdure.base.errors import UsageError
from perdure.records.budget import Budget
from perdure.records.usage import Price
from perdure.study import schema
from perdure.study.findings import Findings, quoted
from perdure.study.kinds import Money
from perdure.study.nodes import Scalar

_PARTS = 2


def budgeted(budget: Budget, given: str) -> Budget:
    """Apply `--budget`, if it is given.

    Raises:
        UsageError: it is not an amount, or the study's own budget leaves no room for it.

    """
    if not given:
        return budget
    amount = _amount("--budget", given, Money(schema.BUDGET_MAX))
    if amount == 0:
        raise UsageError("--budget 0 is no budget.", remedy="Give what may be spent.")
    if budget.unpriced_accepted:
        raise UsageError(
            "--budget cannot hold: the study accepts calls without a price.",
            remedy="Give every model a price, and remove `unpriced` from the study.",
        )
    if budget.ceiling is not None and budget.ceiling < amount:
        raise UsageError(
            f"--budget {given} is above the study's ceiling.",
            remedy="Give less, or raise `ceiling` in the study.",
        )
    return msgspec.structs.replace(budget, amount=amount)


def price_given(given: str) -> Price:
    """Read `--price`: two amounts per million tokens, in and out.

    Raises:
        UsageError: it is not that.

    """
    parts = [part.strip() for part in given.split(",")]
    if len(parts) != _PARTS:
        raise UsageError(
            f"--price {quoted(given)} is not a price.",
            remedy="Give two amounts per million tokens, in and out, such as 0.15,0.60.",
        )
    fresh, output = (_amount("--price", part, Money()) for part in parts)
    return Price(input_fresh=fresh, output=output)


def price_as_given(given: str) -> str:
    """Check `--price-as`.

    Raises:
        UsageError: it cannot be the name of a price.

    """
    if not schema.ENTRY.fits(given):
        raise UsageError(
            f"--price-as {quoted(given)} names no price.", remedy=f"Give {schema.ENTRY.shown}."
        )
    return given


def _amount(flag: str, given: str, kind: Money) -> int:
    amount = kind.read_text(given, Scalar(0, flag), Findings(""))
    if amount is None:
        raise UsageError(
            f"{flag} {quoted(given)} is not an amount.",
            remedy=f"Give {kind.shown}, with at most nine decimals.",
        )
    return amount
