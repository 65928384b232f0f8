"""Proves that a forecast counts what a study will do, and never calls an unknown amount zero."""

from __future__ import annotations

import msgspec
import pytest
from tests.support.sample_study import Writer

from perdure.population import load_study
from perdure.records.scenario import AgentSettings, ModelPin
from perdure.records.study import ModelSpec
from perdure.records.usage import Price
from perdure.study.forecast import Forecast, Pace, call_costs, forecast, tick_cost
from perdure.study.identity import expand
from perdure.study.overrides import Overrides
from perdure.study.read_models import LOCAL_ENDPOINT


def forecast_of(write: Writer, pace: Pace | None = None, **flags: str) -> Forecast:
    """Forecast the small study under some flags."""
    loaded = load_study(write(), overrides=Overrides(**flags))  # type: ignore[arg-type]
    cells = expand(loaded.study, loaded.population)
    return forecast(loaded.study, cells, personas=12, pace=pace)


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
    # Two waves; two exposures, at the second of which a quarter reflects; a tick without anything.
    wave, shown = 12 * turns.typical_cost, 6 * turns.typical_cost
    assert ticks == [wave, shown, shown + 3 * reflecting.typical_cost, wave, 0] * 4
    unpriced = load_study(write(), overrides=Overrides(model="api", model_name="other-1"))
    assert tick_cost(unpriced.study, cells[0].header.scenario, 0, personas=12) is None


def test_a_time_is_given_only_where_a_rate_is_known(write: Writer) -> None:
    """A limit of requests per minute is one, a measured pace is another; a rule has neither."""
    assert forecast_of(write).seconds is None
    assert forecast_of(write).seconds_worst is None
    # 156 calls at 60 a minute.
    assert forecast_of(write, model="api").seconds == pytest.approx(156)


def test_a_pace_gives_the_ticks_one_after_another(write: Writer) -> None:
    """A tick takes as many rounds of calls as it needs, and one at least."""
    # Ticks of 48, 24, 24 and 12 reflections behind the last of those, and 48 turns.
    wide = forecast_of(write, Pace(call_s=2.0, in_flight_max=1_000))
    assert wide.seconds == pytest.approx(2.0 * (1 + 1 + 2 + 1))
    narrow = forecast_of(write, Pace(call_s=2.0, in_flight_max=12))
    assert narrow.seconds == pytest.approx(2.0 * (48 + 24 + 24 + 12 + 48) / 12)


def test_the_longest_time_follows_from_the_limits(write: Writer) -> None:
    """Every call takes its whole deadline, and every attempt waits for its turn in the minute."""
    # 48, 48, 48 turns and as many reflections, 48: in rounds of 32 that is 2 + 2 + 3 + 2.
    result = forecast_of(write, model="api")
    assert result.seconds_worst == pytest.approx(9 * 300 + 240 * 6 * 60 / 60)


def test_the_worst_is_by_the_patience_with_each_model(write: Writer) -> None:
    """The model of vectors stands first, as in a record: it lends its limits to no other."""
    study = load_study(write(), overrides=Overrides(model="api")).study
    speaks = study.models["tier_a"]
    local = ModelSpec(pin=ModelPin(provider="local", model="v"), endpoint=LOCAL_ENDPOINT)
    hasty = msgspec.structs.replace(speaks.endpoint, retries_max=1, deadline_s=10.0)
    spoken = msgspec.structs.replace(speaks, endpoint=hasty)
    models = {"embed": local, "tier_a": spoken, "tier_b": spoken}
    changed = msgspec.structs.replace(study, models=models)
    cells = expand(changed, load_study(write()).population)
    result = forecast(changed, cells, personas=12)
    here = sum(part.calls_worst for part in result.calls if part.role == "embed")
    assert here
    assert result.attempts_worst == 2 * result.calls_worst - here
    rounds = sum(-(-tick.calls_worst // 32) for tick in result.ticks)
    assert result.seconds_worst == pytest.approx(10 * rounds + 2 * result.calls_worst)


def test_each_tick_has_its_calls_and_costs(write: Writer) -> None:
    """Ticks add up to the whole; a wave, what activation thins and optional work stand apart."""
    result = forecast_of(write, model="api")
    turn, reflection = (part.typical_cost or 0 for part in result.calls)
    assert [(tick.tick, tick.is_wave, tick.turns, tick.reflections) for tick in result.ticks] == [
        (0, True, 48, 0),
        (1, False, 24, 0),
        (2, False, 24, 12),
        (3, True, 48, 0),
    ]
    assert [tick.calls_worst for tick in result.ticks] == [48, 48, 96, 48]
    assert [(tick.wave, tick.active, tick.optional) for tick in result.ticks] == [
        (48 * turn, 0, 0),
        (0, 24 * turn, 0),
        (0, 24 * turn, 12 * reflection),
        (48 * turn, 0, 0),
    ]
    assert sum(tick.turns + tick.reflections for tick in result.ticks) == result.calls_total


def test_measured_costs_take_the_place_of_estimated_ones(write: Writer) -> None:
    """What a call was seen to cost is what the others are expected to; the worst case stays."""
    plain = forecast_of(write, model="api")
    loaded = load_study(write(), overrides=Overrides(model="api"))
    cells = expand(loaded.study, loaded.population)
    measured = forecast(loaded.study, cells, personas=12, costs={("tier_a", "turn"): 7})
    turns, reflecting = measured.calls
    assert turns.typical_cost == 7
    assert reflecting.typical_cost == plain.calls[1].typical_cost
    assert measured.cost == 144 * 7 + 12 * (reflecting.typical_cost or 0)
    assert measured.cost_worst == plain.cost_worst


def test_a_call_is_priced_typically_and_at_most(write: Writer) -> None:
    """The most that a call may cost is above what one typically costs; without a price, neither."""
    loaded = load_study(write(), overrides=Overrides(model="api"))
    costs = call_costs(loaded.study)
    assert set(costs) == {("tier_a", "turn"), ("tier_b", "reflection"), ("tier_a", "probe")}
    for typical, most in costs.values():
        assert typical is not None
        assert most is not None
        assert 0 < typical < most
    bare = {
        role: msgspec.structs.replace(spec, price=None)
        for role, spec in loaded.study.models.items()
    }
    unpriced = msgspec.structs.replace(loaded.study, models=bare)
    assert set(call_costs(unpriced).values()) == {(None, None)}
    dear = Price(input_fresh=10**13, output=10**13)
    priced = {role: msgspec.structs.replace(spec, price=dear) for role, spec in bare.items()}
    cells = expand(loaded.study, loaded.population)
    asked = msgspec.structs.replace(loaded.study, models=priced)
    assert all(part.is_dear for part in forecast(asked, cells, personas=12).calls)
    assert not any(part.is_dear for part in forecast(unpriced, cells, personas=12).calls)


def test_parts_of_the_users_own_are_said_to_be(write: Writer) -> None:
    """Parts of the user's own are said to be."""
    loaded = load_study(write())
    study = msgspec.structs.replace(loaded.study, agent=AgentSettings(agent="mine:Agent"))
    cells = expand(study, loaded.population)
    assert forecast(study, cells, personas=12).own_parts
    assert not forecast(loaded.study, cells, personas=12).own_parts
