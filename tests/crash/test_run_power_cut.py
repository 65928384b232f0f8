"""P1, P3, P4 under power cuts of a whole run: whatever its disk kept, it goes on and ends the same.

The unsynced of every file is lost, kept or torn by itself, in any combination; what was promised
by then must be there.
"""

from __future__ import annotations

import os

import pytest
from tests.crash.telling import tell
from tests.crash.test_every_kill import program

FULL = os.environ.get("PERDURE_CRASH") == "full"

pytestmark = pytest.mark.timeout(7_200 if FULL else 300)


def test_a_run_whose_power_is_cut_ends_the_same() -> None:
    """P1, P3, P4: nothing durable but what was synced, at every moment; and files by chance."""
    asked = ("--drawn", "400") if FULL else ("--bare-stride", "80", "--drawn", "5")
    counts = program("cuts", *asked)
    tell(f"power cuts of whole runs: {counts['states']} states, lost: {counts['lost']}")
    assert counts["lost"] == 0, counts["said"]
    assert counts["states"] >= (4_000 if FULL else 50)
    assert len(counts["by_shape"]) >= 9


def test_every_planted_fault_is_found() -> None:
    """Control: a file that is not synced, a name, a promise before its time: each is found."""
    found = program("cuts", "--plants")
    said = found.pop("said")
    tell(f"planted: {len(found)}, found after so many power cuts: {found}")
    assert len(found) >= 8
    assert min(found.values()) >= 0, said
