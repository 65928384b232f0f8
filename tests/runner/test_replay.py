"""A record is driven again without a model call, and the first difference is named."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.runner.planted import PLANTED, Planted
from tests.support.golden import (
    STUDIES,
    GoldenServer,
    copy_studies,
    moved_src,
    run_folder,
    start,
)
from tests.support.sizes import some

from perdure.records.events import Cost, Event
from perdure.runner import respondents
from perdure.runner.divergence import diverged
from perdure.runner.replay import replay
from perdure.trace.reader import RunReader

RUNS = ("survey", "hall")
SHOWN = ("channel of a campaign", "words for memories", "chair who comes late", "score of silence")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record two runs: of our own world and agent, and of a user's own."""
    place = tmp_path_factory.mktemp("replay")
    copy_studies(STUDIES, place)
    with GoldenServer(place) as server:
        for run in RUNS:
            study = place / run / "study.yaml"
            server.serve(study)
            process = start(["run", study, "--out", run_folder(place, run), "--quiet"], cwd=place)
            said, errors = process.communicate(timeout=100)
            assert process.returncode == 0, said + errors
    return place


def events_of(folder: Path) -> dict[str, list[Event]]:
    """Read the events of every world of a run."""
    with RunReader.open(folder) as reader:
        return {world.world_id: list(reader.events(world.world_id)) for world in reader.worlds}


def replay_with(plant: Planted, place: Path, work: Path, *more: str) -> tuple[int, str]:
    """Replay a run under changed code by the real command; give its status and what it said."""
    command: list[str | Path] = ["replay", run_folder(place, plant.run), *more]
    src = None
    if plant.own:
        shutil.copytree(
            place / plant.run, work, ignore=shutil.ignore_patterns("runs", "__pycache__")
        )
        path = work / plant.file
        text = path.read_text(encoding="utf-8")
        assert text.count(plant.old) == 1
        path.write_text(text.replace(plant.old, plant.new), encoding="utf-8")
        command += ["--study", work / "study.yaml"]
    else:
        src = moved_src(work, (plant.file, plant.old, plant.new))
    process = start(command, cwd=place, src=src)
    said, errors = process.communicate(timeout=100)
    assert said, errors
    return process.returncode, said


@pytest.mark.parametrize("run", RUNS)
def test_a_record_comes_out_the_same(place: Path, run: str, monkeypatch: pytest.MonkeyPatch):
    """The same code makes every event of every world again, byte for byte, with no model."""
    monkeypatch.delattr(respondents, "provider_for")
    replayed = replay(run_folder(place, run))
    assert not replayed.diverged
    assert replayed.causes == ()
    events = events_of(run_folder(place, run))
    assert [world.events for world in replayed.worlds] == [len(one) for one in events.values()]
    assert all(world.ticks == 6 for world in replayed.worlds)


@pytest.mark.parametrize("name", some(PLANTED, 5))
def test_one_changed_constant_is_named(place: Path, tmp_path: Path, name: str):
    """A single constant changed anywhere is found at its first event, with field, old and new.

    No event before it may differ, and no world in which it changes nothing.
    """
    plant = PLANTED[name]
    status, said = replay_with(plant, place, tmp_path / "work", "--json")
    document = json.loads(said)
    assert status == 78, document
    found = {world["world_id"]: world["divergence"] for world in document["worlds"]}
    for world_id, events in events_of(run_folder(place, plant.run)).items():
        expected = next((event for event in events if plant.first(event)), None)
        divergence = found[world_id]
        if plant.exactly:
            assert (expected is None) == (divergence is None), world_id
        if divergence is None:
            continue
        seq = int(divergence["event"].removeprefix(f"{world_id}:"))
        assert divergence["tick"] == events[seq].tick
        if expected is not None:
            assert seq == expected.seq if plant.exactly else seq >= expected.seq, divergence
        _says(divergence, plant.wrong)
    moved = "plugins (hall)" if plant.own else _module(plant.file)
    assert moved in document["causes"][0]
    assert "not deterministic" in document["causes"][1]


def _says(divergence: dict[str, Any], wrong: str) -> None:
    assert re.fullmatch(wrong, divergence["wrong"]), divergence["wrong"]
    kind, field, was, now = (divergence[name] for name in ("kind", "field", "was", "now"))
    assert divergence["wrong"].startswith(f"{kind}: {field} was {was} and is {now}")


def _module(file: str) -> str:
    return "perdure." + file.removesuffix(".py").replace("/", ".")


def test_there_are_twenty_changes_and_more():
    """The planted changes are different ones, in every room that decides, late ones among them."""
    changes = {(plant.file, plant.old, plant.new) for plant in PLANTED.values()}
    assert len(changes) == len(PLANTED) >= 20
    rooms = {plant.file.partition("/")[0] for plant in PLANTED.values()}
    assert rooms >= {"world", "agent", "elicitation", "runner", "base", "hall.py"}


@pytest.mark.parametrize("name", SHOWN)
def test_a_change_is_shown_in_words(place: Path, tmp_path: Path, name: str):
    """As text the command says the event, the field, old and new, and the two possible causes."""
    plant = PLANTED[name]
    status, said = replay_with(plant, place, tmp_path / "work")
    assert status == 78
    flat = " ".join(said.split())
    assert "does not come out the same" in flat
    assert re.search(rf"[0-9a-f]{{12}}:\d+: {plant.wrong}", flat)
    assert "Code that decides the run moved since:" in flat
    assert "the code is not deterministic" in flat


def test_a_world_that_is_not_deterministic_is_told_from_moved_code(place: Path, tmp_path: Path):
    """Where no code moved, the other cause is named: the code goes by something else."""
    study = tmp_path / "hall"
    shutil.copytree(place / "hall", study, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    path = study / "hall.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        "import os\n"
        + text.replace('reason="budget"', "reason=str(os.getpid())").replace(
            "from __future__ import annotations\n", ""
        ),
        encoding="utf-8",
    )
    shutil.copyfile(STUDIES / "hall" / "study.yaml", study / "study.yaml")
    shutil.copyfile(STUDIES / "replies.py", tmp_path / "replies.py")
    with GoldenServer(tmp_path) as server:
        server.serve(study / "study.yaml")
        process = start(["run", study / "study.yaml", "--out", "run", "--quiet"], cwd=tmp_path)
        assert process.wait(100) == 0, process.communicate()
        process.communicate()
    process = start(["replay", "run", "--json"], cwd=tmp_path)
    document = json.loads(process.communicate(timeout=100)[0])
    assert process.returncode == 78
    assert document["worlds"][0]["divergence"]["field"] == "dropped.reason"
    assert len(document["causes"]) == 1
    assert "No code that decides the run moved since" in document["causes"][0]
    assert "not deterministic" in document["causes"][0]


def test_costs_are_not_compared(place: Path):
    """How often a call was tried says nothing about what the code makes."""
    events = next(iter(events_of(run_folder(place, "survey")).values()))
    without = [event for event in events if not isinstance(event.payload, Cost)]
    assert len(without) < len(events)
    nothing: dict[str, bytes] = {}
    assert diverged(events, without, nothing.__getitem__, nothing) is None
    assert diverged(events, without[:-1], nothing.__getitem__, nothing) is not None


def test_a_replay_writes_nothing(place: Path):
    """Every file of the run is as it was."""
    run = run_folder(place, "survey")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    replay(run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
