"""P7 under real races: of all processes that want to govern a run, one does, and a stale one never.

Contenders are processes of their own. Holders are killed, put to sleep and woken; lock files are
fresh, left over, or cleared away; and whole `perdure run` commands race for one folder.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.crash.telling import tell
from tests.support.gate import Gate, gate, has_taken
from tests.support.golden import (
    STUDIES,
    GoldenServer,
    copy_studies,
    said_by,
    start,
    wait_until,
)

import perdure.runner.assembly
import perdure.runner.history
from perdure import runner
from perdure.population import load_study
from perdure.records.registry import RunOpened, TickDiscarded
from perdure.runner.config import RunConfig
from perdure.runner.history import History
from perdure.trace.reader import RunReader

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("PERDURE_CRASH") == "full"
RACES = 1_200 if FULL else 54
RUN_RACES = 20 if FULL else 2
RUNS = 6


def race(*arguments: str) -> dict[str, Any]:
    """Race in a process of its own, which never has a database open when it forks."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.crash.lock_racer", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=3_600,
    )
    assert ended.returncode == 0, ended.stderr
    counts: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    counts["said"] = ended.stderr
    return counts


@pytest.mark.timeout(3_600 if FULL else 300)
def test_every_race_has_one_winner(record_property) -> None:
    """One winner each, under an epoch of its own; the losers are told who; a stale write fails."""
    counts = race("--races", str(RACES))
    named = ", ".join(f"{name}: {counts[name]}" for name in ("races", "won", "lost", "kills"))
    tell(f"{named}, stale writers refused: {counts['stale']}, wrong: {counts['wrong']}")
    record_property("races", counts["races"])
    assert counts["wrong"] == 0, counts["said"]
    assert counts["races"] == RACES
    assert counts["kills"] == RACES // 3
    assert counts["stale"] == RACES // 6
    # Every race has a winner, and one in two a holder before it.
    assert counts["won"] == RACES + RACES // 2
    assert counts["lost"] >= 3 * RACES
    assert counts["misnamed"] == 0
    # A loser that comes in the instant between lock and note is told of nobody.
    assert counts["unnamed"] <= counts["lost"] // 20


@pytest.mark.parametrize("plant", ["no-lock", "shared-lock", "no-fence", "same-epoch"])
def test_the_races_catch_a_planted_bug(plant: str) -> None:
    """Control: a lock that locks nobody out, a fence that is open, and an epoch used twice."""
    assert race("--races", "12", "--plant", plant)["wrong"] > 0


class Gated(GoldenServer):
    """An endpoint that says at once that it is there, and whose replies can be held."""

    def shut(self, let: int) -> AbstractContextManager[Gate]:
        """Hold the replies to all but the next so many calls."""
        return gate(self, let, beside=self.fault)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Lay out a study with a world and agent of its own."""
    copy_studies(STUDIES, tmp_path)
    return tmp_path


@pytest.fixture
def server(place: Path) -> Iterator[Gated]:
    """Serve that study."""
    with Gated(place) as running:
        running.serve(place / "hall" / "study.yaml")
        yield running


def begin(place: Path, out: Path) -> subprocess.Popen[str]:
    """Start a run, or go on with it."""
    return start(["run", "hall/study.yaml", "--out", out, "--quiet"], cwd=place)


class Whole(NamedTuple):
    """What comes of the run that is left alone, and how many calls it makes."""

    digests: list[str]
    calls: int


def digests(place: Path, out: Path) -> list[str]:
    """Verify a run and give the digest of each world."""
    status, document = said_by(place, "verify", str(out))
    assert status == 0, document
    return [world["digest"] for world in document["worlds"]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Make the run that is left alone."""
    place = tmp_path_factory.mktemp("alone")
    copy_studies(STUDIES, place)
    with Gated(place) as server:
        server.serve(place / "hall" / "study.yaml")
        alone = begin(place, place / "run")
        assert alone.wait(100) == 0, alone.communicate()
        alone.communicate()
        return Whole(digests(place, place / "run"), server.calls)


