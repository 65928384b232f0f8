"""That an endpoint sees each rung over HTTP: a real server that keeps its own books."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from tests.crash.billing_server import INPUT, OUTPUT, BillingServer
from tests.support.town import town

from perdure import runner
from perdure.base.errors import EXIT_DONE, EXIT_PAUSED
from perdure.records.budget import Budget, Ladder, Rung
from perdure.records.events import Cost, Degraded
from perdure.records.result import RunResult
from perdure.records.scenario import AgentSettings, ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.runner.config import RunConfig
from perdure.trace.reader import RunReader

TICKS = 12
WAVE = 8
SHARE = 0.5
PRICE = Price(input_fresh=INPUT * 1_000_000, output=OUTPUT * 1_000_000)


def config_of(server: BillingServer, out: Path, budget: Budget) -> RunConfig:
    """Make a study of forty people in one world, of whom nine in ten act at every tick."""
    config = town(
        40,
        scenarios=(
            {
                "horizon": TICKS,
                "waves": (WAVE,),
                "exposures": {str(tick): ("c1",) for tick in range(TICKS) if tick != WAVE},
                "activation": 0.9,
            },
        ),
        seeds=(1,),
        agent=AgentSettings(reflect_every=2),
        out=str(out),
        budget=budget,
    )
    pin, reached = ModelPin(provider="http", model="test-model"), Endpoint(base_url=server.base_url)
    models = dict.fromkeys(("tier_a", "tier_b"), ModelSpec(pin=pin, endpoint=reached, price=PRICE))
    return RunConfig(
        **{**vars(config), "study": msgspec.structs.replace(config.study, models=models)}
    )


class Ran:
    """What the endpoint was asked in each closed tick of a run, and the rungs that are on record.

    `more` is what it was asked beyond them.
    """

    def __init__(self, server: BillingServer, result: RunResult) -> None:
        (world,) = result.worlds
        with RunReader.open(Path(result.folder)) as reader:
            events = list(reader.events(world.world_id))
        calls = Counter(event.tick for event in events if isinstance(event.payload, Cost))
        requests = iter(server.requests)
        self.asked = [list(islice(requests, calls[tick])) for tick in range(world.tick + 1)]
        self.more = list(requests)
        self.exit_status = result.exit_status
        self.rungs = {
            event.payload.rung: event.tick
            for event in events
            if isinstance(event.payload, Degraded)
        }

    def reflections(self, tick: int) -> int:
        """Count the optional calls of a tick."""
        return sum(_asked(request).endswith(_REFLECTION) for request in self.asked[tick])

    def active(self, tick: int) -> set[str]:
        """Tell who was asked for a turn: by what each is told of itself."""
        texts = (_asked(request) for request in self.asked[tick])
        return {text.split("\n\n")[0] for text in texts if not text.endswith(_REFLECTION)}


_REFLECTION = "what do you make of it all by now?"


def _asked(request: dict[str, Any]) -> str:
    text: str = request["messages"][-1]["content"]
    return text


def run(folder: Path, budget: Budget) -> tuple[Ran, int]:
    """Run under a budget, and once more for nothing; give what was asked, and what it cost."""
    with BillingServer(latency_s=0.0) as server:
        config = config_of(server, folder, budget)
        ran = Ran(server, runner.run(config))
        calls, billed = len(server.requests), server.billed
        assert runner.run(config).exit_status == ran.exit_status
        assert (len(server.requests), server.billed) == (calls, billed), "it asks for nothing more"
    return ran, billed


def test_an_endpoint_sees_each_rung(tmp_path: Path) -> None:
    """Past 95 % nobody reflects, past 100 % fewer act of those who would have; then no request."""
    whole, billed = run(tmp_path / "whole", Budget())
    assert (whole.exit_status, whole.rungs, whole.more) == (EXIT_DONE, {}, [])
    amount, ceiling = billed * 55 // 100, billed * 60 // 100
    budget = Budget(amount=amount, ceiling=ceiling, ladder=Ladder(share=SHARE))
    ran, less = run(tmp_path / "less", budget)
    assert ran.exit_status == EXIT_PAUSED
    assert less <= ceiling
    assert list(ran.rungs) == list(Rung)
    frozen, thinned, paused = (
        ran.rungs[rung] for rung in (Rung.FREEZE, Rung.SUBSAMPLE, Rung.PAUSE)
    )
    assert 0 < frozen < thinned < paused == len(ran.asked)
    for tick in range(paused):
        before, now = whole.active(tick), ran.active(tick)
        assert bool(ran.reflections(tick)) == (tick < frozen and bool(whole.reflections(tick)))
        if tick < thinned or tick == WAVE:
            assert now == before
        else:
            assert now < before
            assert abs(len(now) - SHARE * len(before)) < 8
    assert any(whole.reflections(tick) for tick in range(frozen, paused))
    assert ran.more == []
