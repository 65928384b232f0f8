"""A record is driven again without a model call, and the first difference is named."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perdure import runner
from perdure.population import load_study
from perdure.runner.replay import Replayed, diverged, replay
from perdure.study import Overrides

EXAMPLE = Path(__file__).parents[2] / "examples" / "vote96"
SOURCE = Path(runner.__file__).parents[1]

# One constant each, in the rooms that decide: file, what is there, what it becomes.
PLANTED = [
    ("world/survey.py", '"campaign"', '"campaigns"'),
    ("world/survey.py", '"survey"', '"surveys"'),
    ("world/survey.py", '"activation"', '"activations"'),
    ("agent/prompt.py", "What you remember:", "What you recall:"),
    ("agent/prompt.py", "What you are shown now:", "What you see now:"),
    ("agent/prompt.py", "so far, people answered", "so far people answered"),
    ("agent/persona.py", "_EXPOSURE_IMPORTANCE = 0.5", "_EXPOSURE_IMPORTANCE = 0.6"),
    ("agent/persona.py", "_REFLECTION_IMPORTANCE = 0.8", "_REFLECTION_IMPORTANCE = 0.7"),
    ("agent/persona.py", "I saw the message", "I read the message"),
    ("agent/persona.py", "what do you make of it all by now?", "what do you make of it?"),
    ("agent/persona.py", "turns_since_reflection + 1 >=", "turns_since_reflection + 2 >="),
    ("base/chance.py", "perdure-stream-1", "perdure-stream-2"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the example, twelve people, with the baseline."""
    out = tmp_path_factory.mktemp("replay") / "run"
    loaded = load_study(EXAMPLE / "study.yaml", overrides=Overrides(n=12))
    config = runner.RunConfig(
        study=loaded.study,
        population=loaded.population,
        held_out=loaded.held_out,
        study_path=str(EXAMPLE / "study.yaml"),
        out=str(out),
    )
    assert runner.run(config).exit_status == 0
    return out


def test_a_record_comes_out_the_same(run: Path):
    """The same code makes every event of every world again, byte for byte, with no model."""
    replayed = replay(run)
    assert not replayed.diverged
    assert len(replayed.worlds) == 4
    assert all(world.ticks == 5 for world in replayed.worlds)
    assert all(world.events > 50 for world in replayed.worlds)


@pytest.mark.parametrize(("file", "old", "new"), PLANTED)
def test_one_changed_constant_is_named(run: Path, tmp_path: Path, file: str, old: str, new: str):
    """A single constant changed in a world, an agent or a template is found, at its event."""
    shutil.copytree(SOURCE, tmp_path / "perdure", ignore=shutil.ignore_patterns("__pycache__"))
    changed = tmp_path / "perdure" / file
    text = changed.read_text(encoding="utf-8")
    assert old in text, f"{file} does not hold {old}"
    changed.write_text(text.replace(old, new), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "perdure.cli", "replay", str(run)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
    )
    assert done.returncode == 78, done.stdout + done.stderr
    assert re.search(r"[0-9a-f]{12}(:\d+|, tick \d+): ", done.stdout)


def test_costs_are_not_compared(run: Path):
    """How often a call was tried says nothing about what the code makes."""
    from perdure.records.events import Cost  # noqa: PLC0415
    from perdure.trace.reader import RunReader  # noqa: PLC0415

    with RunReader.open(run) as reader:
        world = reader.worlds[0].world_id
        events = list(reader.events(world))
    without = [event for event in events if not isinstance(event.payload, Cost)]
    assert len(without) < len(events)
    assert diverged(world, events, without) is None
    assert diverged(world, events, without[:-1]) is not None


def test_a_replay_writes_nothing(run: Path):
    """Every file of the run is as it was."""
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert isinstance(replay(run), Replayed)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
