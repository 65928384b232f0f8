"""A real run of an office in a process of its own, to be killed: five people with tools, over HTTP.

    python office_client.py BASE_URL OUT    runs, or continues what OUT holds
    python office_client.py BASE_URL        forks such runs, as its standard input says

`PERDURE_TEST_OFFICE` is the study's file. With `PERDURE_TEST_OUTSIDE` they have a tool outside as
well, which writes into the book in the folder OUT.desk, and takes a moment for it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
from tests.crash.run_client import IN_FLIGHT, fork_runs
from tests.support.office import office

from perdure import runner
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.runner.config import RunConfig

PEOPLE, DAYS = 5, 4


def config_of(
    base_url: str, out: str, seeds: tuple[int, ...] = (1,), in_flight: int = IN_FLIGHT
) -> RunConfig:
    """Make the study of the run: an office for each seed."""
    desk = Path(f"{out}.desk")
    if out:
        desk.mkdir(exist_ok=True)
    os.environ |= {"PERDURE_TEST_DESK": str(desk), "PERDURE_TEST_DESK_S": "0.01"}
    tools = ["append_line"] if "PERDURE_TEST_OUTSIDE" in os.environ else []
    study = Path(os.environ["PERDURE_TEST_OFFICE"])
    config = office(study, *tools, personas=PEOPLE, horizon=DAYS, seeds=seeds, out=out)
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=Endpoint(base_url=base_url, concurrency_max=in_flight),
        price=Price(input_fresh=150_000_000, output=600_000_000),
    )
    models = dict.fromkeys(config.study.models, spec)
    asked = msgspec.structs.replace(config.study, models=models)
    return RunConfig(**vars(config) | {"study": asked})


def main(base_url: str, out: str) -> int:
    """Start or continue the run in a folder; give its exit status."""
    return runner.run(config_of(base_url, out)).exit_status


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(main(*sys.argv[1:]))
    fork_runs(sys.argv[1], config_of=config_of, run=main)
