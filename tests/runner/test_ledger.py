"""The arithmetic of spend."""

from perdure.records.events import Cost
from perdure.records.usage import CostSource
from perdure.runner.ledger import Spend, spend_of


def cost(amount: int | None) -> Cost:
    """Make a cost event with an amount."""
    source = CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE
    return Cost(
        job=0,
        purpose="turn",
        ordinal=0,
        attempt=0,
        role="tier_a",
        model="m",
        source=source,
        amount=amount,
    )


def test_unknown_amounts_are_counted_and_never_zero():
    """A sum says how many of its parts are unknown; a free call is known."""
    assert spend_of([cost(5), cost(None), cost(0), cost(None)]) == Spend(known=5, unknown=2)


def test_spends_add_up():
    """The spend of two parts is the spend of the whole."""
    parts = [cost(5), cost(None)], [cost(7)]
    assert spend_of(parts[0]) + spend_of(parts[1]) == spend_of([*parts[0], *parts[1]])
