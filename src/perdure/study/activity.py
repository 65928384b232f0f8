"""How likely a persona is to be active at a tick: activation times involvement times rhythm. Pure.

The plan of a tick thins that further, and it is not in here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from perdure.base.codes import code_of
from perdure.records.channels import Involvement
from perdure.records.persona import AttributeValue
from perdure.records.scenario import Scenario


def chance(scenario: Scenario, tick: int, factor: float = 1.0) -> float:
    """Give the chance that somebody of this involvement is active at a tick: at most 1."""
    return min(1.0, scenario.activation * rhythm_at(scenario, tick) * factor)


def rhythm_at(scenario: Scenario, tick: int) -> float:
    """Give the factor of a tick: the rhythm begins anew when it is over."""
    return scenario.rhythm[tick % len(scenario.rhythm)] if scenario.rhythm else 1.0


def factor(
    involvement: Involvement | None, attributes: Mapping[str, AttributeValue]
) -> float | None:
    """Give a persona's involvement; None if the attribute should be the factor and is none."""
    if involvement is None:
        return 1.0
    value = attributes.get(involvement.attribute)
    if value is None:
        return involvement.otherwise
    if involvement.levels:
        return involvement.levels.get(code_of(value), involvement.otherwise)
    return None if isinstance(value, str) or not 0 <= value <= 1 else float(value)


def expected(scenario: Scenario, ticks: Iterable[int], involved: Mapping[float, int]) -> float:
    """Give how many are active over some ticks on average; `involved` counts people by factor."""
    like = Counter(rhythm_at(scenario, tick) for tick in ticks)
    first = {rhythm_at(scenario, tick): tick for tick in range(max(1, len(scenario.rhythm)))}
    return sum(
        number * people * chance(scenario, first[rhythm], one)
        for rhythm, number in like.items()
        for one, people in involved.items()
    )
