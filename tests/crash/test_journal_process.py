"""P3 with real processes and sockets: a killed process makes no finished call twice."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.crash.journal_client import IN_FLIGHT, TURNS
from tests.crash.telling import tell

from perdure.base.chance import Stream
from perdure.testing import MisbehavingServer

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("PERDURE_CRASH") == "full"
KILLS = 120 if FULL else 12
JOBS = 16
# Alone on a machine: a reply that the server sent just before a kill may not have been read, or not
# yet be durable.
JUST_BEFORE_S = 0.05


class Watched(MisbehavingServer):
    """A server that remembers when it answered each call."""

    def __init__(self) -> None:
        self.answered_s: list[float] = []
        super().__init__(responder=self._respond, latency_s=0.03)

    def _respond(self, request: dict[str, Any]) -> str:
        self.answered_s.append(time.monotonic())
        return hashlib.sha256(str(request["messages"]).encode()).hexdigest()[:12]


def start(server: Watched, folder: Path, epoch: int, *plant: str) -> subprocess.Popen[str]:
    """Start a life."""
    words = [str(folder), server.base_url, str(epoch), str(JOBS), *plant]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.journal_client", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the end of a life that is left alone."""
    said, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    told: dict[str, Any] = json.loads(said)
    return told


def kill(server: Watched, process: subprocess.Popen[str], calls: int, more_s: float) -> int | None:
    """Kill a life some time after the server has seen so many calls; give what may be lost."""
    while server.calls < calls and process.poll() is None:
        time.sleep(0.001)  # noqa: TID251 - a real process is waited for
    time.sleep(more_s)  # noqa: TID251 - as above
    process.send_signal(signal.SIGKILL)
    killed_s = time.monotonic()
    process.communicate()
    if process.returncode != -signal.SIGKILL:
        return None
    late = sum(answered > killed_s - JUST_BEFORE_S for answered in server.answered_s)
    return server.calls - len(server.answered_s) + late


def lost_in(folder: Path) -> dict[int, int]:
    """Read what a life charged to the epochs before it."""
    rows = json.loads((folder / "lost.json").read_bytes())
    return {row["epoch"]: row["calls"] for row in rows}


@pytest.mark.timeout(1_200 if FULL else 300)
def test_a_killed_process_makes_no_finished_call_again(tmp_path: Path, record_property) -> None:
    """P3, P4: the server is asked at most once more for each call that was open at a kill.

    A call gives its place to the next one when its outcome is durable, so that on however busy a
    machine no more than fill the places are open.
    """
    chance = Stream("0" * 16, 0, "kills", "journal")
    undisturbed: dict[str, Any] = {}
    asked = kills = excess_all = allowed_all = run = 0
    while kills < KILLS:
        folder = tmp_path / str(run)
        folder.mkdir()
        run += 1
        with Watched() as server:
            if not undisturbed:
                undisturbed = finish(start(server, folder, 1))
                asked = server.calls
                assert asked == JOBS * TURNS
                continue
            epoch, allowed, charged = 1, 0, dict[int, int]()
            while epoch < 6:
                process = start(server, folder, epoch)
                wanted = server.calls + 1 + chance.below(14)
                may_lose = kill(server, process, wanted, chance.uniform() * 0.03)
                if may_lose is None:
                    break
                kills += 1
                epoch += 1
                allowed += may_lose
            ended = finish(start(server, folder, epoch + 1))
            charged.update(lost_in(folder))
            assert ended["said"] == undisturbed["said"]
            assert not ended["orphans"]
            excess = server.calls - asked
            assert excess <= allowed or not FULL
            assert excess <= sum(charged.values()) <= IN_FLIGHT * (epoch - 1)
            excess_all, allowed_all = excess_all + excess, allowed_all + allowed
    tell(f"kills of a process: {kills}, calls made again: {excess_all}, open: {allowed_all}")
    record_property("kills", kills)
    assert excess_all > 0


def test_a_journal_that_keeps_no_outcome_is_caught(tmp_path: Path) -> None:
    """Control: where outcomes are not kept, a killed process asks for what it had."""
    with Watched() as server:
        may_lose = kill(server, start(server, tmp_path, 1, "forget"), 30, 0.01)
        assert may_lose is not None
        finish(start(server, tmp_path, 2))
        assert server.calls - JOBS * TURNS > max(may_lose, IN_FLIGHT)
