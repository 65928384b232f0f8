"""What closed ticks of one world cost and what they teach, summed up for the governor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from perdure.inference.reservations import NOTHING
from perdure.records.events import Cost
from perdure.runner.estimates import CallsSeen, calls_seen
from perdure.runner.expected import numbers_of
from perdure.runner.ledger import spent_of
from perdure.runner.port import KindOfCalls, TickReport


class Bill:
    """Adds up the costs of a world, tick by tick, in the order of its record."""

    def __init__(self) -> None:
        self._spent = NOTHING
        self._seen: list[CallsSeen] = []
        self._most: Counter[tuple[str, str]] = Counter()

    def add(self, costs: Iterable[Cost]) -> None:
        """Add the costs of one tick."""
        costs = tuple(costs)
        self._spent += spent_of(costs)
        self._seen += calls_seen(costs)
        self._most |= Counter(numbers_of(costs))

    def on(self, report: TickReport) -> TickReport:
        """Put what was added on a report."""
        return msgspec.structs.replace(
            report,
            spent=self._spent,
            seen=tuple(self._seen),
            most_calls=tuple(
                KindOfCalls(role=role, purpose=purpose, calls=calls)
                for (role, purpose), calls in self._most.items()
            ),
        )
