"""Cells that differ in anything but variant and seed share their draws; replicates do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

import pytest
from tests.support.town import Ran, run_in_memory, town

from perdure.records.budget import Budget, Ladder
from perdure.records.events import TickClosed, Turn
from perdure.records.request import ChatRequest
from perdure.records.scenario import AgentSettings
from perdure.records.usage import Price
from perdure.runner.config import RunConfig
from perdure.study.identity import expand
from perdure.testing import ScriptedProvider

PRICE = Price(input_fresh=1_000_000, output=1_000_000)
PEOPLE = 30
HORIZON = 8
CAMPAIGN: dict[str, Any] = {
    "horizon": HORIZON,
    "waves": (7,),
    "exposures": {str(tick): ("c1", "c2") for tick in range(6)},
    "activation": 0.6,
}

Asked = dict[tuple[str, int, str, str], int]


def cells(*scenarios: dict[str, Any], seeds: tuple[int, ...] = (1,), **changes: Any) -> RunConfig:
    """Make a run of scenarios of one variant."""
    return town(
        PEOPLE, scenarios=tuple(CAMPAIGN | one for one in scenarios), seeds=seeds, **changes
    )


def active(ran: Ran, place: int) -> dict[int, set[str]]:
    """List who took a turn at each exposure tick of a world."""
    found: dict[int, set[str]] = defaultdict(set)
    for event in ran.events(place):
        if isinstance(event.payload, Turn) and event.tick != CAMPAIGN["waves"][0]:
            found[event.tick].add(event.persona)
    return dict(found)


def shown(ran: Ran, place: int) -> dict[tuple[int, str], Any]:
    """List what each persona was shown at each tick of a world."""
    return {
        (event.tick, event.persona): event.payload.presentation.impression
        for event in ran.events(place)
        if isinstance(event.payload, Turn)
    }


def differ(drawn: Collection[Any]) -> bool:
    """Say whether draws are not all the same: otherwise that two agree would prove nothing."""
    return len({repr(one) for one in drawn}) > 1


OTHERWISE: list[dict[str, Any]] = [
    {"horizon": HORIZON + 3},
    {"waves": (6, 7)},
    {"settings": {"price": 3}},
]


@pytest.mark.parametrize("other", OTHERWISE, ids=lambda one: next(iter(one)))
def test_scenarios_of_one_variant_and_seed_draw_alike(other: dict[str, Any]) -> None:
    """The same people act at the same ticks, and see the same claim of those on offer."""
    ran = run_in_memory(cells({}, other))
    assert ran.result.worlds[0].world_id != ran.result.worlds[1].world_id
    one, two = active(ran, 0), active(ran, 1)
    assert [one[tick] for tick in range(6)] == [two[tick] for tick in range(6)]
    assert differ([one[tick] for tick in range(6)])
    both = shown(ran, 0).keys() & shown(ran, 1).keys()
    assert len(both) > PEOPLE
    assert all(shown(ran, 0)[place] == shown(ran, 1)[place] for place in both)


def test_who_acts_in_one_cell_does_not_hang_on_what_is_shown_in_another() -> None:
    """A tick that shows nothing in one scenario shifts no draw of the ticks after it."""
    fewer = {"exposures": {str(tick): ("c1", "c2") for tick in (0, 3, 5)}}
    ran = run_in_memory(cells({}, fewer))
    one, two = active(ran, 0), active(ran, 1)
    assert sorted(two) == [0, 3, 5]
    assert all(two[tick] == one[tick] for tick in two)


def test_a_lower_activation_asks_some_of_the_same_people() -> None:
    """Fewer are a subset of more, tick by tick, and not another draw."""
    ran = run_in_memory(cells({}, {"activation": 0.25}))
    many, few = active(ran, 0), active(ran, 1)
    assert all(few.get(tick, set()) <= many[tick] for tick in many)
    assert 0 < sum(map(len, few.values())) < sum(map(len, many.values()))


def test_a_run_that_its_budget_thins_asks_some_of_those_it_would_have() -> None:
    """In every cell the thinned are a subset of the whole, and the same one in every scenario."""
    plain = run_in_memory(cells({}, OTHERWISE[2], price=PRICE))
    cost = plain.result.cost
    assert cost
    budget = Budget(
        amount=cost // 2, ceiling=cost * 2, ladder=Ladder(warn=0.1, freeze=0.2, subsample=0.3)
    )
    ran = run_in_memory(cells({}, OTHERWISE[2], budget=budget, price=PRICE))
    thinned = {
        event.tick
        for event in ran.events()
        if isinstance(event.payload, TickClosed) and event.payload.plan.activation < 1
    }
    assert thinned & set(range(6))
    assert active(ran, 0) == active(ran, 1)
    for tick in range(6):
        now, whole = active(ran, 0).get(tick, set()), active(plain, 0)[tick]
        assert now < whole if tick in thinned else now == whole


def sampled(*scenarios: dict[str, Any], seeds: tuple[int, ...], **changes: Any) -> Asked:
    """Run, and give the sampling seed of every call by world, tick, persona and purpose."""
    asked: Asked = {}
    config = cells(*scenarios, seeds=seeds, **changes)

    async def watch(session: Any) -> None:
        call = session.host.call

        async def calling(key: Any, request: Any) -> Any:
            if isinstance(request, ChatRequest):
                persona = request.facts.persona if request.facts else str(key.job)
                asked[key.world, key.tick, persona, f"{key.purpose} {key.ordinal}"] = request.seed
            return await call(key, request)

        session.host.call = calling

    run_in_memory(config, before=watch)
    return asked


def test_a_call_is_sampled_by_seed_persona_and_tick() -> None:
    """The sampling seed differs with each of them and with the purpose, and with nothing else."""
    config = cells({}, OTHERWISE[2], seeds=(1, 2))
    agent = AgentSettings(reflect_every=2)
    asked = sampled({}, OTHERWISE[2], seeds=(1, 2), agent=agent)
    worlds = {cell.entry.world_id: cell.entry for cell in expand(config.study, config.population)}
    assert {world for world, *_ in asked} == set(worlds)
    drawn = defaultdict[Any, set[int]](set)
    for (world, tick, persona, purpose), seed in asked.items():
        drawn[worlds[world].replicate_seed, tick, persona, purpose].add(seed)
    assert all(len(seeds) == 1 for seeds in drawn.values()), "scenarios share their draws"
    everything = [seed for seeds in drawn.values() for seed in seeds]
    assert len(everything) > 200
    assert len(set(everything)) == len(everything), "no two samples are one"


def by_its_seed(request: ChatRequest) -> str:
    """Answer as a model does that samples: by the sampling seed, if it is warm enough to."""
    warm = request.temperature > 0
    return "Ada Hill. I agree." if warm and request.seed % 2 else "Bert Moss. I disagree."


def answers(ran: Ran, place: int) -> list[str]:
    """List every answer of a world, in order."""
    return [event.payload.answer for event in ran.events(place) if isinstance(event.payload, Turn)]


def test_replicates_differ_where_a_model_samples() -> None:
    """With everybody active nothing else tells them apart: their answers do."""
    config = cells({"activation": 1.0}, seeds=(1, 2, 3))
    ran = run_in_memory(config, ScriptedProvider(by_its_seed))
    told = [answers(ran, place) for place in range(3)]
    assert len({len(one) for one in told}) == 1
    assert differ(told)
    assert len(set(ran.digests)) == 3


def test_replicates_at_temperature_zero_with_nothing_drawn_are_one_and_the_same() -> None:
    """What holds no draw has no spread: the answers are identical, and the report says so."""
    scenario = {"activation": 1.0, "exposures": {"1": ("c1",)}}
    config = cells(scenario, seeds=(1, 2), agent=AgentSettings(temperature=0.0))
    ran = run_in_memory(config, ScriptedProvider(by_its_seed))
    assert answers(ran, 0) == answers(ran, 1)
