"""A run whose worlds are driven in worker processes, in a program of its own.

    python worker_client.py BASE_URL OUT OPTIONS

OPTIONS is JSON: `workers`, `cells` (the scenarios by name, default twelve worlds in four scenarios
and three seeds), `order`, `live`, `budget`, and further fields of the run's configuration. With
`street` it is the run of `street_client`, and with `office` that of `office_client`, of which only
`workers`, `order`, `live`, `seeds` and `in_flight` can be said. Says how each world
ended, as JSON, and exits with the run's status.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.crash import office_client, street_client
from tests.support.town import town

from perdure import runner
from perdure.base.errors import PerdureError
from perdure.records.budget import Budget
from perdure.records.scenario import AgentSettings, ModelPin
from perdure.records.study import Endpoint, ModelSpec, Order
from perdure.records.usage import Price
from perdure.runner.config import RunConfig

UNRULY = Path(__file__).parents[1] / "support" / "unruly" / "study.yaml"
# Nano-units a token, as `billing_server` bills.
PRICE = Price(input_fresh=3_000_000, output=15_000_000)


def config_of(base_url: str, out: str, **options: Any) -> RunConfig:
    """Make the run: twelve worlds of our own, one for each of the named cells, or a street."""
    if options.pop("street", False):
        return street_of(base_url, out, **options)
    if options.pop("office", False):
        return street_of(base_url, out, made=office_client.config_of, **options)
    cells = options.pop("cells", None)
    seeds = tuple(options.pop("seeds", (1, 2, 3) if cells is None else (1,)))
    ticks = options.pop("ticks", 6)
    scenarios = [
        {
            "id": name,
            "horizon": ticks,
            "waves": (0, ticks - 1),
            "exposures": {str(1 + number % 3): ("c1",)},
            "activation": 0.5 + 0.1 * (number % 4),
            **({} if cells is None else {"world": "unruly:UnrulyWorld"}),
        }
        for number, name in enumerate(cells or ("s0", "s1", "s2", "s3"))
    ]
    budget = msgspec.convert(options.pop("budget", {}), type=Budget)
    endpoint = {"concurrency_max": 16, **options.pop("endpoint", {})}
    asked: dict[str, Any] = options.pop("study", {})
    if cells is not None:
        asked["agent"] = AgentSettings(agent="unruly:UnrulyAgent")
    config = town(
        options.pop("personas", 12),
        scenarios=tuple(scenarios),
        seeds=seeds,
        out=out,
        study_path=str(UNRULY),
        budget=budget,
        order=Order(options.pop("order", "breadth")),
        live=options.pop("live", 0),
        **asked,
    )
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=Endpoint(base_url=base_url, **endpoint),
        price=PRICE,
    )
    models = dict.fromkeys(("tier_a", "tier_b"), spec)
    study = msgspec.structs.replace(config.study, models=models)
    return RunConfig(**{**vars(config), "study": study, **options})


def street_of(
    base_url: str,
    out: str,
    *,
    seeds: list[int],
    in_flight: int,
    workers: int,
    order: str = "breadth",
    live: int = 0,
    made: Callable[..., RunConfig] = street_client.config_of,
) -> RunConfig:
    """Make the run with all channels, or another, in that order and so many processes."""
    config = made(base_url, out, tuple(seeds), in_flight)
    study = msgspec.structs.replace(config.study, order=Order(order), live=live)
    return RunConfig(**{**vars(config), "study": study, "workers": workers})


def main(base_url: str, out: str, options: str = "{}") -> int:
    """Start or continue a run; say how its worlds ended."""
    said: list[Any] = []
    try:
        result = runner.run(config_of(base_url, out, **json.loads(options)), notice=said.append)
    except PerdureError as error:
        print(json.dumps({"error": str(error), "said": [str(one) for one in said]}))  # noqa: T201
        return error.exit_status
    worlds = {
        world.world_id: {
            "state": world.state,
            "tick": world.tick,
            "digest": world.digest,
            "cause": world.cause,
        }
        for world in result.worlds
    }
    told = {
        "worlds": worlds,
        "cause": result.cause,
        "cost": result.cost,
        "said": [str(one) for one in said],
    }
    print(json.dumps(told))  # noqa: T201
    return result.exit_status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
