"""A run under a budget, in a process that can be killed: two worlds, over HTTP.

    python budget_client.py BASE_URL     forks such runs, as its standard input says

An order to start names the folder, the budget as JSON, the calls in flight at most, and for how
many seconds each is waited for.
"""

from __future__ import annotations

import sys

import msgspec
from tests.crash.billing_server import INPUT, OUTPUT
from tests.crash.run_client import fork_runs
from tests.support.town import town

from perdure import runner
from perdure.records.budget import Budget
from perdure.records.scenario import AgentSettings, ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.runner.config import RunConfig

TICKS = 6
PERSONAS = 16
PRICE = Price(input_fresh=INPUT * 1_000_000, output=OUTPUT * 1_000_000)


def config_of(
    base_url: str, out: str, budget: str = "{}", in_flight: str = "64", attempt_s: str = "1"
) -> RunConfig:
    """Make the study of the run."""
    scenario = {
        "horizon": TICKS,
        "waves": (0, TICKS - 1),
        "exposures": {str(tick): ("c1",) for tick in range(1, TICKS - 1)},
        "activation": 1.0,
    }
    reached = Endpoint(
        base_url=base_url,
        concurrency_max=int(in_flight),
        attempt_timeout_s=float(attempt_s),
        deadline_s=3 * float(attempt_s),
        retries_max=2,
    )
    pin = ModelPin(provider="http", model="test-model")
    config = town(
        PERSONAS,
        scenarios=(scenario, {**scenario, "activation": 0.9}),
        seeds=(1,),
        agent=AgentSettings(reflect_every=2, answer_tokens_max=60),
        out=out,
        quorum=0.3,
        budget=msgspec.json.decode(budget, type=Budget),
    )
    models = dict.fromkeys(("tier_a", "tier_b"), ModelSpec(pin=pin, endpoint=reached, price=PRICE))
    study = msgspec.structs.replace(config.study, models=models)
    return RunConfig(**{**vars(config), "study": study})


def run(base_url: str, *order: str) -> int:
    """Start or continue a run; give its exit status."""
    return runner.run(config_of(base_url, *order)).exit_status


if __name__ == "__main__":
    fork_runs(sys.argv[1], config_of=config_of, run=run)
