"""A real run with all channels in a process of its own, to be killed: over HTTP, with embeddings.

    python street_client.py BASE_URL OUT    runs, or continues what OUT holds
    python street_client.py BASE_URL        forks such runs, as its standard input says

Sixteen people read a feed that ranks by interest and a forum of their community, tell each other
what moved them, remember by meaning, reflect, and are probed.
"""

from __future__ import annotations

import importlib
import sys

import msgspec
from tests.crash.run_client import IN_FLIGHT, fork_runs
from tests.support.street import channels, street

from perdure import runner
from perdure.records.channels import Feed, Forum, Ranking, Scope, WordOfMouth
from perdure.records.scenario import AgentSettings, ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.runner.config import RunConfig

STREET = channels(
    feed=Feed(question="react", posts={"0": ("c0", "c1"), "2": ("c2",)}, ranking=Ranking.INTEREST),
    forum=Forum(question="react", posts={"0": ("c3",)}, scope=Scope.COMMUNITY),
    word_of_mouth=WordOfMouth(question="react", starts={"0": ("c4",)}, reach=0.3, moved_min=1),
)
AGENT = AgentSettings(
    reflect_every=2, memories_max=2, memories_kept=6, probe_every=2, probe_share=0.3
)


def config_of(
    base_url: str, out: str, seeds: tuple[int, ...] = (1,), in_flight: int = IN_FLIGHT
) -> RunConfig:
    """Make the study of the run: a world for each seed."""
    survey = {"waves": (0, 3), "wave_question": "vote", "horizon": 4}
    config = street(STREET | survey, size=4, seeds=seeds, agent=AGENT, out=out, embeds=True)
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=Endpoint(base_url=base_url, concurrency_max=in_flight),
        price=Price(input_fresh=150_000_000, output=600_000_000),
    )
    models = dict.fromkeys(config.study.models, spec)
    study = msgspec.structs.replace(config.study, models=models)
    return RunConfig(**vars(config) | {"study": study})


def main(base_url: str, out: str) -> int:
    """Start or continue the run in a folder; give its exit status."""
    return runner.run(config_of(base_url, out)).exit_status


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(main(*sys.argv[1:]))
    # Imported when something is first ranked by interest, and here once for all forks.
    importlib.import_module("perdure.world.meanings")
    fork_runs(sys.argv[1], config_of=config_of, run=main)
