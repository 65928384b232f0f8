"""Survey room and campaign show what is scheduled, to whom the plan lets it, and count truly."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.base.chance import Stream
from perdure.base.errors import PluginError
from perdure.records.presentation import CompletedTurn, Plan, Presentation, WorldDelta
from perdure.records.scenario import Header
from perdure.testing.contracts import example_header
from perdure.world import ChannelWorld
from perdure.world.campaign import CAMPAIGN
from perdure.world.survey_room import SURVEY


def world_of(header: Header) -> ChannelWorld:
    """Make a world before its tick 0."""
    world = ChannelWorld()
    world.reset(header)
    return world


def with_scenario(header: Header, **changes: object) -> Header:
    """Change fields of a header's scenario."""
    scenario = msgspec.structs.replace(header.scenario, **changes)
    return msgspec.structs.replace(header, scenario=scenario)


def on(delta: WorldDelta, channel: str) -> dict[str, Presentation]:
    """Give a delta's presentations on a channel, by persona."""
    return {p.persona: p for p in delta.presentations if p.impression.channel == channel}


def answered(delta: WorldDelta, choice: str) -> list[CompletedTurn]:
    """Answer everything that a delta shows with one choice."""
    return [
        CompletedTurn(persona=p.persona, presentation=p, answer=choice, choice=choice)
        for p in delta.presentations
    ]


def test_a_wave_asks_everyone_whatever_the_plan() -> None:
    """A survey wave is never thinned: at activation 0 everyone is still asked, in order."""
    header = example_header(50)
    delta = world_of(header).step(0, (), Plan(activation=0.0), ())
    assert [p.persona for p in delta.presentations] == list(header.persona_ids)
    assert {p.question for p in delta.presentations} == {"vote"}
    assert {p.impression.channel for p in delta.presentations} == {SURVEY}
    assert not any(p.impression.exposures for p in delta.presentations)


def test_a_tick_without_schedule_shows_nothing() -> None:
    """A tick that is neither a wave nor an exposure is empty."""
    header = with_scenario(example_header(), waves=(5,))
    assert world_of(header).step(0, (), Plan(), ()) == WorldDelta(tick=0)


def test_each_active_persona_sees_one_claim_with_the_question_about_it() -> None:
    """At a tick with two claims each active persona sees exactly one, and both are seen."""
    header = with_scenario(example_header(200), activation=1.0)
    delta = world_of(header).step(1, (), Plan(), ())
    shown = on(delta, CAMPAIGN)
    assert set(shown) == set(header.persona_ids)
    seen = [p.impression.exposures[0].stimulus for p in shown.values()]
    assert set(seen) == {"t1-c1", "t1-c2"}
    assert 50 < seen.count("t1-c1") < 150
    assert all(len(p.impression.exposures) == 1 for p in shown.values())
    assert {p.question for p in shown.values()} == {"react"}
    assert [(s.id, s.claim) for s in delta.stimuli] == [("t1-c1", "c1"), ("t1-c2", "c2")]


def test_a_claim_that_nobody_sees_is_not_published() -> None:
    """Nothing is published that is not shown."""
    delta = world_of(example_header()).step(1, (), Plan(activation=0.0), ())
    assert delta == WorldDelta(tick=1)


def test_a_tick_may_be_both() -> None:
    """A tick that is a wave and an exposure asks everyone and shows claims to the active."""
    header = with_scenario(example_header(40), waves=(1,), activation=0.5)
    delta = world_of(header).step(1, (), Plan(), ())
    assert set(on(delta, SURVEY)) == set(header.persona_ids)
    assert 0 < len(on(delta, CAMPAIGN)) < 40


def test_activation_is_drawn_from_the_declared_stream() -> None:
    """Who is active follows from world seed, tick and persona alone, and the product of chances."""
    header = with_scenario(example_header(100), activation=0.6)
    delta = world_of(header).step(2, (), Plan(activation=0.5), ())
    active = {
        persona
        for persona in header.persona_ids
        if Stream(header.world_seed, 2, "activation", persona).uniform() < 0.6 * 0.5
    }
    assert set(on(delta, CAMPAIGN)) == active


