"""That a run spends nothing it was not allowed to, and counts at the prices that it began with."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.town import town

from perdure.base.errors import EndpointUnreachableError, InvalidStudyError, MovedError, UsageError
from perdure.records.budget import Budget
from perdure.records.registry import RunState
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec, Study
from perdure.records.usage import CostSource, Price
from perdure.runner import RunConfig, run
from perdure.study.forecast import DEAR, call_costs, kinds_called
from perdure.study.schedule import ANCHORS, INTEREST, SCORES, TURNS, Kind
from perdure.testing import MisbehavingServer
from perdure.trace.reader import RunReader

NOBODY = "http://127.0.0.1:9/v1"
PRICE = Price(input_fresh=150_000_000, output=600_000_000)


def asked(
    out: Path, base_url: str = NOBODY, *, budget: Budget | None = None, **spec: Any
) -> RunConfig:
    """Ask for a run over HTTP of one world and three ticks, with this price of its model."""
    config = town(3, scenarios=({"horizon": 3, "waves": (0, 2)},), seeds=(1,), out=str(out))
    model = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=Endpoint(base_url=base_url, retries_max=0, concurrency_max=1),
        **spec,
    )
    study = msgspec.structs.replace(
        config.study,
        models=dict.fromkeys(("tier_a", "tier_b"), model),
        budget=budget or Budget(),
    )
    return dataclasses.replace(config, study=study)


def recorded(out: Path) -> Study:
    """Read the study that a run's record holds."""
    with RunReader.open(out) as reader:
        return msgspec.json.decode(reader.entry.study, type=Study)


def test_a_model_without_a_price_is_refused_before_anything_exists(tmp_path: Path) -> None:
    """No folder, no connection: the problem names the model and what to write."""
    with pytest.raises(InvalidStudyError, match="has no price") as refused:
        run(asked(tmp_path / "run"))
    assert refused.value.exit_status == 65
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "spec",
    [
        {"price": PRICE},
        {"price_bound": PRICE},
        {"price_as": "openai/gpt-4o-mini"},
        {"budget": Budget(unpriced_accepted=True, calls=1_000)},
    ],
    ids=["price", "bound", "name", "accepted"],
)
def test_each_way_out_lets_the_run_reach_its_endpoint(tmp_path: Path, spec: Any) -> None:
    """With it the endpoint is asked, and here nobody answers."""
    with pytest.raises(EndpointUnreachableError):
        run(asked(tmp_path / "run", **spec))


def test_a_dear_call_needs_leave(tmp_path: Path) -> None:
    """A price that is a thousand times too high is caught before it is paid."""
    dear = Price(input_fresh=10**13, output=10**13)
    config = asked(tmp_path / "run", price=dear)
    with pytest.raises(UsageError, match="--allow-dear-calls"):
        run(config)
    with pytest.raises(EndpointUnreachableError):
        run(dataclasses.replace(config, allow_dear_calls=True))


def test_a_bound_is_what_calls_are_counted_at(tmp_path: Path) -> None:
    """Every cost is an estimate, at the bound's rates."""
    with MisbehavingServer() as server:
        result = run(asked(tmp_path / "run", server.base_url, price_bound=PRICE))
    assert result.state is RunState.COMPLETED
    assert result.unknown_costs == 0
    assert result.cost > 0
    with RunReader.open(tmp_path / "run") as reader:
        events = list(reader.events(reader.worlds[0].world_id, ("cost",)))
    assert {event.payload.source for event in events} == {CostSource.ESTIMATE}  # type: ignore[union-attr]


def test_a_continued_run_has_the_prices_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is not looked at again: it may be another one by then."""
    out = tmp_path / "run"
    with MisbehavingServer() as server:
        server.play({5: "status_402"})
        config = asked(out, server.base_url, price_as="openai/gpt-4o-mini")
        paused = run(config)
        assert (paused.state, paused.exit_status) == (RunState.PARTIAL, 76)
        before = recorded(out).models["tier_a"]
        assert before.price is not None
        assert before.price_source is not None
        with RunReader.open(out) as reader:
            assert reader.entry.versions["genai-prices"] == before.price_source.version

        def gone(*_: object) -> None:
            raise AssertionError("the table was looked at")

        monkeypatch.setattr("perdure.inference.price_table.PriceTable.__init__", gone)
        server.play({})
        done = run(config)
    assert done.state is RunState.COMPLETED
    assert recorded(out).models["tier_a"] == before


def test_an_edited_price_does_not_slip_into_a_run(tmp_path: Path) -> None:
    """It is named among what moved, and goes on by force, at the new rates."""
    out = tmp_path / "run"
    with MisbehavingServer() as server:
        server.play({5: "status_402"})
        assert run(asked(out, server.base_url, price=PRICE)).exit_status == 76
        server.play({})
        nothing = msgspec.structs.replace(PRICE, input_fresh=1)
        edited = asked(out, server.base_url, price=nothing)
        with pytest.raises(MovedError, match="prices") as refused:
            run(edited)
        assert refused.value.moved == ("prices",)
        forced = run(dataclasses.replace(edited, force=("prices",)))
    assert forced.state is RunState.COMPLETED


def test_a_call_that_the_study_never_makes_is_not_dear(tmp_path: Path) -> None:
    """No feed of it ranks by interest, and nothing of it is scored by likeness."""
    study = asked(tmp_path / "run", price=PRICE).study
    models = {**study.models, "embed": study.models["tier_a"]}
    called = kinds_called(msgspec.structs.replace(study, models=models))
    assert TURNS in called
    assert not called & {INTEREST, SCORES, ANCHORS}
    own = msgspec.structs.replace(study.agent, agent="theirs:Agent")
    assert INTEREST in kinds_called(msgspec.structs.replace(study, models=models, agent=own))


def test_a_price_is_not_refused_for_a_call_that_is_never_made(tmp_path: Path) -> None:
    """Ranking by interest would be dear, and nothing ranks so; every call that is made is cheap."""
    config = asked(tmp_path / "run", price=PRICE)

    def priced(per_million: int) -> Study:
        price = Price(input_fresh=per_million, output=0)
        vectors = msgspec.structs.replace(config.study.models["tier_a"], price=price)
        models = {**config.study.models, "embed": vectors}
        return msgspec.structs.replace(config.study, models=models)

    def typical(study: Study) -> dict[Kind, int]:
        return {kind: cost or 0 for kind, (cost, _) in call_costs(study).items()}

    study = priced(2 * DEAR * 10**12 // typical(priced(10**12))[INTEREST])
    costs = typical(study)
    assert costs[INTEREST] > DEAR
    assert all(costs[kind] <= DEAR for kind in kinds_called(study))
    with pytest.raises(EndpointUnreachableError):
        run(dataclasses.replace(config, study=study))
