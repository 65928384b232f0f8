"""How many calls a tick is expected to make: by its schedule, or by what it made at most so far."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import msgspec
import pytest
from tests.runner.test_estimates import RECORDED
from tests.support.town import run_in_memory, town

from perdure.records.events import Cost
from perdure.records.presentation import Plan
from perdure.records.scenario import AgentSettings, Scenario
from perdure.runner.expected import (
    Needs,
    Seen,
    calls_left,
    calls_under,
    exact,
    numbers_of,
    schedule,
)
from perdure.study.schedule import REFLECTIONS as REFLECTION
from perdure.study.schedule import TURNS as TURN

NEEDS = Needs(whole={TURN: 10}, thinned={TURN: 5, ("tier_a", "probe"): 1}, optional={REFLECTION: 4})


def scenario(**fields: Any) -> Scenario:
    """Make a scenario."""
    return Scenario(id="s", variant="v", horizon=8, **fields)


@pytest.mark.parametrize(
    ("number", "numerator", "denominator"),
    [(0.95, 19, 20), (0.8, 4, 5), (0.4, 2, 5), (1.0, 1, 1), (1e-7, 1, 10_000_000)],
)
def test_a_number_is_what_is_written(number: float, numerator: int, denominator: int) -> None:
    """A fraction of a budget is exact: no amount is a rounding error above or below it."""
    assert exact(number).as_integer_ratio() == (numerator, denominator)


@pytest.mark.parametrize(
    ("plan", "calls"),
    [
        (Plan(), {TURN: 15, ("tier_a", "probe"): 1, REFLECTION: 4}),
        (Plan(optional_work=False), {TURN: 15, ("tier_a", "probe"): 1}),
        (Plan(activation=0.4), {TURN: 12, ("tier_a", "probe"): 1, REFLECTION: 2}),
        (Plan(activation=0.4, optional_work=False), {TURN: 12, ("tier_a", "probe"): 1}),
        (Plan(activation=0.0), {TURN: 10, ("tier_a", "probe"): 0, REFLECTION: 0}),
    ],
)
def test_a_plan_thins_all_but_waves(plan: Plan, calls: dict[tuple[str, str], int]) -> None:
    """Activation thins what is not a survey wave, rounded up; optional work is left out whole."""
    assert calls_under(NEEDS, plan) == calls


def test_an_open_tick_still_makes_what_it_has_not_begun() -> None:
    """What it made beyond the expectation is not made up for by another kind."""
    begun = {TURN: 12, ("tier_a", "probe"): 3, ("tier_b", "extra"): 5}
    assert calls_left(calls_under(NEEDS, Plan()), begun) == {
        TURN: 3,
        ("tier_a", "probe"): 0,
        REFLECTION: 4,
    }


def test_waves_and_exposures_follow_the_schedule() -> None:
    """A wave asks everyone and is whole; an exposure reaches those who are active, rounded up."""
    asked = scenario(waves=(0, 3), exposures={"2": ("c",), "3": ("c",), "5": ()}, activation=0.25)
    needs = schedule(asked, AgentSettings(reflect_every=0), 10)
    assert needs == {
        0: Needs(whole={TURN: 10}),
        2: Needs(thinned={TURN: 3}),
        3: Needs(whole={TURN: 10}, thinned={TURN: 3}),
    }


@pytest.mark.parametrize(
    ("every", "activation", "expected"),
    [
        (1, 1.0, [8, 8, 8, 8]),
        (2, 1.0, [0, 8, 0, 8]),
        (3, 1.0, [0, 0, 8, 0]),
        (2, 0.5, [0, 2, 2, 2]),
        (1, 0.5, [4, 4, 4, 4]),
        (0, 1.0, [0, 0, 0, 0]),
        (9, 1.0, [0, 0, 0, 0]),
    ],
)
def test_reflections_come_when_they_are_due(
    every: int, activation: float, expected: list[int]
) -> None:
    """With everyone active all reflect at once; with some, the chances add up."""
    shown = {str(tick): ("c",) for tick in range(1, 5)}
    needs = schedule(
        scenario(exposures=shown, activation=activation), AgentSettings(reflect_every=every), 8
    )
    assert [needs[tick].optional.get(REFLECTION, 0) for tick in range(1, 5)] == expected


def test_a_long_schedule_is_counted_in_no_time() -> None:
    """Chances do not become ever longer fractions."""
    shown: dict[str, tuple[str, ...]] = {str(tick): ("c",) for tick in range(2_000)}
    long = Scenario(id="s", variant="v", horizon=2_000, exposures=shown, activation=0.37)
    needs = schedule(long, AgentSettings(reflect_every=7), 1_000)
    assert abs(needs[1_999].optional[REFLECTION] - 1_000 * 0.37 / 7) < 2


def test_the_schedule_is_what_a_run_does() -> None:
    """At full activation, a real run makes exactly the calls that are expected of every tick."""
    shown = {"1": ("c1",), "2": ("c2",), "3": ("c1",), "4": ("c1",)}
    config = town(scenarios=({"horizon": 6, "activation": 1.0, "exposures": shown},))
    needs = schedule(config.study.scenarios[0], config.study.agent, 6)
    made: dict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
    for event in run_in_memory(config).events():
        if isinstance(event.payload, Cost) and event.payload.attempt == 0:
            made[event.tick][event.payload.role, event.payload.purpose] += 1
    assert made == {tick: calls_under(needs[tick], Plan()) for tick in needs}
    assert sum(numbers[REFLECTION] for numbers in made.values()) == 12


def test_an_own_world_is_taken_to_do_what_it_did_at_most() -> None:
    """By kind of call, its own most; that of any world before its first tick; ours before any."""
    probe = ("tier_a", "probe")
    seen = Seen(lambda _, tick: Needs(whole={TURN: tick}), optional=[REFLECTION])
    assert seen.needs("a", 7) == Needs(whole={TURN: 7})
    seen.note("a", {TURN: 4, REFLECTION: 2})
    seen.note("a", {TURN: 3, probe: 9})
    seen.note("b", {TURN: 5})
    assert seen.needs("a", 7) == Needs(thinned={TURN: 4, probe: 9}, optional={REFLECTION: 2})
    assert seen.needs("b", 7) == Needs(thinned={TURN: 5})
    assert seen.needs("c", 7) == Needs(thinned={TURN: 5, probe: 9}, optional={REFLECTION: 2})


def test_a_recorded_tick_is_counted_by_calls() -> None:
    """A call with a retry is one call."""
    assert numbers_of(RECORDED) == {TURN: 3, ("tier_a", "probe"): 1}
    assert numbers_of(msgspec.structs.replace(one, role="x") for one in RECORDED[:2]) == {
        ("x", "turn"): 1
    }
