"""What a study will take before anything is spent: worlds, calls, tokens, money, time.

Pure. Numbers of calls follow from the schedule of the survey world and the persona agent; with a
world or an agent of the user's own they are what ours would do, and `own_parts` says so. Tokens
are estimated from the length of the texts.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from perdure.base.money import NANO
from perdure.records.record import Record
from perdure.records.scenario import Scenario
from perdure.records.study import ModelSpec, Study
from perdure.records.usage import Usage
from perdure.study.identity import Cell
from perdure.study.lengths import Lengths, lengths
from perdure.study.pricing import amount_of, most_for, price_of
from perdure.study.read_models import EMBED
from perdure.study.schedule import REFLECTIONS, TURNS, Kind, Schedule

DEAR = NANO


class CallForecast(Record):
    """The calls of one purpose, over all worlds. Tokens are of one call.

    `typical_cost` is the price of one expected call in nano-units, and `worst_cost` the most that
    one attempt can cost; both are absent if the model has no price.
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
    worst_cost: int | None = None

    @property
    def is_dear(self) -> bool:
        """Whether one typical call costs more than one unit of the currency."""
        return (self.typical_cost or 0) > DEAR


class WorldForecast(Record):
    """One world: its ticks and its turns."""

    world_id: str
    scenario: str
    replicate_seed: int
    ticks: int
    turns: int
    turns_worst: int


class TickForecast(Record):
    """One tick, over all worlds that are to live it, at full activation.

    `turns` and `reflections` are the calls to expect. Expected costs are in nano-units, apart for
    what nothing thins (`wave`), for what activation thins (`active`), and for optional work;
    absent if a call of the tick has no known price.
    """

    tick: int
    is_wave: bool
    turns: float
    reflections: float
    calls_worst: int
    wave: int | None = None
    active: int | None = None
    optional: int | None = None


class Forecast(Record):
    """A study's forecast. Money is in nano-units, absent if any call of it has no known price.

    `attempts_worst` counts every retry that the limits allow, and `cost_worst` pays for all of
    them. `widest_tick` is how many calls the widest tick has over all worlds: more calls in flight
    than that are of no use. `ticks` are those with any call, in order. `seconds` is absent where
    no rate is known, and `seconds_worst` where nothing limits how long a call may take.
    """

    personas: int
    worlds: tuple[WorldForecast, ...]
    calls: tuple[CallForecast, ...]
    calls_total: int
    calls_worst: int
    attempts_worst: int
    tokens: int
    tokens_worst: int
    widest_tick: int
    currency: str
    ticks: tuple[TickForecast, ...] = ()
    cost: int | None = None
    cost_worst: int | None = None
    seconds: float | None = None
    seconds_worst: float | None = None
    own_parts: bool = False

    @property
    def call_tokens(self) -> float:
        """How many tokens a call uses on average."""
        return self.tokens / self.calls_total if self.calls_total else 0.0


class Pace(Record):
    """How fast calls were made, measured: seconds that one call takes, and at most in flight."""

    call_s: float
    in_flight_max: int


def forecast(
    study: Study,
    cells: tuple[Cell, ...],
    *,
    personas: int,
    pace: Pace | None = None,
    costs: Mapping[Kind, int] | None = None,
) -> Forecast:
    """Forecast a study over its cells, for that many personas.

    `pace` and `costs` (by role and purpose, what one call costs) are measured, if there are any.
    """
    worlds = tuple(_world(cell, personas) for cell in cells)
    counted = _count(study, cells, personas)
    calls = _calls(study, worlds, counted, costs or {})
    ticks = tuple(_tick(tick, counted[tick], calls) for tick in sorted(counted))
    return Forecast(
        personas=personas,
        worlds=worlds,
        calls=calls,
        calls_total=sum(part.calls for part in calls),
        calls_worst=sum(part.calls_worst for part in calls),
        attempts_worst=sum(_attempts_worst(study, part) for part in calls),
        tokens=sum(part.calls * (part.input_tokens + part.output_tokens) for part in calls),
        tokens_worst=sum(
            _attempts_worst(study, part) * (part.input_tokens_worst + part.output_tokens_worst)
            for part in calls
        ),
        widest_tick=max((math.ceil(tick.turns) for tick in ticks), default=0),
        currency=study.currency,
        ticks=ticks,
        cost=_sum(_times(part.typical_cost, part.calls) for part in calls),
        cost_worst=_sum(_times(part.worst_cost, _attempts_worst(study, part)) for part in calls),
        seconds=_seconds(study, ticks, pace),
        seconds_worst=_seconds_worst(study, ticks),
        own_parts=_own_parts(study),
    )


