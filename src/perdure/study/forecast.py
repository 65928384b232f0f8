"""What a study will take before anything is spent: worlds, calls, tokens, money, time.

Pure. Numbers of calls follow from the schedule of our own world and agent; with a
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
from perdure.study.lengths import lengths
from perdure.study.pricing import amount_of, most_for, price_of
from perdure.study.read_models import EMBED, leading
from perdure.study.schedule import (
    ANCHORS,
    INTEREST,
    KINDS,
    MEMORIES,
    PROBES,
    RECALLS,
    REFLECTIONS,
    SCORES,
    TEXTS_MAX,
    TURNS,
    Kind,
    Schedule,
    calls_per_turn,
    rated_questions,
)

DEAR = NANO
_MANY = 1_000_000  # personas, of whom no share is nobody


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

    `turns`, `reflections` and `others` (probes and vectors) are the calls to expect. Expected costs
    are in nano-units, apart for what nothing thins (`wave`), for what activation thins (`active`),
    and for optional work; absent if a call of the tick has no known price.
    """

    tick: int
    is_wave: bool
    turns: float
    reflections: float
    calls_worst: int
    others: float = 0.0
    wave: int | None = None
    active: int | None = None
    optional: int | None = None

    @property
    def calls(self) -> float:
        """All calls to expect."""
        return self.turns + self.reflections + self.others


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
    schedules = _schedules(study, cells)
    turns = {name: _turns(schedule, personas) for name, schedule in schedules.items()}
    worlds = tuple(_world(cell, turns[cell.entry.scenario]) for cell in cells)
    counted = _count(schedules, cells, personas)
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
        widest_tick=max((math.ceil(round(tick.turns, 6)) for tick in ticks), default=0),
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
    expected = _schedule(study, scenario).expected(tick, personas)
    amounts = [_times(costs[kind][0], number) for kind, number in expected.items()]
    known = [amount for amount in amounts if amount is not None]
    return math.ceil(round(sum(known), 6)) if len(known) == len(amounts) else None


def call_costs(study: Study) -> dict[Kind, tuple[int | None, int | None]]:
    """Price one call of each kind: a typical one, and the most that an attempt can cost.

    Costs are in nano-units, absent where the model has no known price.
    """
    return {
        kind: _priced(study, kind, size)
        for kind, size in _sizes(study).items()
        if kind[0] in study.models
    }


def kinds_called(study: Study) -> frozenset[Kind]:
    """Name the kinds of calls that a study can make; with parts of the user's own, every kind."""
    if _own_parts(study):
        return frozenset(KINDS)
    schedules = (_schedule(study, scenario) for scenario in study.scenarios)
    return frozenset(
        kind
        for schedule in schedules
        for tick in schedule.ticks
        for kind, most in schedule.most(tick, _MANY).items()
        if most
    )


class _Counted:
    """The calls of one tick, over the worlds: to expect, and at most."""

    def __init__(self) -> None:
        self.is_wave = False
        self.whole: dict[Kind, float] = {}
        self.active: dict[Kind, float] = {}
        self.optional: dict[Kind, float] = {}
        self.most: Counter[Kind] = Counter()

    def add(self, schedule: Schedule, tick: int, personas: int, worlds: int) -> None:
        """Add a tick of so many worlds that have one schedule."""
        parts = schedule.parts(tick, personas)
        self.is_wave |= schedule.is_wave(tick)
        for sums, part in (
            (self.whole, parts.whole),
            (self.active, parts.thinned),
            (self.optional, parts.optional),
        ):
            for kind, count in part.items():
                sums[kind] = sums.get(kind, 0.0) + worlds * count
        for kind, most in schedule.most(tick, personas).items():
            self.most[kind] += worlds * most

    def of(self, kind: Kind) -> float:
        """Count all calls of a kind to expect."""
        return sum(part.get(kind, 0.0) for part in (self.whole, self.active, self.optional))


def _schedules(study: Study, cells: tuple[Cell, ...]) -> dict[str, Schedule]:
    """Make the schedule of each scenario once, and not for each of its replicates."""
    scenarios = {cell.entry.scenario: cell.header.scenario for cell in cells}
    return {name: _schedule(study, scenario) for name, scenario in scenarios.items()}


def _schedule(study: Study, scenario: Scenario) -> Schedule:
    rated = rated_questions(study.questions)
    return Schedule(scenario, study.agent, embeds=EMBED in study.models, rated=rated)


def _count(
    schedules: Mapping[str, Schedule], cells: tuple[Cell, ...], personas: int
) -> dict[int, _Counted]:
    worlds = Counter(cell.entry.scenario for cell in cells)
    counted: dict[int, _Counted] = defaultdict(_Counted)
    for name, schedule in schedules.items():
        for tick in schedule.ticks:
            counted[tick].add(schedule, tick, personas, worlds[name])
    return counted


