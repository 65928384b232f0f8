"""Code of a study may change the working folder: a run, and what is said of it, stay in place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.commands import commands
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.base.errors import EXIT_DONE

STUDY = SAMPLE.replace("  s1:\n", "  s1:\n    world: town:Town\n")
TOWN = '''\
"""A town."""

import os

from perdure.world import ChannelWorld


class Town(ChannelWorld):
    """Goes elsewhere."""

    def step(self, tick, *args):
        if tick:
            os.chdir("/")
        return super().step(tick, *args)
'''


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_folder_that_was_named_from_here_is_still_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """P10: whether the world is driven in this process or in another one."""
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "town.py").write_text(TOWN)
    monkeypatch.chdir(tmp_path)
    (ran,) = commands(("run", "study.yaml", "--out", "run", "--json", "--workers", workers))
    (verified,) = commands(("verify", "run"))
    assert ran.status == EXIT_DONE, ran
    assert ran.document["result"]["state"] == "completed"
    assert verified.status == EXIT_DONE