def tick_cost(study: Study, scenario: Scenario, tick: int, *, personas: int) -> int | None:
    """Forecast what one tick of a scenario costs, in nano-units; None if a price is not known."""
    costs = call_costs(study)
    expected = Schedule(scenario, study.agent).expected(tick, personas)
    amounts = [_times(costs[kind][0], number) for kind, number in expected.items()]
    known = [amount for amount in amounts if amount is not None]
    return math.ceil(round(sum(known), 6)) if len(known) == len(amounts) else None


def call_costs(study: Study) -> dict[Kind, tuple[int | None, int | None]]:
    """Price one call of each kind: a typical one, and the most that an attempt can cost.

    Costs are in nano-units, absent where the model has no known price.
    """
    sizes = lengths(study)
    return {
        kind: _priced(study, kind, size)
        for kind, size in _sizes(sizes).items()
        if kind[0] in study.models
    }


class _Counted:
    """The calls of one tick, over the worlds: to expect, and at most."""

    def __init__(self) -> None:
        self.wave = 0.0
        self.active = 0.0
        self.optional = 0.0
        self.most: Counter[Kind] = Counter()

    def add(self, schedule: Schedule, tick: int, personas: int, worlds: int) -> None:
        """Add a tick of so many worlds that have one schedule."""
        expected = schedule.expected(tick, personas)
        asked = personas if schedule.is_wave(tick) else 0
        self.wave += worlds * asked
        self.active += worlds * (expected.get(TURNS, 0.0) - asked)
        self.optional += worlds * expected.get(REFLECTIONS, 0.0)
        for kind, count in schedule.most(tick, personas).items():
            self.most[kind] += worlds * count


def _count(study: Study, cells: tuple[Cell, ...], personas: int) -> dict[int, _Counted]:
    worlds = Counter(cell.entry.scenario for cell in cells)
    scenarios = {cell.entry.scenario: cell.header.scenario for cell in cells}
    counted: dict[int, _Counted] = defaultdict(_Counted)
    for name, scenario in scenarios.items():
        schedule = Schedule(scenario, study.agent)
        for tick in schedule.ticks:
            counted[tick].add(schedule, tick, personas, worlds[name])
    return counted


def _calls(
    study: Study,
    worlds: tuple[WorldForecast, ...],
    counted: Mapping[int, _Counted],
    measured: Mapping[Kind, int],
) -> tuple[CallForecast, ...]:
    costs, sizes = call_costs(study), _sizes(lengths(study))
    expected = {
        TURNS: sum(world.turns for world in worlds),
        REFLECTIONS: round(sum(tick.optional for tick in counted.values())),
    }
    most = sum((tick.most for tick in counted.values()), start=Counter[Kind]())
    return tuple(
        CallForecast(
            purpose=kind[1],
            role=kind[0],
            model=study.models[kind[0]].pin.model,
            calls=expected[kind],
            calls_worst=most[kind],
            input_tokens=sizes[kind][0],
            output_tokens=_output(study, kind),
            input_tokens_worst=sizes[kind][1],
            output_tokens_worst=_output_worst(study, kind),
            typical_cost=measured.get(kind, costs[kind][0]),
            worst_cost=costs[kind][1],
        )
        for kind in (TURNS, REFLECTIONS)
        if most[kind]
    )


