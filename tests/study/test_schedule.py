"""Proves that the calls of each tick are counted as our world and agent make them."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.channels import header_of, intervenes, with_graph
from tests.support.town import answering, run_in_memory, town

from perdure.records.channels import Feed, Forum, Involvement, Ranking, WordOfMouth
from perdure.records.events import Cost
from perdure.records.scenario import AgentSettings, Scenario
from perdure.study.schedule import (
    INTEREST,
    MEMORIES,
    PROBES,
    RECALLS,
    REFLECTIONS,
    TURNS,
    Schedule,
)


def schedule(shown: int, activation: float, every: int, waves: tuple[int, ...] = ()) -> Schedule:
    """Make the schedule of a world that shows something at its first ticks."""
    scenario = Scenario(
        id="s",
        variant="v",
        horizon=max(1, shown, *(wave + 1 for wave in waves)),
        waves=waves,
        exposures={str(tick): ("c",) for tick in range(shown)},
        activation=activation,
    )
    return Schedule(scenario, AgentSettings(reflect_every=every))


def binomial(shown: int, chance: Fraction, every: int) -> Fraction:
    """Work out, by the definition, how often one persona reflects."""
    return sum(
        (
            math.comb(shown, turns)
            * chance**turns
            * (1 - chance) ** (shown - turns)
            * (turns // every)
            for turns in range(shown + 1)
        ),
        start=Fraction(0),
    )


@given(
    shown=st.integers(0, 12),
    quarters=st.integers(0, 4),
    every=st.integers(1, 14),
)
def test_reflections_add_up_to_their_mean(shown: int, quarters: int, every: int) -> None:
    """Over all ticks, as many reflections are expected as a binomial number of turns brings."""
    found = schedule(shown, quarters / 4, every)
    expected = sum(found.expected(tick, 1).get(REFLECTIONS, 0.0) for tick in found.ticks)
    assert expected == pytest.approx(float(binomial(shown, Fraction(quarters, 4), every)))


@pytest.mark.parametrize(
    ("shown", "activation", "every", "chances"),
    [
        (3, 1.0, 1, [1, 1, 1]),
        (4, 1.0, 2, [0, 1, 0, 1]),
        # The first two turns both fall, by 1/4; or two of three and the third among them, by 2/8.
        (3, 0.5, 2, [0, 0.25, 0.25]),
        (3, 0.5, 4, [0, 0, 0]),
        (3, 0.5, 0, [0, 0, 0]),
    ],
)
def test_a_reflection_has_its_tick(
    shown: int, activation: float, every: int, chances: list[float]
) -> None:
    """Which tick a reflection falls on follows from which turns can have gone before."""
    found = schedule(shown, activation, every)
    seen = [found.expected(tick, 100).get(REFLECTIONS, 0.0) / 100 for tick in range(shown)]
    assert seen == pytest.approx(chances)


def test_a_wave_asks_everyone_and_is_never_thinned() -> None:
    """A share of the active is a share of those who are shown something, not of a wave."""
    found = schedule(2, 0.5, 1, waves=(1, 3))
    assert found.ticks == (0, 1, 3)
    assert [found.is_wave(tick) for tick in range(4)] == [False, True, False, True]
    assert found.expected(0, 10) == {TURNS: 5.0, REFLECTIONS: 5.0}
    assert found.expected(1, 10) == {TURNS: 15.0, REFLECTIONS: 5.0}
    assert found.expected(2, 10) == {}
    assert found.expected(1, 10, share=0.4) == {TURNS: 12.0, REFLECTIONS: 2.0}
    assert found.expected(1, 10, optional_work=False) == {TURNS: 15.0}


def test_at_most_everyone_is_active_and_reflects_again() -> None:
    """From the tick on at which a first reflection can be due, every turn can bring one."""
    found = schedule(3, 0.1, 2, waves=(0,))
    assert [found.most(tick, 10) for tick in range(3)] == [
        {TURNS: 20},
        {TURNS: 10, REFLECTIONS: 10},
        {TURNS: 10, REFLECTIONS: 10},
    ]


def test_a_long_schedule_is_counted_by_its_mean() -> None:
    """Beyond some thousands of exposures each has the long-run chance, and nothing takes long."""
    found = schedule(5_000, 0.5, 3)
    assert found.expected(4_999, 12)[REFLECTIONS] == pytest.approx(12 * 0.5 / 3)


def test_a_run_makes_the_calls_that_were_expected_of_it() -> None:
    """At full activation nothing is left to chance: tick by tick, the real calls are the same."""
    config = town(5, scenarios=({"activation": 1.0},), seeds=(1,))
    (scenario,) = config.study.scenarios
    found = Schedule(scenario, config.study.agent)
    ran = run_in_memory(config, answering())
    seen: dict[int, dict[tuple[str, str], int]] = {}
    for event in ran.events():
        if isinstance(event.payload, Cost):
            kind = event.payload.role, event.payload.purpose
            at = seen.setdefault(event.tick, {})
            at[kind] = at.get(kind, 0) + 1
    assert seen == {tick: dict(found.expected(tick, 5)) for tick in found.ticks}
    assert any(REFLECTIONS in calls for calls in seen.values())


def channels(**changes: Any) -> Scenario:
    """Make a scenario with a feed from tick 1, a forum from tick 2 and word of mouth from 0."""
    header = header_of(
        feed=Feed(question="react", posts={"1": ("c1", "c2")}),
        forum=Forum(question="react", posts={"2": ("c1",)}),
        word_of_mouth=WordOfMouth(question="react", starts={"0": ("c1",)}, reach=0.1),
        horizon=5,
        **changes,
    )
    return header.scenario


def test_channels_have_turns_from_their_first_message_on() -> None:
    """Feed and forum ask who is active as soon as there is anything, word of mouth who is told."""
    found = Schedule(channels(activation=0.5), AgentSettings(reflect_every=0))
    assert [found.turns_most(tick, 10) for tick in range(5)] == [10, 20, 30, 30, 30]
    # A tenth hears it first-hand, of whom half are active; those can tell two each.
    turns = [found.turns(tick, 100) for tick in range(5)]
    assert turns[:3] == pytest.approx([5, 50 + 50 * 0.15, 100 + 50 * 1.0])
    # An answer that is not in its form is asked for once more.
    assert found.most(2, 10) == {TURNS: 60}
    assert found.expected(2, 100, share=0.5) == {TURNS: pytest.approx(turns[2] / 2)}


def test_a_rhythm_and_involvement_thin_what_is_expected_and_not_what_can_be() -> None:
    """Each tick has its factor, and of involvement the most that is named."""
    involvement = Involvement(attribute="view", levels={"1": 0.2, "2": 0.5}, otherwise=0.1)
    changes: dict[str, Any] = {"activation": 0.8, "rhythm": (1.0, 0.25)}
    changes["involvement"] = involvement
    feed = Feed(question="react", posts={"0": ("c1",)})
    scenario = header_of(feed=feed, horizon=4, **changes).scenario
    found = Schedule(scenario, AgentSettings(reflect_every=0))
    assert [found.turns(tick, 100) for tick in range(4)] == pytest.approx([40, 10, 40, 10])
    assert [found.turns_most(tick, 100) for tick in range(4)] == [100] * 4
    campaign = header_of(exposures={"0": ("c1",), "3": ("c1",)}, **changes).scenario
    shown = Schedule(campaign, AgentSettings(reflect_every=1))
    assert shown.ticks == (0, 3)
    assert shown.expected(3, 100) == pytest.approx({TURNS: 10, REFLECTIONS: 10})


def test_vectors_and_probes_are_counted() -> None:
    """With a model for vectors, each turn recalls and remembers by one call; some are probed."""
    agent = AgentSettings(reflect_every=0, probe_every=2, probe_share=0.25)
    found = Schedule(channels(), agent, embeds=True)
    turns = found.turns(2, 100)
    parts = found.parts(2, 100)
    assert parts.thinned == {TURNS: turns, RECALLS: turns, MEMORIES: turns}
    assert parts.optional == {PROBES: turns / 4}
    assert found.most(2, 100)[PROBES] == 300
    # At its first tick nobody has anything to recall.
    assert RECALLS not in found.parts(0, 100).thinned
    assert RECALLS not in found.most(0, 100)


def test_a_world_by_interest_embeds_profiles_once_and_each_text() -> None:
    """All profiles and claims at first, then what everybody can have said; at most all again."""
    feed = Feed(question="react", posts={"1": ("c1", "c2")}, ranking=Ranking.INTEREST)
    scenario = header_of(feed=feed, horizon=4).scenario
    found = Schedule(scenario, AgentSettings(reflect_every=0))
    calls = [found.parts(tick, 100).whole.get(INTEREST, 0) for tick in range(4)]
    assert calls == [0, math.ceil(102 / 64), math.ceil(100 / 64), math.ceil(100 / 64)]
    most = [found.most(tick, 100).get(INTEREST, 0) for tick in range(4)]
    assert most == [0, math.ceil(102 / 64), math.ceil(202 / 64), math.ceil(302 / 64)]
    planned = (intervenes(2, "rank", "feed", ranking=Ranking.INTEREST, ticks=1),)
    hot = msgspec.structs.replace(feed, ranking=Ranking.HOT)
    later = Schedule(
        header_of(feed=hot, horizon=4, interventions=planned).scenario,
        AgentSettings(reflect_every=0),
    )
    # Then everything that is there by then is embedded at once.
    assert [later.parts(tick, 100).whole for tick in (1, 2, 3)] == [
        {},
        {INTEREST: math.ceil(202 / 64)},
        {},
    ]


@pytest.mark.parametrize("activation", [1.0, 0.6])
def test_no_tick_of_a_world_of_channels_makes_more_calls_than_there_can_be(
    activation: float,
) -> None:
    """Tick by tick, the real calls are at most those that are foreseen, of each kind."""
    feed = Feed(question="react", posts={"0": ("c1",), "2": ("c2",)}, ranking=Ranking.INTEREST)
    scenario = channels(activation=activation).channels
    config = town(
        12,
        scenarios=(
            {
                "channels": msgspec.structs.replace(scenario, feed=feed),
                "activation": activation,
                "waves": (0, 5),
            },
        ),
        seeds=(1,),
        embeds=True,
    )
    config = with_graph(config)
    found = Schedule(config.study.scenarios[0], config.study.agent, embeds=True)
    ran = run_in_memory(config, answering())
    seen: dict[int, Counter[tuple[str, str]]] = {}
    for event in ran.events():
        if isinstance(event.payload, Cost):
            seen.setdefault(event.tick, Counter())[event.payload.role, event.payload.purpose] += 1
    for tick, calls in seen.items():
        most = found.most(tick, 12)
        assert all(count <= most.get(kind, 0) for kind, count in calls.items()), (tick, calls, most)
        if activation == 1.0:
            expected = found.expected(tick, 12)
            assert calls[TURNS] <= expected[TURNS] + 1e-6
            assert calls[INTEREST] <= expected.get(INTEREST, 0)
    assert seen.keys() <= set(found.ticks)
    assert sum(calls[INTEREST] for calls in seen.values()) >= 1
