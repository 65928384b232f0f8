"""What flags say of money: a price, whose price, and a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from perdure.base.errors import UsageError
from perdure.records.budget import Budget
from perdure.records.usage import Price
from perdure.study import schema
from perdure.study.findings import quoted
from perdure.study.kinds import Money
from perdure.study.number_flags import read_flag

NONE = "none"
_PARTS = 2
_SECONDS = 3_600
# The limits by name: the field of a budget, how a study file writes it, and the unit of that.
_LIMITS: dict[str, tuple[str, Any, int]] = {
    "amount": ("amount", schema.AMOUNT.kind, 1),
    "ceiling": ("ceiling", schema.CEILING.kind, 1),
    "calls": ("calls", schema.CALLS.kind, 1),
    "tokens": ("tokens", schema.TOKENS.kind, 1),
    "hours": ("wall_s", schema.HOURS.kind, _SECONDS),
}


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


def rebudgeted(budget: Budget, given: Mapping[str, str | None]) -> Budget:
    """Change the limits of a budget that are given, by name, as a study file would write them.

    None leaves a limit as it is, and the text `none` lifts it.

    Raises:
        UsageError: one of them cannot be read.

    """
    changes: dict[str, float | None] = {}
    for name, text in given.items():
        if text is not None:
            place, kind, unit = _LIMITS[name]
            is_none = text == NONE
            changes[place] = (
                None if is_none else read_flag(f"--{name}", text, kind, f", or `{NONE}`") * unit
            )
    return msgspec.structs.replace(budget, **changes)


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


def amount_given(flag: str, given: str) -> int:
    """Read an amount of money that a flag gives, in nano-units.

    Raises:
        UsageError: it is none.

    """
    return _amount(flag, given, Money())


def _amount(flag: str, given: str, kind: Money) -> int:
    return read_flag(flag, given, kind, ", with at most nine decimals")