def _tick(tick: int, counted: _Counted, calls: tuple[CallForecast, ...]) -> TickForecast:
    costs = {(part.role, part.purpose): part.typical_cost for part in calls}
    return TickForecast(
        tick=tick,
        is_wave=counted.wave > 0,
        turns=counted.wave + counted.active,
        reflections=counted.optional,
        calls_worst=counted.most.total(),
        wave=_times(costs.get(TURNS), counted.wave),
        active=_times(costs.get(TURNS), counted.active),
        optional=_times(costs.get(REFLECTIONS), counted.optional),
    )


def _sizes(sizes: Lengths) -> dict[Kind, tuple[int, int]]:
    return {
        TURNS: (sizes.turn, sizes.turn_worst),
        REFLECTIONS: (sizes.reflection, sizes.reflection_worst),
    }


def _output(study: Study, kind: Kind) -> int:
    most = _output_worst(study, kind)
    return most // 2 or most


def _output_worst(study: Study, kind: Kind) -> int:
    """Say how many tokens a call says at most. A call for vectors says nothing."""
    return 0 if kind[0] == EMBED else study.agent.answer_tokens_max


def _priced(study: Study, kind: Kind, size: tuple[int, int]) -> tuple[int | None, int | None]:
    price = price_of(study.models[kind[0]])
    typical = Usage(input_fresh=size[0], output=_output(study, kind))
    worst = Usage(input_fresh=size[1], output=_output_worst(study, kind))
    return amount_of(typical, price), most_for(worst, price)


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


def _attempts_worst(study: Study, part: CallForecast) -> int:
    """Count the attempts at most. The limits of the first model hold for the whole run."""
    retries = _first(study).endpoint.retries_max if _is_sent(study.models[part.role]) else 0
    return (1 + retries) * part.calls_worst


def _first(study: Study) -> ModelSpec:
    return next(iter(study.models.values()))


def _is_sent(spec: ModelSpec) -> bool:
    return spec.pin.provider == "http"


def _times(cost: int | None, count: float) -> int | None:
    """Multiply a cost; nothing of something unknown costs nothing."""
    if not count:
        return 0
    return None if cost is None else math.ceil(cost * count)


def _sum(amounts: Iterable[int | None]) -> int | None:
    known = list(amounts)
    return None if None in known else sum(amount for amount in known if amount is not None)


def _seconds(study: Study, ticks: tuple[TickForecast, ...], pace: Pace | None) -> float | None:
    """Say how long the ticks take one after another, at a measured pace or a limited one."""
    limit = _first(study).endpoint.requests_per_minute
    total = sum(tick.turns + tick.reflections for tick in ticks)
    limited = total * 60 / limit if limit else None
    if pace is None:
        return limited
    # A persona's reflection waits for its turn, so a tick takes one call's time or two at least.
    rounds = sum(
        max((tick.turns + tick.reflections) / pace.in_flight_max, 2.0 if tick.reflections else 1.0)
        for tick in ticks
    )
    return max(pace.call_s * rounds, limited or 0.0)


def _seconds_worst(study: Study, ticks: tuple[TickForecast, ...]) -> float | None:
    """Say how long the ticks can take, if every call takes all the time that it may."""
    spoken = [spec for role, spec in study.models.items() if role != EMBED]
    # Vectors that are made here take no time; what speaks here takes as long as the machine does.
    if not all(_is_sent(spec) for spec in spoken):
        return None
    endpoint = _first(study).endpoint
    rounds = sum(math.ceil(tick.calls_worst / endpoint.concurrency_max) for tick in ticks)
    attempts = (1 + endpoint.retries_max) * sum(tick.calls_worst for tick in ticks)
    waiting = attempts * 60 / endpoint.requests_per_minute if endpoint.requests_per_minute else 0.0
    return rounds * endpoint.deadline_s + waiting


def _own_parts(study: Study) -> bool:
    parts = [study.agent.agent, *(scenario.world for scenario in study.scenarios)]
    return any(not part.startswith("perdure.") for part in parts)
