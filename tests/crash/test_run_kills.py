"""That a run killed at any instant, again and again, ends as the run that was never killed.

P3 and P4 on real processes: SIGKILL at instants spread over the life of a run, resumes included,
against a real server with spread latencies. The server counts what it is asked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from perdure.base.chance import Stream
from perdure.records.registry import TickDiscarded
from perdure.testing import MisbehavingServer
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify

CLIENT = Path(__file__).with_name("run_client.py")
ROOT = Path(__file__).parents[2]
KILLS = 300 if os.environ.get("PERDURE_CRASH") == "full" else 6
# What a process needs before its first call, about: kills before it find nothing to lose.
START_S = 0.8


class Counting(MisbehavingServer):
    """Answers by the prompt alone, late by up to 40 ms, and knows what is open."""

    def __init__(self) -> None:
        super().__init__(responder=self._say, latency_s=0.02)
        self.asked: Counter[bytes] = Counter()

    def _say(self, request: dict[str, Any]) -> str:
        key = sha256(str(sorted(request.items())).encode()).digest()
        self.asked[key] += 1
        self.latency_s = 0.005 + key[0] / 256 * 0.04
        return ["Ada Hill. I agree.", "Ben Cole. I disagree.", "I do not know."][key[1] % 3]


@pytest.fixture
def server() -> Iterator[Counting]:
    """Give a server of its own."""
    with Counting() as running:
        yield running


def start(server: Counting, out: Path) -> subprocess.Popen[bytes]:
    """Start or continue the run."""
    return subprocess.Popen(
        [sys.executable, str(CLIENT), server.base_url, str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> None:
    """Let a run end by itself."""
    _, errors = process.communicate(timeout=110)
    assert process.returncode == 0, errors.decode()


def digests(out: Path) -> list[str]:
    """Verify a run, and give the digest of every world."""
    report = verify(out)
    assert report.is_sound, report.every_finding
    return [world.digest for world in report.worlds]


def test_a_run_killed_anywhere_ends_as_if_it_never_was(server: Counting, tmp_path: Path):
    """Every kill keeps what was answered: same digests, and no finished call asked again."""
    begun = time.monotonic()
    finish(start(server, tmp_path / "whole"))
    life_s = time.monotonic() - begun
    undisturbed, once = digests(tmp_path / "whole"), Counter(server.asked)
    draws = Stream("kills", 0, "instants", os.environ.get("PERDURE_CRASH_SEED", "0"))
    kills = discarded = runs = 0
    while kills < KILLS:
        runs += 1
        out = tmp_path / f"run{runs}"
        before = Counter(server.asked)
        killed_here = 0
        # A run is killed up to four times, at instants drawn over what is left of its life.
        while kills < KILLS and killed_here < 4:
            process = start(server, out)
            try:
                process.wait(timeout=START_S + draws.uniform() * max(life_s - START_S, 0.5))
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
                killed_here += 1
            process.communicate()
            if process.returncode == 0:
                break
        finish(start(server, out))
        assert digests(out) == undisturbed
        asked = server.asked - before
        assert set(asked) == set(once)
        # Four calls may be open at a kill, and four replies on their way: each asked once more.
        assert asked.total() - once.total() <= 8 * killed_here
        with RunReader.open(out) as reader:
            losses = [row for row in reader.log if isinstance(row, TickDiscarded)]
        assert len({(row.world_id, row.tick, row.epoch) for row in losses}) == len(losses)
        assert len({row.epoch for row in losses}) <= killed_here
        discarded += len(losses)
    print(f"kills: {kills}, runs: {runs}, ticks discarded: {discarded}, lost: 0")  # noqa: T201
    assert discarded > 0
