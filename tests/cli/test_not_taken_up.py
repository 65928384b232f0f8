"""What a run says of a world that cannot be taken up again is what it knows of its record.

Through the real commands: a run is killed between a tick and the note of it, then a world fails.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.commands import commands, kill_each
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.base.errors import EXIT_DONE, EXIT_SOME_FAILED

STUDY = SAMPLE.replace("  s1:\n", "  s1:\n    world: town:Town\n")
TOWN = """\
import os
from perdure.world import ChannelWorld

def fail(where):
    if os.environ.get("FAIL") == where:
        raise ValueError("no such town")

class Town(ChannelWorld):
    def __init__(self):
        super().__init__()
        fail("made")

    def reset(self, header):
        super().reset(header)
        fail("reset")

    def step(self, tick, turns, plan, answers):
        fail("stepped")
        return super().step(tick, turns, plan, answers)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a study and a run of it that was killed, which no test changes."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "study.yaml").write_text(STUDY)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "town.py").write_text(TOWN)
    appended = {"s1@1": 3, "s1@2": 1, "s2@1": 2}
    kill_each(folder / "study.yaml", folder / "run", appended, point="tick.after-append")
    return folder


@pytest.mark.parametrize("where", ["made", "reset", "stepped"])
def test_a_world_that_fails_at_once_keeps_the_ticks_that_were_told(
    killed: Path, tmp_path: Path, where: str
) -> None:
    """Its record may be a tick ahead of what is noted of it; run and record are sound."""
    place = tmp_path / "study"
    shutil.copytree(killed, place, ignore=shutil.ignore_patterns("__pycache__"))
    folder = place / "run"
    run = ("run", place / "study.yaml", "--out", folder, "--quiet", "--json")
    verify = ("verify", folder, "--json")
    before, failed, status, verified = commands(
        verify, run, ("status", folder, "--json"), verify, FAIL=where
    )
    assert failed.status == EXIT_SOME_FAILED, failed
    assert verified.status == EXIT_DONE, verified.out
    recorded = {world["world_id"]: world["tick"] for world in before.document["worlds"]}
    assert sorted(recorded.values()) == [-1, 0, 1, 2]
    told = [world for world in status.document["worlds"] if world["scenario"] == "s1"]
    assert told
    for world in told:
        assert world["state"] == "failed"
        assert recorded[world["world_id"]] - 1 <= world["tick"] <= recorded[world["world_id"]]
    assert any(world["tick"] >= 0 for world in told)
