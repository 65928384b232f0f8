"""A real run in a process of its own, to be killed: 3 worlds, 6 ticks, 20 people, over HTTP."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
from tests.support.town import town

from perdure import runner
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price

SCENARIOS: tuple[dict[str, Any], ...] = (
    {},
    {"exposures": {"2": ("c2",)}},
    {"exposures": {"1": ("c1",), "3": ("c2",)}},
)


def main(base_url: str, out: str) -> int:
    """Start or continue the run in a folder; give its exit status."""
    config = town(20, scenarios=SCENARIOS, seeds=(1,), out=out)
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=Endpoint(base_url=base_url, concurrency_max=4),
        price=Price(input_fresh=150_000_000, output=600_000_000),
    )
    models = dict.fromkeys(("tier_a", "tier_b"), spec)
    study = msgspec.structs.replace(config.study, models=models)
    return runner.run(type(config)(**{**vars(config), "study": study})).exit_status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
