"""P1, P3 at every instant: a killed journal has every intent and every reply it acknowledged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.crash.telling import tell

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("PERDURE_CRASH") == "full"


def run_killer(*arguments: str) -> dict[str, Any]:
    """Run the killer in a process of its own, which never has a database open when it forks."""
    command = [sys.executable, "-m", "tests.crash.journal_killer", *arguments]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3_600
    )
    assert ended.returncode == 0, ended.stderr
    counts: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    counts["said"] = ended.stderr
    return counts


@pytest.mark.timeout(3_600 if FULL else 300)
def test_a_journal_killed_at_every_boundary_loses_nothing(record_property) -> None:
    """P1, P3: births and every workload of a few operations, killed at every boundary, and again.

    A group is there whole or not at all, what was closed stays closed, and the successor goes on.
    """
    asked = ("--lengths", "3", "--doubles", "2") if FULL else ("--stride", "27")
    counts = run_killer(*asked)
    tell(
        f"kills: {counts['kills']}, second kills: {counts['second_kills']}, lost: {counts['lost']}"
    )
    record_property("kills", counts["kills"] + counts["second_kills"])
    assert counts["lost"] == 0, counts["said"]
    assert counts["kills"] >= (5_000 if FULL else 500)
    assert counts["second_kills"] >= (5_000 if FULL else 100)


@pytest.mark.parametrize("plant", ["early-ack", "one-by-one", "intent-late"])
def test_the_killer_catches_a_planted_bug(plant: str) -> None:
    """Control: an early acknowledgement, a group in pieces, an intent after its call: found out."""
    counts = run_killer("--plant", plant, "--lengths", "1", "--doubles", "0")
    assert counts["kills"] > 100
    assert counts["lost"] > 0
