"""Proves that the calls of each tick are counted as our world and agent make them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.town import answering, run_in_memory, town

from perdure.records.events import Cost
from perdure.records.scenario import AgentSettings, Scenario
from perdure.study.schedule import REFLECTIONS, TURNS, Schedule


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
