"""How many worlds are live at once: as the study says, unless open files do not reach so far."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.sample_study import PEOPLE, SAMPLE
from tests.support.town import town

from perdure.records.registry import WorldsLive
from perdure.records.study import Order
from perdure.runner.live import (
    FILES_BESIDE,
    FILES_PER_WORLD,
    files_for,
    go_together,
    live_allowed,
    live_asked,
)
from perdure.trace.reader import RunReader

CELLS = 30
FILES = FILES_BESIDE + 8 * FILES_PER_WORLD


def test_a_study_says_how_many_or_its_order_does() -> None:
    """Many side by side where they keep step; one where each runs to its end."""
    assert live_asked(town(1).study) == 1_000
    assert live_asked(town(1, order=Order.DEPTH).study) == 1
    assert live_asked(town(1, order=Order.DEPTH, live=7).study) == 7


def test_all_worlds_go_on_together_only_breadth_first_and_if_all_are_live() -> None:
    """In groups and in depth order they do not."""
    assert go_together(town(1).study, 1_000)
    assert not go_together(town(1).study, 1_001)
    assert not go_together(town(1, order=Order.DEPTH, live=9).study, 2)


@pytest.mark.parametrize(("files", "worlds"), [(4_200, 1_000), (1_024, 206), (204, 1), (20, 1)])
def test_open_files_bound_how_many(files: int, worlds: int) -> None:
    """One at least: a run that can open next to nothing says so by itself."""
    assert live_allowed(1_000, files) == worlds
    assert live_allowed(1, files) == 1


def test_the_files_of_so_many_worlds_are_enough_for_them() -> None:
    """Asking for them and dividing them comes out even."""
    assert all(live_allowed(number, files_for(number)) == number for number in range(1, 2_000))


def run_with(files: int, study: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a study in a process that may have so many files open, and no more."""
    command = [sys.executable, "-m", "perdure.cli", "run", str(study), "--out", str(out), *more]
    return subprocess.run(
        ["/bin/sh", "-c", f'ulimit -n {files} && exec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        env={**os.environ},
        timeout=100,
        check=False,
    )


def test_a_process_that_may_open_few_files_runs_by_groups(tmp_path: Path) -> None:
    """It says so, its log names the groups, and the worlds are those of a run in one group."""
    study = tmp_path / "study.yaml"
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    text = SAMPLE.replace("  s2:\n    exposures: {1: [c2], 2: [c1]}\n", "")
    text = text.replace("seeds: [1, 2]", f"seeds: {list(range(CELLS))}")
    study.write_text(text, encoding="utf-8")
    ran = run_with(FILES, study, tmp_path / "few", "--quiet", "--json")
    assert ran.returncode == 0, ran.stderr
    assert f"8 worlds are live at once and not {CELLS}" in ran.stderr
    with RunReader.open(tmp_path / "few") as reader:
        groups = [len(row.worlds) for row in reader.log if isinstance(row, WorldsLive)]
    assert groups == [8, 8, 8, 6]
    whole = run_with(4_096, study, tmp_path / "whole", "--quiet", "--json")
    assert whole.returncode == 0, whole.stderr
    assert "live at once" not in whole.stderr

    def digests(said: str) -> list[Any]:
        return [world["digest"] for world in json.loads(said)["result"]["worlds"]]

    assert digests(ran.stdout) == digests(whole.stdout)
