"""What a run cost, summed from its cost events. An unknown amount is counted, never zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from perdure.records.events import Cost
from perdure.records.record import Record


class CostKey(Record):
    """What cost events are summed by. `served` is empty where nobody answered."""

    world_id: str
    purpose: str
    role: str
    model: str
    served: str
    source: str


class CostSum(Record):
    """A sum of cost events.

    `amount` is the sum of known amounts in nano-units, `unknown` how many attempts have none.
    `failed` of the attempts got no reply. Tokens are summed over attempts that report usage;
    `usage_unknown` counts those that do not, `usage_impossible` those whose usage cannot be.
    """

    attempts: int = 0
    failed: int = 0
    amount: int = 0
    unknown: int = 0
    input_fresh: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0
    usage_unknown: int = 0
    usage_impossible: int = 0

    def __add__(self, other: CostSum) -> CostSum:
        return CostSum(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )


class CostLine(Record):
    """One line of a ledger: what it sums, and the sum."""

    key: CostKey
    sum: CostSum


class NamedSum(Record):
    """A sum under the name of what it was summed by."""

    name: str
    sum: CostSum


class CostBook:
    """Sums cost events as they pass."""

    def __init__(self, world_id: str) -> None:
        self._world_id = world_id
        self._sums: dict[tuple[str, str, str, str, str], list[int]] = {}

    def add(self, cost: Cost) -> None:
        """Add one cost event."""
        key = (cost.purpose, cost.role, cost.model, cost.served, str(cost.source))
        sums = self._sums.setdefault(key, [0] * len(CostSum.__struct_fields__))
        for place, value in enumerate(_parts(cost)):
            sums[place] += value

    def lines(self) -> tuple[CostLine, ...]:
        """Give the sums so far, in a fixed order."""
        return tuple(
            CostLine(
                key=CostKey(
                    world_id=self._world_id,
                    purpose=purpose,
                    role=role,
                    model=model,
                    served=served,
                    source=source,
                ),
                sum=CostSum(**dict(zip(CostSum.__struct_fields__, sums, strict=True))),
            )
            for (purpose, role, model, served, source), sums in sorted(self._sums.items())
        )


def total(lines: Iterable[CostLine]) -> CostSum:
    """Add up lines."""
    return sum((line.sum for line in lines), CostSum())


def by(lines: Iterable[CostLine], name: Callable[[CostKey], str]) -> tuple[NamedSum, ...]:
    """Add up lines by a part of their key, in the order in which each first appears."""
    sums: dict[str, CostSum] = {}
    for line in lines:
        label = name(line.key)
        sums[label] = sums.get(label, CostSum()) + line.sum
    return tuple(NamedSum(name=label, sum=part) for label, part in sums.items())


def _parts(cost: Cost) -> tuple[int, ...]:
    usage = cost.usage
    return (
        1,
        int(cost.failed is not None),
        cost.amount or 0,
        int(cost.amount is None),
        usage.input_fresh if usage else 0,
        usage.cache_write if usage else 0,
        usage.cache_read if usage else 0,
        usage.output if usage else 0,
        int(usage is None),
        int(cost.usage_impossible),
    )
