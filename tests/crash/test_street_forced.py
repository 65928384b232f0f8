"""P6 with all channels: a street that is forced past what moved may be killed on its way.

It ends as one that was forced at the same place and left alone; and its record, made
under two briefs and two agents, is driven again to the end without a call.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.crash.watching_server import WatchingServer
from tests.support.street_study import ANSWERS, write_street

from perdure.base.errors import EXIT_DONE, EXIT_MOVED

FULL = os.environ.get("PERDURE_CRASH") == "full"


def perdure(*words: object, crash_at: str = "") -> subprocess.CompletedProcess[str]:
    """Call the command line in a process of its own, which may be killed at a crash point."""
    ended = subprocess.run(
        [sys.executable, "-m", "perdure.cli", *map(str, words)],
        env={**os.environ, "PERDURE_CRASH_AT": crash_at},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "Traceback" not in ended.stdout + ended.stderr, ended.stderr
    assert ended.returncode == (-signal.SIGKILL if crash_at else ended.returncode), ended
    return ended


def digests(out: Path) -> Any:
    """Give the digests of a run, whose record has to be sound."""
    verified = perdure("verify", out, "--json")
    assert verified.returncode == EXIT_DONE, verified.stdout
    return [world["digest"] for world in json.loads(verified.stdout)["worlds"]]


@pytest.mark.crash
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workers", [0, 2] if FULL else [2])
def test_a_forced_street_that_is_killed_ends_as_one_that_is_left_alone(
    tmp_path: Path, workers: int
) -> None:
    """All that moved is named, each has to be forced, and from then on nothing more is lost."""
    with WatchingServer(answers=ANSWERS) as server:
        study = write_street(tmp_path / "study", server.base_url)
        out, alone = tmp_path / "run", tmp_path / "alone"
        start = ("run", study, "--out", out, "--quiet", "--workers", 0)
        perdure(*start, crash_at="tick.after-append:3")
        text = study.read_text().replace("may build a tram", "may well build a tram")
        study.write_text(text.replace("memories: 2,", "memories: 3,"))
        refused = perdure(*start)
        assert refused.returncode == EXIT_MOVED
        assert "brief (text was" in refused.stderr
        assert "agent (memories_max was 2 and is 3)" in refused.stderr
        shutil.copytree(out, alone)
        force = ("--force", "brief", "--force", "agent", "--quiet", "--workers", workers)
        assert perdure("resume", alone, "--study", study, *force).returncode == EXIT_DONE
        place = "tick.after-append:1" if workers == 0 else "call.settled:30"
        perdure("resume", out, *force, crash_at=place)
        perdure(*start[:-1], workers, crash_at="call.settled:12")
        assert perdure(*start[:-1], workers).returncode == EXIT_DONE
        asked = len(server.asked)
        assert digests(out) == digests(alone)
        assert perdure("replay", out, "--study", study).returncode == EXIT_DONE
        assert "Forced past brief" in perdure("status", out).stdout
        assert len(server.asked) == asked