@pytest.mark.timeout(1_800 if FULL else 300)
def test_of_many_commands_one_runs(place: Path, server: Gated, whole: Whole) -> None:
    """Of `perdure run`s that start at once, one runs; the others end with 73 and name it."""
    calls = whole.calls
    for number in range(RUN_RACES):
        out = place / f"run{number}"
        governors = 1
        if number % 2:
            # The folder holds what a killed run left, its lock file and note included.
            with server.shut(calls // 2) as shut:
                killed = begin(place, out)
                _when_held(shut, killed)
                killed.kill()
                killed.communicate()
            governors = 2
        before = server.calls
        # No run comes to its end before the others have been turned away.
        with server.shut(0) as shut:
            racing = [begin(place, out) for _ in range(RUNS)]
            while sum(process.poll() is None for process in racing) > 1:
                time.sleep(0.02)  # noqa: TID251 - real processes are waited for
            shut.open()
            said = [process.communicate(timeout=100) for process in racing]
        ended = [process.returncode for process in racing]
        assert sorted(ended) == [0] + [73] * (RUNS - 1), said
        winner = racing[ended.index(0)]
        for status, (_, errors) in zip(ended, said, strict=True):
            assert status == 0 or re.search(rf"process {winner.pid} on ", errors), errors
        assert server.calls - before <= calls
        assert digests(place, out) == whole.digests
        with RunReader.open(out) as reader:
            opened = [row.epoch for row in reader.log if isinstance(row, RunOpened)]
        assert opened == list(range(1, governors + 1))
    tell(f"races of {RUNS} commands: {RUN_RACES}, each with one that ran")


def _when_held(shut: Gate, process: subprocess.Popen[str]) -> None:
    wait_until(lambda: shut.held > 0, process)
    assert process.poll() is None, process.communicate()


def _pause(shut: Gate, process: subprocess.Popen[str]) -> None:
    """Ask a run to stop, and let go on what it has open once it knows."""
    _when_held(shut, process)
    process.send_signal(signal.SIGINT)
    wait_until(lambda: has_taken(process, signal.SIGINT), process)
    shut.open()


@pytest.mark.parametrize("end", ["killed", "paused", "completed"])
@pytest.mark.parametrize("begun", [True, False])
def test_what_happens_between_looking_and_holding_is_seen(
    place: Path,
    server: Gated,
    whole: Whole,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
    *,
    begun: bool,
) -> None:
    """Who looked at a folder before another had its turn there sees what became of it."""
    out = place / "run"
    half = 40
    if begun:
        with server.shut(half) as shut:
            first = begin(place, out)
            _pause(shut, first)
            said = first.communicate(timeout=100)
        assert first.returncode == 75, said
    real = perdure.runner.history.look_back

    def late(config: RunConfig, *, now_s: float) -> History:
        found = real(config, now_s=now_s)
        with server.shut(half // 2) as shut:
            other = begin(place, out)
            if end == "killed":
                _when_held(shut, other)
                other.kill()
            elif end == "paused":
                _pause(shut, other)
            else:
                shut.open()
            said = other.communicate(timeout=100)
        assert other.returncode == {"killed": -9, "paused": 75, "completed": 0}[end], said
        return found

    monkeypatch.setattr(perdure.runner.assembly, "look_back", late)
    loaded = load_study(place / "hall" / "study.yaml")
    config = RunConfig(
        study=loaded.study,
        population=loaded.population,
        held_out=loaded.held_out,
        study_path=str(place / "hall" / "study.yaml"),
        out=str(out),
    )
    assert runner.run(config).exit_status == 0
    with RunReader.open(out) as reader:
        lost = {row.epoch for row in reader.log if isinstance(row, TickDiscarded)}
        opened = [row.epoch for row in reader.log if isinstance(row, RunOpened)]
    assert lost == ({1 + begun} if end == "killed" else set())
    assert opened == list(range(1, 2 + begun + (end != "completed")))
    assert digests(place, out) == whole.digests
