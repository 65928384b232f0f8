"""P1, P3, P4 at every instant: a run killed before any change it makes, or twice, ends the same.

Twenty-three shapes of runs, each killed at every crash point and at every boundary between its
stores and the disk; resumes are killed too. What each run promised and asked is kept outside of it,
and its end is held against that.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.crash.telling import tell
from tests.crash.test_run_journal_loss import ON_THE_WAY
from tests.crash.whole.shapes import SHAPES

from perdure.base.crashpoints import POINTS, crashpoint
from perdure.base.errors import InternalError

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("PERDURE_CRASH") == "full"

pytestmark = pytest.mark.timeout(7_200 if FULL else 300)


def program(module: str, *arguments: str) -> dict[str, Any]:
    """Run a program of the suite in a process of its own, which forks with no database open."""
    ended = subprocess.run(
        [sys.executable, "-m", f"tests.crash.whole.{module}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=7_200,
    )
    assert ended.returncode == 0, ended.stderr
    counts: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    counts["said"] = ended.stderr
    return counts


def test_a_run_killed_anywhere_ends_the_same() -> None:
    """P1, P3, P4: every shape, at every crash point and at every boundary; no point is missed.

    Some of the boundaries at quick size, and of the shapes that are much like another.
    """
    alike = [shape.name for shape in SHAPES if shape.is_like_another]
    others = [shape.name for shape in SHAPES if not shape.is_like_another]
    if FULL:
        counts = together(
            program("kills", "--shapes", ",".join(others)),
            program("kills", "--shapes", ",".join(alike), "--stride", "5"),
        )
    else:
        some = ("--stride", "400", "--points", "1")
        counts = program("kills", "--shapes", ",".join(others + alike), *some)
    tell(
        f"kills of whole runs: {counts['kills']} at boundaries, {counts['point_kills']} at crash"
        f" points, lost: {counts['lost']}"
    )
    assert counts["lost"] == 0, counts["said"]
    # Those around a lost journal, of new scores, and of an agent that is driven alone, are killed
    # at in suites of their own.
    elsewhere = {point for point in ON_THE_WAY if point.startswith("journal.")} | {"scores.sealed"}
    elsewhere |= {point for point in POINTS if point.startswith("drive.")}
    assert set(counts["points"]) | elsewhere == set(POINTS)
    assert len(counts["by_shape"]) == len(SHAPES)
    assert counts["kills"] >= (8_000 if FULL else 15)
    assert counts["point_kills"] >= (900 if FULL else 60)
    # Whatever a run can lose was lost somewhere, so that its charge was looked for.
    for kind in ("TickDiscarded", "CallsLost", "CallsOrphaned", "RunForced", "WorldFailed"):
        assert counts["rows"][kind] > 0


def test_a_resume_that_is_killed_too_ends_the_same() -> None:
    """P1, P3, P4: every boundary of the smallest shape and of its resumes; some of larger ones."""
    if FULL:
        smallest = ("--first-stride", "1", "--second-stride", "10")
        others = ("--first-stride", "13", "--second-stride", "13")
        counts = together(
            program("kills", "--doubles", SHAPES[0].name, *smallest),
            program("kills", "--doubles", "orphans,forced,stopped", *others),
        )
    else:
        strides = ("--first-stride", "53", "--second-stride", "41")
        counts = program("kills", "--doubles", f"{SHAPES[0].name},forced", *strides)
    tell(f"second kills of whole runs: {counts['second_kills']}, lost: {counts['lost']}")
    assert counts["lost"] == 0, counts["said"]
    assert counts["second_kills"] >= (6_000 if FULL else 30)


def together(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Add up what two programs counted."""
    return {
        name: {key: value.get(key, 0) + second[name].get(key, 0) for key in value | second[name]}
        if isinstance(value, dict)
        else value + second[name]
        for name, value in first.items()
    }


def test_every_planted_fault_is_found() -> None:
    """Control: each fault that a kill can reveal is found by killing, and by nothing less."""
    found = program("kills", "--plants")
    said = found.pop("said")
    tell(f"planted: {len(found)}, found after so many kills: {found}")
    assert len(found) >= 16
    assert min(found.values()) >= 0, said


def test_every_crash_point_is_declared_and_is_somewhere() -> None:
    """A point that is in no table is refused, and the table has none that is nowhere."""
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "crashpoint":
                (point,) = node.args
                named.add(ast.literal_eval(point))
    assert named == set(POINTS)
    with pytest.raises(InternalError):
        crashpoint("tick.nowhere")
