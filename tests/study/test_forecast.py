"""Proves that a forecast counts what a study will do, and never calls an unknown amount zero."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from tests.support.sample_study import Writer

from perdure.population import load_study
from perdure.records.scenario import AgentSettings, Scenario
from perdure.study import Overrides
from perdure.study.forecast import Forecast, forecast, reflections, tick_cost
from perdure.study.identity import expand


def forecast_of(write: Writer, rate: float | None = None, **flags: str) -> Forecast:
    """Forecast the small study under some flags."""
    loaded = load_study(write(), overrides=Overrides(**flags))  # type: ignore[arg-type]
    cells = expand(loaded.study, loaded.population)
    return forecast(loaded.study, cells, personas=12, calls_per_s=rate)


def test_calls_follow_from_waves_exposures_and_activation(write: Writer) -> None:
    """Calls follow from waves exposures and activation."""
    result = forecast_of(write)
    # Four worlds of 12 people, two waves each, two exposures at one half.
    assert [world.turns for world in result.worlds] == [12 * 2 + 12] * 4
    assert [world.turns_worst for world in result.worlds] == [12 * 4] * 4
    turns, reflecting = result.calls
    assert (turns.purpose, turns.role, turns.calls, turns.calls_worst) == (
        "turn",
        "tier_a",
        144,
        192,
    )
    # A reflection after two exposures: one in four of the people, at most each of them.
    assert (reflecting.purpose, reflecting.role) == ("reflection", "tier_b")
    assert (reflecting.calls, reflecting.calls_worst) == (12, 48)
    assert (result.calls_total, result.calls_worst) == (156, 240)


def test_the_widest_tick_is_over_all_worlds(write: Writer) -> None:
    """The widest tick is over all worlds."""
    assert forecast_of(write).widest_tick == 4 * 12


def test_a_rule_costs_nothing_and_an_unpriced_model_an_unknown_amount(write: Writer) -> None:
    """A rule costs nothing and an unpriced model an unknown amount."""
    assert forecast_of(write).cost == 0
    assert forecast_of(write).cost_worst == 0
    unpriced = forecast_of(write, model="api", model_name="other-1")
    assert unpriced.cost is None
    assert unpriced.cost_worst is None
    assert unpriced.calls[0].typical_cost is None


def test_a_priced_model_is_priced_by_its_tokens(write: Writer) -> None:
    """A priced model is priced by its tokens."""
    result = forecast_of(write, model="api")
    turns = result.calls[0]
    assert turns.typical_cost == turns.input_tokens * 150 + turns.output_tokens * 600
    assert result.cost == sum((part.typical_cost or 0) * part.calls for part in result.calls)
    assert result.cost_worst is not None
    assert result.cost_worst > result.cost
    assert result.attempts_worst == result.calls_worst * 6


def test_the_ticks_of_a_study_cost_what_the_study_does(write: Writer) -> None:
    """Tick by tick the forecast adds up; a part of a reflection counts as one in each tick."""
    loaded = load_study(write(), overrides=Overrides(model="api"))
    cells = expand(loaded.study, loaded.population)
    whole = forecast(loaded.study, cells, personas=12)
    turns, reflecting = whole.calls
    ticks = [
        tick_cost(loaded.study, cell.header.scenario, tick, personas=12)
        for cell in cells
        for tick in range(5)
    ]
    assert turns.typical_cost is not None
    assert reflecting.typical_cost is not None
    # Two waves, two exposures with 1.5 reflections expected at each, and a tick without anything.
    each = 12 * turns.typical_cost, 6 * turns.typical_cost + 2 * reflecting.typical_cost
    assert ticks == [each[0], each[1], each[1], each[0], 0] * 4
    unpriced = load_study(write(), overrides=Overrides(model="api", model_name="other-1"))
    assert tick_cost(unpriced.study, cells[0].header.scenario, 0, personas=12) is None


def test_a_time_is_given_only_where_a_rate_is_known(write: Writer) -> None:
    """A time is given only where a rate is known."""
    assert forecast_of(write).seconds is None
    assert forecast_of(write, 2.0).seconds == pytest.approx(78)
    assert forecast_of(write, model="api").seconds == pytest.approx(156)


@pytest.mark.parametrize(
    ("shown", "activation", "every", "expected", "worst"),
    [
        (3, 1.0, 1, Fraction(3), 3),
        (3, 1.0, 2, Fraction(1), 2),
        (3, 0.5, 2, Fraction(1, 2), 2),
        (2, 0.5, 1, Fraction(1), 2),
        (4, 0.0, 1, Fraction(0), 4),
        (3, 0.5, 0, Fraction(0), 0),
    ],
)
def test_reflections_are_counted_exactly(
    shown: int, activation: float, every: int, expected: Fraction, worst: int
) -> None:
    """Reflections are counted exactly."""
    scenario = Scenario(
        id="s",
        variant="v",
        horizon=9,
        exposures={str(tick): ("c",) for tick in range(shown)},
        activation=activation,
    )
    agent = AgentSettings(reflect_every=every)
    assert reflections(scenario, agent) == (expected, worst)


def test_parts_of_the_users_own_are_said_to_be(write: Writer) -> None:
    """Parts of the user's own are said to be."""
    loaded = load_study(write())
    study = msgspec.structs.replace(loaded.study, agent=AgentSettings(agent="mine:Agent"))
    cells = expand(study, loaded.population)
    assert forecast(study, cells, personas=12).own_parts
    assert not forecast(loaded.study, cells, personas=12).own_parts
