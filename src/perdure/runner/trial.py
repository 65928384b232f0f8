"""A trial: one tick of one world, really made, to see what the others will take.

It goes through a run like any other, within the same budget, into a folder that is gone after it.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from perdure.base.errors import UsageError
from perdure.records.channels import Channels
from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.result import Progress, RunResult
from perdure.records.scenario import Scenario
from perdure.records.study import Study
from perdure.runner.assembly import run
from perdure.runner.config import RunConfig
from perdure.runner.meter import Observer
from perdure.study.forecast import Pace
from perdure.study.pricing import FREE_PROVIDERS
from perdure.study.read_models import leading
from perdure.study.schedule import Kind, Schedule
from perdure.trace.reader import RunReader


class Tried(Record):
    """What the calls of one kind took. `amount` sums known costs, in nano-units."""

    role: str
    purpose: str
    calls: int
    amount: int
    unknown_costs: int = 0


class Trial(Record):
    """What one tick of one world took. `cause` says why it did not come to its end, if so."""

    scenario: str
    replicate_seed: int
    tick: int
    personas: int
    calls: int
    seconds: float
    cost: int
    unknown_costs: int
    currency: str
    tried: tuple[Tried, ...] = ()
    pace: Pace | None = None
    cause: str = ""
    exit_status: int = 0

    def costs(self) -> dict[Kind, int]:
        """Give what one call of each kind cost on average, rounded up, where all of it is known."""
        return {
            (one.role, one.purpose): math.ceil(one.amount / one.calls)
            for one in self.tried
            if one.calls and not one.unknown_costs
        }


def try_out(
    config: RunConfig, *, observer: Observer | None = None, acts_outside: bool = False
) -> Trial:
    """Run the first tick with any calls, of the first world, and measure it.

    Worlds are cut off after that tick. Its calls are made and paid for; its record is not kept.
    With `acts_outside`, what its personas do with tools outside the world is done in earnest too.

    Raises:
        UsageError: no tick has any calls, or its personas could act outside and may not.
        PerdureError: the run was refused, or failed, as it would be in earnest.

    """
    if config.study.agent.outside_tools and not acts_outside:
        raise UsageError(
            "Its personas have tools outside their world, and a trial would really use them.",
            where="agent.outside",
            remedy="Plan without --try, or allow it with --outside.",
        )
    cut, tick = _cut(config.study)
    last: list[Progress] = []

    def watch(progress: Progress) -> None:
        last[:] = [progress]
        if observer is not None:
            observer(progress)

    with tempfile.TemporaryDirectory(prefix="perdure-try-") as folder:
        out = Path(folder) / "run"
        result = run(dataclasses.replace(config, study=cut, out=str(out)), observer=watch)
        tried = tuple(_tried(out))
    seconds = last[0].elapsed_s if last else 0.0
    return _measured(cut, result, tried, tick=tick, seconds=seconds, config=config)


def _cut(study: Study) -> tuple[Study, int]:
    scenario = study.scenarios[0]
    ticks = Schedule(scenario, study.agent).ticks
    if not ticks:
        raise UsageError(
            f"The scenario {scenario.id} has no tick at which anybody is asked.",
            remedy="Plan without --try.",
        )
    tick = ticks[0]
    return (
        msgspec.structs.replace(
            study, scenarios=(_until(scenario, tick + 1),), seeds=study.seeds[:1]
        ),
        tick,
    )


def _until(scenario: Scenario, horizon: int) -> Scenario:
    return msgspec.structs.replace(
        scenario,
        horizon=horizon,
        waves=tuple(tick for tick in scenario.waves if tick < horizon),
        exposures=_before(scenario.exposures, horizon),
        channels=_channels(scenario.channels, horizon),
        interventions=tuple(one for one in scenario.interventions if one.tick < horizon),
    )


def _channels(channels: Channels, horizon: int) -> Channels:
    feed, forum, mouth = channels.feed, channels.forum, channels.word_of_mouth
    replace = msgspec.structs.replace
    return Channels(
        feed=replace(feed, posts=_before(feed.posts, horizon)) if feed else None,
        forum=replace(forum, posts=_before(forum.posts, horizon)) if forum else None,
        word_of_mouth=replace(mouth, starts=_before(mouth.starts, horizon)) if mouth else None,
    )


def _before(listed: Mapping[str, tuple[str, ...]], horizon: int) -> dict[str, tuple[str, ...]]:
    return {key: claims for key, claims in listed.items() if int(key) < horizon}


def _tried(folder: Path) -> Iterator[Tried]:
    calls: dict[Kind, set[tuple[int, int]]] = defaultdict(set)
    amounts: dict[Kind, list[int | None]] = defaultdict(list)
    with RunReader.open(folder) as reader:
        for world in reader.worlds:
            for event in reader.events(world.world_id, ("cost",)):
                cost = event.payload
                assert isinstance(cost, Cost), "only costs were asked for"
                kind = cost.role, cost.purpose
                calls[kind].add((cost.job, cost.ordinal))
                # What was charged in full says nothing of what the next call will cost.
                amounts[kind].append(cost.amount if cost.charged is None else None)
    for kind, known in amounts.items():
        yield Tried(
            role=kind[0],
            purpose=kind[1],
            calls=len(calls[kind]),
            amount=sum(amount for amount in known if amount is not None),
            unknown_costs=known.count(None),
        )


def _measured(
    study: Study,
    result: RunResult,
    tried: tuple[Tried, ...],
    *,
    tick: int,
    seconds: float,
    config: RunConfig,
) -> Trial:
    calls = sum(one.calls for one in tried)
    personas = len(config.population.personas)
    return Trial(
        scenario=study.scenarios[0].id,
        replicate_seed=study.seeds[0],
        tick=tick,
        personas=personas,
        calls=calls,
        seconds=seconds,
        cost=result.cost,
        unknown_costs=result.unknown_costs,
        currency=result.currency,
        tried=tried,
        pace=_pace(study, calls, personas, seconds) if calls and seconds > 0 else None,
        cause=result.cause,
        exit_status=result.exit_status,
    )


def _pace(study: Study, calls: int, personas: int, seconds: float) -> Pace:
    """Say how long one call takes, taking it that as many were in flight as could be."""
    speaks = leading(study.models)
    most = speaks.endpoint.concurrency_max
    in_flight = min(most, personas)
    # What runs here was busy with what was tried: more calls in flight would not make it faster.
    is_here = speaks.pin.provider in FREE_PROVIDERS
    return Pace(call_s=seconds * in_flight / calls, in_flight_max=in_flight if is_here else most)
