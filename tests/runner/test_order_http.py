"""A sweep that meets its rungs, over HTTP and in files: where they have effect, what compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.crash.billing_server import INPUT, OUTPUT, BillingServer
from tests.support.town import town

from perdure import runner
from perdure.base.errors import EXIT_DONE
from perdure.records.budget import Budget, Ladder, Rung
from perdure.records.registry import WorldsLive
from perdure.records.result import RunResult
from perdure.records.scenario import AgentSettings, ModelPin
from perdure.records.study import Endpoint, ModelSpec, Order
from perdure.records.usage import Price
from perdure.runner.config import RunConfig
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify

TICKS = 8
PRICE = Price(input_fresh=INPUT * 1_000_000, output=OUTPUT * 1_000_000)


def config_of(
    server: BillingServer, out: Path, budget: Budget, *, workers: int, **way: Any
) -> RunConfig:
    """Make a study of six cells in which everybody acts at every tick."""
    scenario = {
        "horizon": TICKS,
        "waves": (),
        "exposures": {str(tick): ("c1",) for tick in range(TICKS)},
        "activation": 1.0,
    }
    config = town(
        6,
        scenarios=(scenario, scenario | {"settings": {"price": 2}}),
        seeds=(1, 2, 3),
        agent=AgentSettings(reflect_every=2),
        out=str(out),
        budget=budget,
        **way,
    )
    pin, reached = ModelPin(provider="http", model="test-model"), Endpoint(base_url=server.base_url)
    models = dict.fromkeys(("tier_a", "tier_b"), ModelSpec(pin=pin, endpoint=reached, price=PRICE))
    return RunConfig(
        **{
            **vars(config),
            "study": msgspec.structs.replace(config.study, models=models),
            "workers": workers,
        }
    )


def ran_short(folder: Path, *, workers: int, **way: Any) -> RunResult:
    """Run with three fifths of what the run costs, and room for the rest; check what it billed."""
    with BillingServer(latency_s=0.0) as server:
        runner.run(config_of(server, folder / "whole", Budget(), workers=workers, **way))
        whole = server.billed
        budget = Budget(amount=whole * 3 // 5, ceiling=whole, ladder=Ladder(share=0.5))
        result = runner.run(config_of(server, folder / "short", budget, workers=workers, **way))
        assert result.exit_status == EXIT_DONE
        assert server.billed - whole == result.cost <= whole
    assert verify(folder / "short").is_sound
    return result


def ticks_of(result: RunResult, rung: Rung) -> list[int | None]:
    """Give the tick at which each cell has a rung, in the order of the cells."""
    return [
        next((at.tick for at in world.rungs if at.rung is rung), None) for world in result.worlds
    ]


@pytest.mark.parametrize("workers", [0, 2])
def test_breadth_first_every_cell_meets_its_rungs_at_the_same_tick(
    tmp_path: Path, workers: int
) -> None:
    """P8: at 95 and at 100 %; all cells can be compared, and the result says so."""
    result = ran_short(tmp_path, workers=workers)
    for rung in (Rung.FREEZE, Rung.SUBSAMPLE):
        (tick,) = set(ticks_of(result, rung))
        assert tick is not None
        assert 0 < tick < TICKS
    assert len(result.comparability.groups) == 1
    assert result.comparability.unlike == ()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("way", [{"order": Order.DEPTH, "live": 2}, {"live": 2}], ids=str)
def test_where_cells_come_one_after_the_other_the_result_says_which_differ(
    tmp_path: Path, way: dict[str, Any], workers: int
) -> None:
    """P8: early cells end unrestrained, later ones are restrained from their first tick."""
    result = ran_short(tmp_path, workers=workers, **way)
    frozen = ticks_of(result, Rung.FREEZE)
    assert frozen[0] is None
    assert frozen[-1] == 0
    found = result.comparability
    assert len(found.groups) > 1
    for one in found.unlike:
        assert "the largest group had" in one.why
    in_groups = [name for group in found.groups for name in group.worlds]
    assert sorted(in_groups) == sorted(world.world_id for world in result.worlds)
    with RunReader.open(Path(result.folder)) as reader:
        groups = [row for row in reader.log if isinstance(row, WorldsLive)]
    assert len(groups) == (0 if "order" in way else 3)
