"""F7: a full disk pauses a run: all that was acknowledged is kept, and it goes on with room."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perdure.base.errors import EXIT_STOPPED

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("PERDURE_CRASH") == "full"
KIB = 1024
# The smallest have no room for the run's birth, the largest for hundreds of ticks.
LIMITS = range(16, 2_048, 4) if FULL else (16, 64, 200, 300, 512, 1_000)
DISKS = range(256, 2_048, 4) if FULL else (256, 320, 420, 640, 1_024, 1_700)

pytestmark = pytest.mark.timeout(600)


@functools.cache
def why_no_mounts() -> str:
    """Say why this machine lets nobody mount a disk, if so."""
    trial = [*_own_mounts(), "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        tried = subprocess.run(trial, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "there is no `unshare` here"
    return tried.stderr.strip()


def _own_mounts() -> list[str]:
    private = ["unshare", "--mount", "--propagation", "private"]
    return private if os.geteuid() == 0 else [*private, "--user", "--map-root-user"]


def fill(kind: str, size: int) -> dict[str, Any]:
    """Fill a disk, or run into a limit, in a process of its own."""
    command = [sys.executable, "-m", "tests.crash.full_disk", kind, str(size)]
    if kind == "disk":
        command = [*_own_mounts(), *command]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def check(told: dict[str, Any]) -> None:
    """Every failure says 75; nothing acknowledged is lost; with room the run goes on, sound."""
    assert told["errors"], "the disk never became full"
    assert set(told["statuses"]) == {EXIT_STOPPED}, told["errors"]
    assert told["kept"], told
    if "found" in told:
        assert told["went_on"]
        assert told["sound"], told["findings"]


@pytest.mark.parametrize("size", LIMITS)
def test_a_limit_on_files_pauses_a_run(size: int) -> None:
    """A file that may not grow is a full disk: exit 75, kept, and on with more room."""
    check(fill("limit", size * KIB))


@pytest.mark.parametrize("size", DISKS)
def test_a_full_disk_pauses_a_run(size: int) -> None:
    """A disk without room: exit 75, kept, on with more room; and the run log says why."""
    if why_no_mounts():
        pytest.skip(f"no disk of its own can be mounted: {why_no_mounts()}")
    told = fill("disk", size * KIB)
    check(told)
    if told["acked"] >= 0:
        assert told["paused"], "the room put aside was there for the run's own last word"
