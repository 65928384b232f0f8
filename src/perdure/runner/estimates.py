"""What a model call costs, learned from the calls that are settled. Pure.

What is learned does not depend on the order in which calls are learned, so that a run that is
taken up again, and learns from its record world by world, estimates what it did before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby

from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.request import Attempt
from perdure.records.usage import CostSource
from perdure.runner.ledger import Spend

# The model role that answers, and what for.
RoleAndPurpose = tuple[str, str]

# A call is taken to cost what this part of the calls of its kind cost at most.
QUANTILE = Fraction(9, 10)

# Amounts are told apart up to one part in 32; of those that are not, the largest is kept.
_DIGITS = 6


class CallsSeen(Record):
    """Calls of one kind that were settled: what they cost together, and how many cost how much.

    `groups` gives, for amounts of nearly the same size, the largest in nano-units and their count.
    """

    role: str
    model: str
    purpose: str
    total: int
    groups: tuple[tuple[int, int], ...]


class Estimates:
    """What calls cost, by role and purpose, and on average by model and role.

    `typical` is what a call is taken to cost before any of its kind is settled, in nano-units;
    None where that is unknown. Memory grows with the kinds of calls, not with their number.
    """

    def __init__(self, typical: Mapping[RoleAndPurpose, int | None]) -> None:
        self._typical = dict(typical)
        self._amounts: dict[RoleAndPurpose, _Amounts] = {}
        self._sums: dict[tuple[str, str], tuple[int, int]] = {}

    def learn(
        self, role: str, model: str, purpose: str, attempts: Iterable[Cost | Attempt]
    ) -> None:
        """Learn from one call that has ended, by its attempts."""
        amount = price_of(attempts)
        if amount is not None:
            groups = ((amount, 1),)
            self.learn_seen(
                CallsSeen(role=role, model=model, purpose=purpose, total=amount, groups=groups)
            )

    def learn_tick(self, costs: Iterable[Cost]) -> None:
        """Learn from the costs of one tick of one world, in the order of its record."""
        for seen in calls_seen(costs):
            self.learn_seen(seen)

    def learn_seen(self, seen: CallsSeen) -> None:
        """Learn from many calls of one kind."""
        amounts = self._amounts.setdefault((seen.role, seen.purpose), _Amounts())
        for largest, count in seen.groups:
            amounts.add(largest, count)
        total, count = self._sums.get((seen.model, seen.role), (0, 0))
        number = sum(count for _, count in seen.groups)
        self._sums[seen.model, seen.role] = total + seen.total, count + number

    def call(self, role: str, purpose: str) -> int | None:
        """Estimate what a call costs, in nano-units; None where nothing is known of its kind."""
        known = self._amounts.get((role, purpose))
        return self._typical.get((role, purpose)) if known is None else known.quantile(QUANTILE)

    def calls(self, numbers: Mapping[RoleAndPurpose, int]) -> Spend:
        """Estimate what calls cost together, given how many there are of each kind."""
        known = unknown = 0
        for (role, purpose), number in numbers.items():
            each = self.call(role, purpose)
            if each is None:
                unknown += number
            else:
                known += each * number
        return Spend(known=known, unknown=unknown)

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
    kinds: dict[tuple[str, str, str], tuple[int, _Amounts]] = {}
    for calls in calls_of(costs):
        amount = price_of(calls)
        if amount is not None:
            kind = calls[0].role, calls[0].model, calls[0].purpose
            total, amounts = kinds.get(kind, (0, _Amounts()))
            amounts.add(amount)
            kinds[kind] = total + amount, amounts
    return tuple(
        CallsSeen(role=role, model=model, purpose=purpose, total=total, groups=amounts.groups)
        for (role, model, purpose), (total, amounts) in kinds.items()
    )


def price_of(attempts: Iterable[Cost | Attempt]) -> int | None:
    """Give what a call cost; None if it says nothing of what such a call costs.

    It says something if any attempt was paid for by its usage. What is known of the other attempts
    is then part of it. A call that was free, released or answered from a cache does not say that
    the next one will be, and one whose amount is unknown was not free.
    """
    amount, paid = 0, False
    for attempt in attempts:
        amount += attempt.amount or 0
        paid = paid or _is_paid(attempt)
    return amount if paid else None


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


class _Amounts:
    """How many calls cost how much, with amounts of nearly the same size counted together."""

    __slots__ = ("_count", "_groups")

    def __init__(self) -> None:
        self._count = 0
        self._groups: dict[tuple[int, int], tuple[int, int]] = {}

    @property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """The largest amount of each group, and how many are in it."""
        return tuple((largest, count) for count, largest in self._groups.values())

    def add(self, amount: int, number: int = 1) -> None:
        shift = max(0, amount.bit_length() - _DIGITS)
        place = shift, amount >> shift
        count, largest = self._groups.get(place, (0, 0))
        self._groups[place] = count + number, max(largest, amount)
        self._count += number

    def quantile(self, part: Fraction) -> int:
        """Give an amount that at least this part of the calls do not exceed."""
        seen, wanted = 0, part * self._count
        for _, (count, largest) in sorted(self._groups.items()):
            seen += count
            if seen >= wanted:
                return largest
        return 0
