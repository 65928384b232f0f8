"""What a model call costs, learned from the calls that are settled. Pure.

What is learned does not depend on the order in which calls are learned, so that a run that is
taken up again, and learns from its record world by world, estimates what it did before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby

from perdure.inference.reservations import Amounts
from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.request import Attempt
from perdure.records.usage import CostSource

# The model role that answers, and what for.
RoleAndPurpose = tuple[str, str]

# A call is taken to cost what this part of the calls of its kind were paid at most.
QUANTILE = Fraction(9, 10)

# Amounts are told apart up to one part in 32; of those that are not, the largest is kept.
_DIGITS = 6


class CallsSeen(Record):
    """Calls of one kind that were settled: what they were paid and charged. Money in nano-units.

    `groups` gives, for prices of nearly the same size, the largest and how many calls were paid
    that by their usage; `total` is all that these calls cost. `charged` is what was charged beside
    the prices, for attempts that reported no usage; `calls` counts all that cost anything.
    """

    role: str
    model: str
    purpose: str
    total: int
    groups: tuple[tuple[int, int], ...]
    charged: int
    calls: int


class Estimates:
    """What calls cost, by role and purpose, and on average by model and role.

    `typical` is what a call is taken to cost before any of its kind is settled, in nano-units;
    None where that is unknown. Memory grows with the kinds of calls, not with their number.
    """

    def __init__(self, typical: Mapping[RoleAndPurpose, int | None]) -> None:
        self._typical = dict(typical)
        self._seen: dict[RoleAndPurpose, _Calls] = {}
        self._sums: dict[tuple[str, str], tuple[int, int]] = {}

    def learn(self, seen: CallsSeen) -> None:
        """Learn from many calls of one kind."""
        if not seen.calls:
            return
        self._seen.setdefault((seen.role, seen.purpose), _Calls()).add(seen)
        total, count = self._sums.get((seen.model, seen.role), (0, 0))
        priced = sum(count for _, count in seen.groups)
        self._sums[seen.model, seen.role] = total + seen.total, count + priced

    def call(self, role: str, purpose: str) -> int | None:
        """Estimate what a call costs, in nano-units; None where nothing is known of its kind."""
        known = self._seen.get((role, purpose))
        return self._typical.get((role, purpose)) if known is None else known.estimate()

    def calls(self, numbers: Mapping[RoleAndPurpose, int]) -> Amounts:
        """Estimate what calls cost together, given how many there are of each kind.

        Those of which nothing is known are counted as unknown, and are in no sum.
        """
        known = unknown = 0
        for (role, purpose), number in numbers.items():
            each = self.call(role, purpose)
            if each is None:
                unknown += number
            else:
                known += each * number
        return Amounts(money=known, calls=sum(numbers.values()), unknown=unknown)

    def mean(self, model: str, role: str) -> Fraction | None:
        """Give what the priced calls of a model and role cost on average; None if none is."""
        total, count = self._sums.get((model, role), (0, 0))
        return Fraction(total, count) if count else None

    def dearest_mean(self) -> Fraction | None:
        """Give the largest of these averages: for a call of which neither is known."""
        means = (self.mean(model, role) for model, role in self._sums)
        return max((mean for mean in means if mean is not None), default=None)


def calls_seen(costs: Iterable[Cost]) -> tuple[CallsSeen, ...]:
    """Sum up what the calls of one tick of one world say, in the order of its record."""
    kinds: dict[tuple[str, str, str], _Calls] = {}
    for attempts in calls_of(costs):
        first = attempts[0]
        kind = first.role, first.model, first.purpose
        kinds.setdefault(kind, _Calls()).add_call(attempts)
    return tuple(calls.told(*kind) for kind, calls in kinds.items() if calls.number)


def cost_of(attempts: Iterable[Cost | Attempt]) -> tuple[int, int]:
    """Give what a call was paid by its usage, and what it was charged beside that.

    The first says what such a call costs: nothing stands for a call that was free, released or
    answered from a cache, which does not say that the next one will be, and for one whose amount is
    unknown, which was not free. The second is for attempts that failed, or told no usage.
    """
    paid = charged = 0
    for attempt in attempts:
        if _is_paid(attempt):
            paid += attempt.amount or 0
        else:
            charged += attempt.amount or 0
    return paid, charged


def calls_of(costs: Iterable[Cost]) -> Iterator[tuple[Cost, ...]]:
    """Gather the costs of one tick, in the order of its record, into the attempts of each call."""
    for _, attempts in groupby(costs, key=lambda cost: (cost.job, cost.purpose, cost.ordinal)):
        yield tuple(attempts)


def _is_paid(attempt: Cost | Attempt) -> bool:
    return (
        bool(attempt.amount)
        and attempt.usage is not None
        and not attempt.usage_impossible
        and attempt.source is not CostSource.CACHE
    )


class _Calls:
    """Calls of one kind: how many were paid how much, prices of nearly the same size together."""

    __slots__ = ("_charged", "_groups", "_priced", "_total", "number")

    def __init__(self) -> None:
        self.number = 0
        self._priced = 0
        self._total = 0
        self._charged = 0
        self._groups: dict[tuple[int, int], tuple[int, int]] = {}

    def add_call(self, attempts: Iterable[Cost | Attempt]) -> None:
        paid, charged = cost_of(attempts)
        self.number += bool(paid or charged)
        self._charged += charged
        if paid:
            self._total += paid + charged
            self._add_price(paid, 1)

    def add(self, seen: CallsSeen) -> None:
        self.number += seen.calls
        self._charged += seen.charged
        self._total += seen.total
        for largest, count in seen.groups:
            self._add_price(largest, count)

    def told(self, role: str, model: str, purpose: str) -> CallsSeen:
        return CallsSeen(
            role=role,
            model=model,
            purpose=purpose,
            total=self._total,
            groups=tuple((largest, count) for count, largest in self._groups.values()),
            charged=self._charged,
            calls=self.number,
        )

    def estimate(self) -> int:
        """Give the upper quantile of the prices, and what is charged beside them on average.

        A charge is a worst case, far above any price: as part of what a quantile is taken of, it
        would be in no estimate where faults are rare, and make every call a worst case where they
        are not.
        """
        return math.ceil(Fraction(self._quantile() * self._priced + self._charged, self.number))

    def _quantile(self) -> int:
        seen, wanted = 0, QUANTILE * self._priced
        for _, (count, largest) in sorted(self._groups.items()):
            seen += count
            if seen >= wanted:
                return largest
        return 0

    def _add_price(self, amount: int, count: int) -> None:
        shift = max(0, amount.bit_length() - _DIGITS)
        place = shift, amount >> shift
        known, largest = self._groups.get(place, (0, 0))
        self._groups[place] = known + count, max(largest, amount)
        self._priced += count
