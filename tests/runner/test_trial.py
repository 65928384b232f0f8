"""That a trial makes one tick of one world in earnest, measures it, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.town import town

from perdure.base.errors import EndpointUnreachableError, InvalidStudyError, UsageError
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.runner import RunConfig
from perdure.runner.trial import try_out
from perdure.study.forecast import forecast
from perdure.study.identity import expand
from perdure.study.schedule import REFLECTIONS, TURNS
from perdure.testing import MisbehavingServer
from perdure.testing.replies import chat_tree

PRICE = Price(input_fresh=1_000_000_000, output=2_000_000_000)
# The second scenario, and every seed after the first, is never touched by a trial.
SCENARIO: dict[str, Any] = {
    "horizon": 4,
    "waves": (3,),
    "exposures": {"1": ("c1",), "2": ("c2",)},
    "activation": 1.0,
}


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have temporary folders made where the test can see them."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def over_http(base_url: str, *, price: Price | None = PRICE, **changes: Any) -> RunConfig:
    """Ask for a study over HTTP whose personas reflect after every turn."""
    config = town(4, scenarios=({**SCENARIO, **changes}, {}), seeds=(1, 2))
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=Endpoint(base_url=base_url, retries_max=0, concurrency_max=2),
        price=price,
    )
    agent = msgspec.structs.replace(config.study.agent, reflect_every=1)
    models = dict.fromkeys(("tier_a", "tier_b"), spec)
    study = msgspec.structs.replace(config.study, models=models, agent=agent)
    return dataclasses.replace(config, study=study)


def test_the_first_tick_with_calls_is_made_and_nothing_else(scratch: Path) -> None:
    """Four turns and four reflections, billed as the server bills them; nothing is left."""
    billed: list[int] = []

    def answer(request: dict[str, Any]) -> str:
        usage = chat_tree("Fine.", "test-model", request)["usage"]
        billed.append(usage["prompt_tokens"] * 1_000 + usage["completion_tokens"] * 2_000)
        return "Fine."

    with MisbehavingServer(responder=answer) as server:
        trial = try_out(over_http(server.base_url))
    assert len(billed) == 8
    assert (trial.scenario, trial.replicate_seed, trial.tick) == ("s0", 1, 1)
    assert (trial.calls, trial.unknown_costs, trial.exit_status) == (8, 0, 0)
    assert {(one.role, one.purpose, one.calls) for one in trial.tried} == {
        (*TURNS, 4),
        (*REFLECTIONS, 4),
    }
    assert trial.cost == sum(one.amount for one in trial.tried) == sum(billed)
    assert list(scratch.iterdir()) == []


def test_what_is_measured_is_what_the_rest_is_worked_out_from() -> None:
    """Costs of each kind of call, and the time of one, go into the forecast."""
    with MisbehavingServer(latency_s=0.05) as server:
        config = over_http(server.base_url)
        trial = try_out(config)
    assert trial.pace is not None
    # Two in flight, 0.05 s each: a call takes that long or a little more.
    assert trial.pace.call_s >= 0.05
    assert trial.pace.in_flight_max == 2
    costs = trial.costs()
    cells = expand(config.study, config.population)
    found = forecast(config.study, cells, personas=4, pace=trial.pace, costs=costs)
    assert {(part.role, part.purpose): part.typical_cost for part in found.calls} == costs
    assert found.seconds is not None


def test_a_cost_that_is_not_known_is_not_worked_out_from() -> None:
    """One call that nobody can price leaves the plan's own estimate standing."""
    with MisbehavingServer() as server:
        server.play({0: "usage_missing"})
        trial = try_out(over_http(server.base_url))
    assert trial.unknown_costs == 0  # it was charged in full
    assert TURNS not in trial.costs()
    assert REFLECTIONS in trial.costs()


def test_a_trial_is_refused_as_the_run_would_be(scratch: Path) -> None:
    """Without a price, with nobody there, or with nothing to ask: and nothing is left behind."""
    with pytest.raises(InvalidStudyError):
        try_out(over_http("http://127.0.0.1:9/v1", price=None))
    with pytest.raises(EndpointUnreachableError):
        try_out(over_http("http://127.0.0.1:9/v1"))
    with pytest.raises(UsageError, match="no tick at which anybody is asked"):
        try_out(over_http("http://127.0.0.1:9/v1", waves=(), exposures={}))
    assert list(scratch.iterdir()) == []


def test_a_trial_that_does_not_come_to_its_end_says_why() -> None:
    """An account that is empty pauses the trial like a run; what was paid is said."""
    with MisbehavingServer() as server:
        server.play({3: "status_402"})
        trial = try_out(over_http(server.base_url))
    assert trial.exit_status == 76
    assert trial.cause


def test_the_study_itself_is_not_changed() -> None:
    """A cut study is one of its own; the one that was asked keeps all its worlds."""
    config = over_http("http://127.0.0.1:9/v1")
    before = config.study
    with pytest.raises(EndpointUnreachableError):
        try_out(config)
    assert config.study == before
    assert len(expand(config.study, config.population)) == 4