def _calls(
    study: Study,
    worlds: tuple[WorldForecast, ...],
    counted: Mapping[int, _Counted],
    measured: Mapping[Kind, int],
) -> tuple[CallForecast, ...]:
    costs, sizes = call_costs(study), _sizes(study)
    expected = {kind: round(sum(tick.of(kind) for tick in counted.values())) for kind in KINDS}
    expected[TURNS] = sum(world.turns for world in worlds) * calls_per_turn(study.agent)
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
        for kind in KINDS
        if most[kind]
    )


def _tick(tick: int, counted: _Counted, calls: tuple[CallForecast, ...]) -> TickForecast:
    costs = {(part.role, part.purpose): part.typical_cost for part in calls}
    turns, reflections = counted.of(TURNS), counted.of(REFLECTIONS)
    return TickForecast(
        tick=tick,
        is_wave=counted.is_wave,
        turns=turns,
        reflections=reflections,
        others=sum(counted.of(kind) for kind in KINDS if kind not in (TURNS, REFLECTIONS)),
        calls_worst=counted.most.total(),
        wave=_together(counted.whole, costs),
        active=_together(counted.active, costs),
        optional=_together(counted.optional, costs),
    )


def _together(calls: Mapping[Kind, float], costs: Mapping[Kind, int | None]) -> int | None:
    return _sum(_times(costs.get(kind), count) for kind, count in calls.items())


# What an answer of a tool can be at most, in a turn with tools.
_TOOL_TOKENS = 5_000


def _sizes(study: Study) -> dict[Kind, tuple[int, int]]:
    """Give the tokens that a call of each kind takes in: typically, and at most."""
    sizes = lengths(study)
    # Each call of a turn after its first also has what was said and found before it.
    before = calls_per_turn(study.agent) - 1
    found, found_most = study.agent.answer_tokens_max, study.agent.answer_tokens_max + _TOOL_TOKENS
    return {
        TURNS: (sizes.turn + before * found // 2, sizes.turn_worst + before * found_most),
        REFLECTIONS: (sizes.reflection, sizes.reflection_worst),
        PROBES: (sizes.reflection, sizes.turn_worst),
        RECALLS: (sizes.text, sizes.texts_worst),
        MEMORIES: (sizes.text, sizes.texts_worst),
        INTEREST: (TEXTS_MAX * sizes.text, TEXTS_MAX * sizes.text_worst),
        SCORES: (TEXTS_MAX * sizes.text, TEXTS_MAX * sizes.text_worst),
        ANCHORS: (sizes.anchors, sizes.anchors_worst),
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


def _turns(schedule: Schedule, personas: int) -> tuple[int, int]:
    """Count the turns of a world, to expect and at most."""
    turns = sum(schedule.turns(tick, personas) for tick in schedule.ticks)
    most = sum(schedule.turns_most(tick, personas) for tick in schedule.ticks)
    return round(round(turns, 6)), most


def _world(cell: Cell, turns: tuple[int, int]) -> WorldForecast:
    return WorldForecast(
        world_id=cell.entry.world_id,
        scenario=cell.entry.scenario,
        replicate_seed=cell.entry.replicate_seed,
        ticks=cell.header.scenario.horizon,
        turns=turns[0],
        turns_worst=turns[1],
    )


def _attempts_worst(study: Study, part: CallForecast) -> int:
    """Count the attempts at most, by the patience with the model that is called."""
    spec = study.models[part.role]
    return (1 + (spec.endpoint.retries_max if _is_sent(spec) else 0)) * part.calls_worst


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
    limit = leading(study.models).endpoint.requests_per_minute
    total = sum(tick.calls for tick in ticks)
    limited = total * 60 / limit if limit else None
    if pace is None:
        return limited
    # A persona's reflection waits for its turn, so a tick takes one call's time or two at least.
    rounds = sum(
        max(tick.calls / pace.in_flight_max, 2.0 if tick.reflections else 1.0) for tick in ticks
    )
    return max(pace.call_s * rounds, limited or 0.0)


def _seconds_worst(study: Study, ticks: tuple[TickForecast, ...]) -> float | None:
    """Say how long the ticks can take, if every call takes all the time that it may."""
    spoken = [spec for role, spec in study.models.items() if role != EMBED]
    # Vectors that are made here take no time; what speaks here takes as long as the machine does.
    if not all(_is_sent(spec) for spec in spoken):
        return None
    limits = leading(study.models).endpoint
    sent = [spec.endpoint for spec in study.models.values() if _is_sent(spec)]
    rounds = sum(math.ceil(tick.calls_worst / limits.concurrency_max) for tick in ticks)
    attempts = (1 + max(one.retries_max for one in sent)) * sum(tick.calls_worst for tick in ticks)
    waiting = attempts * 60 / limits.requests_per_minute if limits.requests_per_minute else 0.0
    return rounds * max(one.deadline_s for one in sent) + waiting


def _own_parts(study: Study) -> bool:
    parts = [study.agent.agent, *(scenario.world for scenario in study.scenarios)]
    return any(not part.startswith("perdure.") for part in parts)
