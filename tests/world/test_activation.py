"""Who is active follows from involvement, rhythm and the plan, by one draw for all channels."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.channels import FEED, FORUM, WORD_OF_MOUTH, header_of, on, step, tied, world_of

from perdure.base.chance import Stream
from perdure.base.errors import PluginError
from perdure.records.channels import Involvement
from perdure.records.people import People
from perdure.records.persona import AttributeValue, Persona


def active_at(tick: int, share: float = 1.0, personas: int = 300, **changes: Any) -> set[str]:
    """Say who is shown something on a feed whose first claim is posted at that tick."""
    feed = msgspec.structs.replace(FEED, posts={str(tick): ("c1",)})
    world = world_of(header_of(personas, feed=feed, **changes))
    return set(on(step(world, tick, activation=share), "feed"))


def drawn_below(header_seed: str, tick: int, personas: int, chance: float) -> set[str]:
    """Draw who is active at a chance, by the declared stream."""
    return {
        f"p{number}"
        for number in range(personas)
        if Stream(header_seed, tick, "activation", f"p{number}").uniform() < chance
    }


def test_all_channels_share_one_draw() -> None:
    """At a tick the same people are active on the campaign, the feed and the forum."""
    header = header_of(
        200,
        feed=FEED,
        forum=FORUM,
        word_of_mouth=msgspec.structs.replace(WORD_OF_MOUTH, reach=1.0),
        activation=0.4,
        exposures={"0": ("c1",)},
    )
    delta = step(world_of(header), 0)
    found = [set(on(delta, name)) for name in ("campaign", "feed", "forum", "word_of_mouth")]
    assert found == [drawn_below(header.world_seed, 0, 200, 0.4)] * 4


def test_a_rhythm_thins_its_ticks_and_begins_anew() -> None:
    """Each tick has its factor, and after the last comes the first."""
    seed = header_of().world_seed
    for tick, factor in enumerate([1.0, 0.25, 0.0, 1.0, 0.25]):
        found = active_at(tick, activation=0.8, rhythm=(1.0, 0.25, 0.0))
        assert found == drawn_below(seed, tick, 300, 0.8 * factor)


def test_involvement_goes_by_the_level_of_an_attribute() -> None:
    """Each persona has the factor of its code; who has no such level has what is said for it."""
    found = active_at(
        1, involvement=Involvement(attribute="view", levels={"1": 0.2}, otherwise=0.9)
    )
    seed = header_of().world_seed
    low, high = (drawn_below(seed, 1, 300, chance) for chance in (0.2, 0.9))
    wanted = {p for p in high if int(p[1:]) % 2} | {p for p in low if not int(p[1:]) % 2}
    assert found == wanted


def test_involvement_can_be_a_number_of_the_personas_own() -> None:
    """Without levels the attribute is the factor itself."""
    known: list[dict[str, AttributeValue]] = [{"often": 0.0}, {"often": 0.5}, {"often": 1}, {}]
    personas = tuple(Persona(id=f"p{n}", attributes=known[n % 4]) for n in range(400))
    asked = Involvement(attribute="often", otherwise=0.25)
    world = world_of(header_of(400, feed=FEED, involvement=asked), People(personas=personas))
    counts = [0] * 4
    for persona in on(step(world, 0), "feed"):
        counts[int(persona[1:]) % 4] += 1
    assert counts[0] == 0
    assert 30 < counts[1] < 70
    assert counts[2] == 100
    assert 10 < counts[3] < 45


def test_a_chance_is_never_above_one() -> None:
    """A rhythm above one makes people as active as can be; the plan thins what that gives."""
    seed = header_of().world_seed
    assert active_at(0, activation=0.6, rhythm=(5.0,)) == drawn_below(seed, 0, 300, 1.0)
    found = active_at(0, share=0.3, activation=0.6, rhythm=(5.0,))
    assert found == drawn_below(seed, 0, 300, 0.3)


@settings(deadline=None, max_examples=25)
@given(low=st.floats(0, 1), high=st.floats(0, 1), tick=st.integers(0, 2))
def test_a_lower_activation_gives_a_nested_subset(low: float, high: float, tick: int) -> None:
    """Whoever is active at a lower plan is so at a higher one, with involvement and rhythm."""
    low, high = sorted((low, high))
    changes = {
        "rhythm": (0.9, 0.4, 1.0),
        "involvement": Involvement(attribute="view", levels={"1": 0.5, "2": 0.8}),
    }
    few, many = (active_at(tick, share, personas=40, **changes) for share in (low, high))
    assert few <= many


@pytest.mark.parametrize("value", [1.5, -0.1, "often"])
def test_a_factor_that_is_none_is_refused(value: float | str) -> None:
    """An attribute that is to be the factor and is not from 0 to 1 is named, with its persona."""
    people = People(personas=(Persona(id="p0", attributes={"often": value}),))
    with pytest.raises(PluginError, match=r"'often' of persona 'p0'"):
        world_of(header_of(1, feed=FEED, involvement=Involvement(attribute="often")), people)


def test_involvement_without_people_is_refused() -> None:
    """A world that was not told who lives in it cannot go by their attributes."""
    with pytest.raises(PluginError, match="meet"):
        world_of(header_of(2, feed=FEED, involvement=Involvement(attribute="age")), People())


def test_the_helper_people_have_no_ties_unless_given() -> None:
    """The people of these tests are who the header lists."""
    assert [one.id for one in tied(personas=3).personas] == ["p0", "p1", "p2"]