@given(low=st.floats(0, 1), high=st.floats(0, 1))
def test_a_lower_activation_gives_a_nested_subset(low: float, high: float) -> None:
    """Whoever is active at a lower activation is active at a higher one, and sees the same."""
    low, high = sorted((low, high))
    header = example_header(30)
    few = on(world_of(header).step(1, (), Plan(activation=low), ()), CAMPAIGN)
    many = on(world_of(header).step(1, (), Plan(activation=high), ()), CAMPAIGN)
    assert few.items() <= many.items()


def test_scenarios_of_one_variant_share_their_draws() -> None:
    """Two scenarios that differ in which claims they show have the same people active."""
    one = with_scenario(example_header(60), exposures={"1": ("c1",)})
    other = with_scenario(example_header(60), exposures={"1": ("c2",)})
    first, second = (on(world_of(h).step(1, (), Plan(), ()), CAMPAIGN) for h in (one, other))
    assert set(first) == set(second)


def test_counts_are_of_people_and_of_earlier_ticks_only() -> None:
    """A view counts people by their latest answer, and never an answer of its own tick."""
    header = with_scenario(
        example_header(10), activation=1.0, exposures={"1": ("c1",), "2": ("c1",), "3": ("c1",)}
    )
    world = world_of(header)
    first = world.step(1, (), Plan(), ())
    assert first.presentations[0].view.counts == {"t1-c1": {"agree": 0, "disagree": 0}}
    second = world.step(2, answered(first, "agree")[:7], Plan(), ())
    assert second.presentations[0].view.counts == {"t2-c1": {"agree": 7, "disagree": 0}}
    third = world.step(3, answered(second, "disagree")[:3], Plan(), ())
    assert third.presentations[0].view.counts == {"t3-c1": {"agree": 4, "disagree": 3}}


def test_unscored_answers_and_other_questions_do_not_count() -> None:
    """Only a scored answer to the exposure question about a claim is an opinion on it."""
    header = with_scenario(
        example_header(10), activation=1.0, exposures={"1": ("c1",), "2": ("c1",)}, waves=(1,)
    )
    world = world_of(header)
    first = world.step(1, (), Plan(), ())
    turns = [
        msgspec.structs.replace(turn, choice="" if turn.persona == "p0" else turn.choice)
        for turn in answered(first, "agree")
    ]
    second = world.step(2, turns, Plan(), ())
    assert second.presentations[0].view.counts == {"t2-c1": {"agree": 9, "disagree": 0}}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"wave_question": "nobody"}, "nobody"),
        ({"exposure_question": "nobody"}, "nobody"),
        ({"exposures": {"1": ("c9",)}}, "c9"),
        ({"exposures": {"soon": ("c1",)}}, "soon"),
    ],
)
def test_a_scenario_that_names_what_is_not_there_is_refused(
    changes: dict[str, object], named: str
) -> None:
    """A world that cannot be built says what is missing, before anything is shown."""
    with pytest.raises(PluginError, match=named):
        world_of(with_scenario(example_header(), **changes))


def test_a_world_that_was_never_reset_says_so() -> None:
    """To step a world before its reset is refused in a sentence."""
    with pytest.raises(PluginError, match="reset"):
        ChannelWorld().step(0, (), Plan(), ())


def test_what_a_world_holds_does_not_grow_with_ticks() -> None:
    """After 400 ticks of one claim the tally has one voice per person, as after four."""
    ticks = {str(tick): ("c1",) for tick in range(400)}
    header = with_scenario(example_header(5), exposures=ticks, horizon=400, waves=(), activation=1)
    world = world_of(header)
    turns: list[CompletedTurn] = []
    for tick in range(400):
        turns = answered(world.step(tick, turns, Plan(), ()), "agree")
    campaign = world._state._campaign
    assert campaign._tally.counts("c1", ("agree",)) == {"agree": 5}
    assert len(campaign._tally._voices["c1"]) == 5
    assert len(campaign._claim_of) == 1
