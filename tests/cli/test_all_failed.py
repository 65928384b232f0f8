"""A run in which every world fails is a result like any other, and shows itself as one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.commands import commands
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.base.errors import EXIT_DONE, EXIT_SOME_FAILED

STUDY = SAMPLE.replace("  s1:\n", "  s1:\n    world: town:Town\n").replace(
    "  s2:\n", "  s2:\n    world: town:Town\n"
)
TOWN = '''\
"""A town."""

import os

from perdure.world import ChannelWorld


class Town(ChannelWorld):
    """Fails."""

    def step(self, tick, *args):
        if tick == int(os.environ["FAIL_AT"]):
            raise LookupError("no such street")
        return super().step(tick, *args)
'''


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("tick", [0, 2])
def test_a_run_in_which_every_world_fails_says_so_of_each(
    tmp_path: Path, tick: int, workers: str
) -> None:
    """P10: exit 1, each world with class, message and tick; report and verify read it."""
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "town.py").write_text(TOWN)
    run = ("run", tmp_path / "study.yaml", "--out", tmp_path / "run", "--quiet", "--json")
    ran, report, verified = commands(
        (*run, "--workers", workers),
        ("report", tmp_path / "run"),
        ("verify", tmp_path / "run"),
        FAIL_AT=str(tick),
    )
    assert ran.status == EXIT_SOME_FAILED, ran
    result = ran.document["result"]
    worlds = result["worlds"]
    assert len(worlds) == 4
    for world in worlds:
        assert (world["state"], world["tick"]) == ("failed", tick - 1)
        assert "LookupError: no such street" in world["cause"]
        assert f"tick {tick}" in world["cause"]
    assert "4 of 4 worlds failed" in result["cause"]
    assert report.status == verified.status == EXIT_DONE
    assert "no such street" in report.out
