"""A real run in a process of its own, to be killed: 3 worlds, 6 ticks, 20 people, over HTTP.

    python run_client.py BASE_URL OUT [PLACE ...]   runs, or continues what OUT holds
    python run_client.py BASE_URL                   forks such runs, as its standard input says

A run that is given places (`call.intended:3` is the third passing of that crash point) has one
world, waits for nothing longer than `LIMIT_S`, and stops itself with SIGSTOP at each of them.

A process that only forks has imported everything and taken the code's fingerprint once, which is
most of what a start costs, so that far more kills fall into a run's own work. It has no thread and
nothing open, and it alone reaps what it forked, so that no kill can hit anybody else.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from tests.support.town import town

from perdure import runner
from perdure.base import crashpoints
from perdure.inference import http
from perdure.inference.limits import Limits
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.runner import history, respondents
from perdure.runner.config import RunConfig

LIMIT_S = 2.0
IN_FLIGHT = 4
SCENARIOS: tuple[dict[str, Any], ...] = (
    {},
    {"exposures": {"2": ("c2",)}},
    {"exposures": {"1": ("c1",), "3": ("c2",)}},
)


def config_of(
    base_url: str, out: str, scenarios: tuple[dict[str, Any], ...] = SCENARIOS, **endpoint: Any
) -> RunConfig:
    """Make the study of the run; `endpoint` changes how its model is reached."""
    config = town(20, scenarios=scenarios, seeds=(1,), out=out)
    reached = Endpoint(base_url=base_url, **{"concurrency_max": IN_FLIGHT, **endpoint})
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=reached,
        price=Price(input_fresh=150_000_000, output=600_000_000),
    )
    models = dict.fromkeys(("tier_a", "tier_b"), spec)
    study = msgspec.structs.replace(config.study, models=models)
    # As `perdure run` does: what a run listens by is in its folder before there is a run.
    return RunConfig(**{**vars(config), "study": study, "tells_stacks": True})


def main(base_url: str, out: str, *places: str) -> int:
    """Start or continue the run in a folder; give its exit status."""
    if not places:
        return runner.run(config_of(base_url, out)).exit_status
    stop_at(places)
    return runner.run(impatient(base_url, out)).exit_status


def impatient(base_url: str, out: str) -> RunConfig:
    """Make a study of one world, for a run that waits for nothing longer than `LIMIT_S`."""
    # These limits are not a study's to set.
    vars(respondents)["Limits"] = partial(Limits, queue_s=LIMIT_S)
    settings = partial(http.HttpSettings, connect_s=LIMIT_S, check_s=LIMIT_S)
    vars(http)["HttpSettings"] = settings
    limits = {"attempt_timeout_s": LIMIT_S, "deadline_s": LIMIT_S}
    return config_of(base_url, out, SCENARIOS[2:], concurrency_max=8, **limits)


def stop_at(places: tuple[str, ...]) -> None:
    """Stop this process at these passings of crash points."""
    passed: Counter[str] = Counter()

    def hit(name: str) -> None:
        passed[name] += 1
        if f"{name}:{passed[name]}" in places:
            os.kill(os.getpid(), signal.SIGSTOP)

    crashpoints._armed, crashpoints._hit = "these", hit


def fork_runs(
    base_url: str,
    *,
    config_of: Callable[[str, str], RunConfig] = config_of,
    run: Callable[..., int] = main,
) -> None:
    """Do as standard input says, a JSON list a line; say what came of it, a line each.

    `["start", OUT, ...]` forks a run, which is given the rest of the order. `["look"]` says
    whether it has ended, `["wait"]` waits for that,
    `["kill"]` kills it: each gives its status as `waitpid` has it, or null, and when it was asked.
    """
    code = history.code_of(config_of(base_url, ""))
    history.code_of = lambda config: code
    gc.freeze()
    child = 0
    for line in sys.stdin:
        order, *rest = json.loads(line)
        said: list[Any] = [None, time.monotonic()]
        if order == "start":
            child = os.fork()  # noqa: TID251 - no thread, nothing open: see the top
            if child == 0:
                _be_child(partial(run, base_url, *rest))
        else:
            if order == "kill":
                os.kill(child, signal.SIGKILL)
            ended, status = os.waitpid(child, os.WNOHANG if order == "look" else 0)
            said[0] = status if ended else None
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def _be_child(run: Callable[[], int]) -> None:
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        status = run()
    except BaseException:  # noqa: BLE001 - a fork must never return into its parent's code
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(main(*sys.argv[1:]))
    fork_runs(*sys.argv[1:])
