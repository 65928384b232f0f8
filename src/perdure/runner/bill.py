"""What closed ticks of one world cost and what they teach, summed up for the governor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from perdure.inference.reservations import NOTHING, Amounts
from perdure.inference.settlement import UNSENT, tokens_of
from perdure.records.events import Cost
from perdure.runner.estimates import CallsSeen, calls_seen
from perdure.runner.expected import numbers_of
from perdure.runner.ledger import NOTHING_SPENT, spend_of
from perdure.runner.port import KindOfCalls, TickReport


class Bill:
    """Adds up the costs of a world, tick by tick, in the order of its record."""

    def __init__(self) -> None:
        self._spend = NOTHING_SPENT
        self._amounts = NOTHING
        self._seen: list[CallsSeen] = []
        self._most: Counter[tuple[str, str]] = Counter()

    def add(self, costs: Iterable[Cost]) -> None:
        """Add the costs of one tick."""
        costs = tuple(costs)
        spend = spend_of(costs)
        self._spend += spend
        self._amounts += Amounts(
            money=spend.known,
            calls=sum(cost.failed not in UNSENT for cost in costs),
            tokens=sum(map(_tokens, costs)),
            unknown=spend.unknown,
        )
        self._seen += calls_seen(costs)
        self._most |= Counter(numbers_of(costs))

    def on(self, report: TickReport) -> TickReport:
        """Put what was added on a report."""
        return msgspec.structs.replace(
            report,
            cost=self._spend.known,
            unknown_costs=self._spend.unknown,
            spent=self._amounts,
            seen=tuple(self._seen),
            most_calls=tuple(
                KindOfCalls(role=role, purpose=purpose, calls=calls)
                for (role, purpose), calls in self._most.items()
            ),
        )


def _tokens(cost: Cost) -> int:
    charged = cost.charged or cost.usage
    return 0 if charged is None else tokens_of(charged)
