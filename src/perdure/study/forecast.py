"""What a study will take before anything is spent: worlds, calls, tokens, money, concurrency.

Pure. Numbers of calls follow from the schedule of the survey world and the persona agent; with a
world or an agent of the user's own they are what ours would do, and `own_parts` says so. Tokens
are estimated from the length of the texts.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from perdure.base import money
from perdure.records.record import Record
from perdure.records.scenario import AgentSettings, Scenario
from perdure.records.study import ModelSpec, Study
from perdure.records.usage import Price
from perdure.study.identity import Cell
from perdure.study.lengths import Lengths, lengths

TURN = "turn"
REFLECTION = "reflection"

_FREE = ("baseline", "local")


class CallForecast(Record):
    """The calls of one purpose, over all worlds. Tokens are of one call.

    `typical_cost` is the price of one expected call in nano-units, absent if the model has none.
    """

    purpose: str
    role: str
    model: str
    calls: int
    calls_worst: int
    input_tokens: int
    output_tokens: int
    input_tokens_worst: int
    output_tokens_worst: int
    typical_cost: int | None = None


class WorldForecast(Record):
    """One world: its ticks and its turns."""

    world_id: str
    scenario: str
    replicate_seed: int
    ticks: int
    turns: int
    turns_worst: int


class Forecast(Record):
    """A study's forecast. Money is in nano-units, absent if any call of it has no known price.

    `attempts_worst` counts every retry that the limits allow, and `cost_worst` pays for all of
    them. `widest_tick` is how many calls the widest tick has over all worlds: more calls in flight
    than that are of no use. `seconds` is absent where no rate is known.
    """

    personas: int
    worlds: tuple[WorldForecast, ...]
    calls: tuple[CallForecast, ...]
    calls_total: int
    calls_worst: int
    attempts_worst: int
    widest_tick: int
    currency: str
    cost: int | None = None
    cost_worst: int | None = None
    seconds: float | None = None
    own_parts: bool = False


def forecast(
    study: Study, cells: tuple[Cell, ...], *, personas: int, calls_per_s: float | None = None
) -> Forecast:
    """Forecast a study over its cells, for that many personas.

    `calls_per_s` is a measured rate, if there is one; a limit of requests per minute is another.
    """
    sizes = lengths(study)
    worlds = tuple(_world(cell, personas) for cell in cells)
    calls = tuple(
        part
        for part in (
            _turns(study, worlds, sizes),
            _reflections(study, cells, personas, sizes),
        )
        if part.calls_worst
    )
    total = sum(part.calls for part in calls)
    costs = [_cost(part, study, part.calls, worst=False) for part in calls]
    worsts = [_cost(part, study, _attempts(part, study), worst=True) for part in calls]
    return Forecast(
        personas=personas,
        worlds=worlds,
        calls=calls,
        calls_total=total,
        calls_worst=sum(part.calls_worst for part in calls),
        attempts_worst=sum(_attempts(part, study) for part in calls),
        widest_tick=_widest(cells, personas),
        currency=study.currency,
        cost=_sum(costs),
        cost_worst=_sum(worsts),
        seconds=_seconds(study, calls, total, calls_per_s),
        own_parts=_own_parts(study),
    )


def tick_cost(study: Study, scenario: Scenario, tick: int, *, personas: int) -> int | None:
    """Forecast what one tick of a scenario costs, in nano-units; None if a price is not known."""
    sizes = lengths(study)
    waved = personas if tick in scenario.waves else 0
    shown, reflected = 0, 0
    if str(tick) in scenario.exposures:
        shown = round(personas * scenario.activation)
        expected, _ = reflections(scenario, study.agent)
        reflected = math.ceil(personas * expected / len(scenario.exposures))
    parts = (
        _part(
            study,
            purpose=TURN,
            role="tier_a",
            calls=waved + shown,
            calls_worst=0,
            sizes=(sizes.turn, sizes.turn_worst),
        ),
        _part(
            study,
            purpose=REFLECTION,
            role="tier_b",
            calls=reflected,
            calls_worst=0,
            sizes=(sizes.reflection, sizes.reflection_worst),
        ),
    )
    return _sum([_cost(part, study, part.calls, worst=False) for part in parts if part.calls])


def reflections(scenario: Scenario, agent: AgentSettings) -> tuple[Fraction, int]:
    """Count the reflections of one persona in one world: expected, and at most.

    A persona reflects after every `reflect_every` turns that showed it something; how many such
    turns it has follows a binomial distribution. At most, every reflection fails and is tried
    again after each later turn.
    """
    if agent.reflect_every <= 0:
        return Fraction(0), 0
    shown = len(scenario.exposures)
    worst = max(0, shown - agent.reflect_every + 1)
    chance = Fraction(scenario.activation).limit_denominator(10_000)
    if chance in {0, 1} or shown > 1_000:  # noqa: PLR2004 - beyond it the mean says enough
        expected = Fraction(math.floor(shown * chance), 1) // agent.reflect_every
        return Fraction(expected), worst
    mean = sum(
        (
            math.comb(shown, turns)
            * chance**turns
            * (1 - chance) ** (shown - turns)
            * (turns // agent.reflect_every)
            for turns in range(shown + 1)
        ),
        start=Fraction(0),
    )
    return mean, worst


def _world(cell: Cell, personas: int) -> WorldForecast:
    scenario = cell.header.scenario
    waves, shown = len(scenario.waves), len(scenario.exposures)
    return WorldForecast(
        world_id=cell.entry.world_id,
        scenario=scenario.id,
        replicate_seed=cell.entry.replicate_seed,
        ticks=scenario.horizon,
        turns=personas * waves + round(personas * shown * scenario.activation),
        turns_worst=personas * (waves + shown),
    )


def _turns(study: Study, worlds: tuple[WorldForecast, ...], sizes: Lengths) -> CallForecast:
    return _part(
        study,
        purpose=TURN,
        role="tier_a",
        calls=sum(world.turns for world in worlds),
        calls_worst=sum(world.turns_worst for world in worlds),
        sizes=(sizes.turn, sizes.turn_worst),
    )


def _reflections(
    study: Study, cells: tuple[Cell, ...], personas: int, sizes: Lengths
) -> CallForecast:
    by_scenario = {scenario.id: reflections(scenario, study.agent) for scenario in study.scenarios}
    expected = sum((by_scenario[cell.entry.scenario][0] for cell in cells), start=Fraction(0))
    worst = sum(by_scenario[cell.entry.scenario][1] for cell in cells)
    return _part(
        study,
        purpose=REFLECTION,
        role="tier_b",
        calls=round(personas * expected),
        calls_worst=personas * worst,
        sizes=(sizes.reflection, sizes.reflection_worst),
    )


def _part(
    study: Study, *, purpose: str, role: str, calls: int, calls_worst: int, sizes: tuple[int, int]
) -> CallForecast:
    spec = study.models[role]
    output_worst = study.agent.answer_tokens_max
    output = max(output_worst // 2, 1)
    return CallForecast(
        purpose=purpose,
        role=role,
        model=spec.pin.model,
        calls=calls,
        calls_worst=calls_worst,
        input_tokens=sizes[0],
        output_tokens=output,
        input_tokens_worst=sizes[1],
        output_tokens_worst=output_worst,
        typical_cost=_call_cost(spec, sizes[0], output),
    )


def _call_cost(spec: ModelSpec, input_tokens: int, output_tokens: int) -> int | None:
    price = spec.price
    if price is None:
        return 0 if spec.pin.provider in _FREE else None
    dearest = max(price.input_fresh, price.cache_write or 0)
    full = Price(input_fresh=dearest, output=price.output)
    return money.price_tokens(input_tokens, full.input_fresh) + money.price_tokens(
        output_tokens, full.output
    )


def _cost(part: CallForecast, study: Study, calls: int, *, worst: bool) -> int | None:
    if not worst:
        return None if part.typical_cost is None else part.typical_cost * calls
    spec = study.models[part.role]
    each = _call_cost(spec, part.input_tokens_worst, part.output_tokens_worst)
    return None if each is None else each * calls


def _attempts(part: CallForecast, study: Study) -> int:
    spec = study.models[part.role]
    retries = spec.endpoint.retries_max if spec.pin.provider == "http" else 0
    return part.calls_worst * (1 + retries)


def _sum(amounts: list[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _widest(cells: tuple[Cell, ...], personas: int) -> int:
    ticks: Counter[int] = Counter()
    for cell in cells:
        scenario = cell.header.scenario
        ticks.update(dict.fromkeys(scenario.waves, personas))
        active = math.ceil(personas * scenario.activation)
        ticks.update({int(tick): active for tick in scenario.exposures})
    return max(ticks.values(), default=0)


def _seconds(
    study: Study, calls: tuple[CallForecast, ...], total: int, calls_per_s: float | None
) -> float | None:
    if calls_per_s is not None and calls_per_s > 0:
        return total / calls_per_s
    limits = {study.models[part.role].endpoint.requests_per_minute for part in calls}
    if limits and all(limits):
        return total * 60 / min(limits)
    return None


def _own_parts(study: Study) -> bool:
    parts = [study.agent.agent, *(scenario.world for scenario in study.scenarios)]
    return any(not part.startswith("perdure.") for part in parts)
