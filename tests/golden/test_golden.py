"""Runs that an earlier version recorded are read, verified, driven again and continued for ever.

What is asked of a set: every figure that was given of its runs on the day they were recorded is
given today; every digest is the same; with the world and agent frozen beside it, every event is
made again, byte for byte; and a run that was left midway comes to the end it would have had.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from tests.support.golden import (
    EXPECTED,
    READING,
    RECORDED,
    ROOT,
    STUDY_OF,
    GoldenServer,
    drive_figures,
    drive_folder,
    expected,
    figures,
    missing,
    moved_src,
    run_folder,
    said_by,
    sets,
    sha256,
    start,
    unpack,
)
from tests.support.sizes import some

from perdure.agent import AGENT_VERSION
from perdure.records.drive import DRIVE_KIND_OF
from perdure.records.events import KIND_OF, TYPE_OF
from perdure.records.outcome import TurnFailureCause, UnscorableCause
from perdure.records.registry import LOG_KIND_OF, LOG_TYPE_OF, RunForced, WorldDiverged
from perdure.runner import respondents
from perdure.trace.drive_file import DRIVE_NAME
from perdure.trace.drive_reader import DriveReader
from perdure.trace.reader import RunReader
from perdure.trace.schema import FORMAT

HOW = "PYTHONPATH=. python tools/record_golden.py"
SETS = sets()
RUNS = [(golden, run) for golden in SETS for run in expected(golden)["runs"]]
DRIVEN = [(golden, run) for golden in SETS for run in expected(golden).get("drives", ())]
# The sets that have a world of a user's own, for the controls.
WITH_HALL = [golden for golden, run in RUNS if run == "hall"]
LEFT = [(golden, run) for golden, run in RUNS if run in {"paused", "interrupted"}]
# A change of code that decides a run and does nothing; of a module that is named before any other.
HARMLESS = ("agent/__init__.py", "__all__ = [", "_NOTHING = 0\n\n__all__ = [")


def named(cases: list[tuple[Path, str]]) -> pytest.MarkDecorator:
    """Run a test once for each run of each set."""
    return pytest.mark.parametrize(
        ("golden", "run"), cases, ids=[f"{golden.name}/{run}" for golden, run in cases]
    )


each_set = pytest.mark.parametrize("golden", SETS, ids=lambda golden: golden.name)
each_with_hall = pytest.mark.parametrize("golden", WITH_HALL, ids=lambda golden: golden.name)


@pytest.fixture
def place(golden: Path, tmp_path: Path) -> Path:
    """Lay a set out in a folder of the test's own; nothing ever works on the set itself."""
    unpack(golden, tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    """Hash every file in a folder, except what an export wrote and SQLite's shared memory."""
    return {
        str(path.relative_to(folder)): sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "export" not in path.parts and not path.name.endswith("-shm")
    }


def agent_of(place: Path, run: str) -> tuple[bool, str, bool]:
    """Say whether a run has the product's own agent, of which version, and if it diverged."""
    with RunReader.open(run_folder(place, run)) as reader:
        header = reader.header(reader.worlds[0].world_id)
        diverged = any(isinstance(row, WorldDiverged) for row in reader.log)
        return header.agent.agent.startswith("perdure."), reader.entry.versions["agent"], diverged


def test_there_is_a_set_of_this_version() -> None:
    """Whoever moves the format or the agent's version records what later versions must read."""
    versions = {(expected(golden)["format"], expected(golden)["agent"]) for golden in SETS}
    assert (FORMAT, AGENT_VERSION) in versions, f"Record a new set and commit it: {HOW}"


def test_the_sets_hold_everything_that_a_record_can_say(tmp_path: Path) -> None:
    """Every kind of event, of line and of log row, every way in which a turn or score can fail."""
    found: set[str] = set()
    for golden in SETS:
        place = tmp_path / golden.name
        unpack(golden, place)
        for run in expected(golden)["runs"]:
            with RunReader.open(run_folder(place, run)) as reader:
                found |= {LOG_KIND_OF[type(row)] for row in reader.log}
                for world in reader.worlds:
                    for event in reader.events(world.world_id):
                        found.add(KIND_OF[type(event.payload)])
                        found.add(str(getattr(event.payload, "cause", "")))
                        found.add(str(getattr(event.payload, "unscorable", "")))
        for drive in expected(golden).get("drives", ()):
            with DriveReader.open(drive_folder(place, drive)) as ledger:
                found |= {DRIVE_KIND_OF[type(stored.line)] for stored in ledger.lines()}
    wanted = {*TYPE_OF, *LOG_TYPE_OF, *TurnFailureCause, *UnscorableCause}
    assert wanted <= found, f"{wanted - found}: put them into the studies and record a set: {HOW}"


@each_set
def test_a_golden_set_is_never_changed(golden: Path) -> None:
    """Its files are those that were recorded, byte for byte, and there are no others."""
    pinned = expected(golden)["files"]
    found = {
        str(path.relative_to(golden)): sha256(path)
        for path in sorted(golden.rglob("*"))
        if path.is_file() and path.name != EXPECTED and "__pycache__" not in path.parts
    }
    assert found == pinned


@named(RUNS)
def test_a_golden_run_is_read_as_it_was(golden: Path, run: str, place: Path) -> None:
    """Every command that reads gives every figure it gave then, and changes nothing."""
    folder = run_folder(place, run)
    before = contents(folder)
    pinned = expected(golden)["runs"][run]
    found = figures(place, run, READING)
    for command in pinned.keys() - {"replay"}:
        assert not missing(pinned[command], found[command]), command
    assert pinned["verify"]["says"]["sound"] is True
    assert contents(folder) == before


@named(DRIVEN)
def test_a_golden_drive_is_read_as_it_was(golden: Path, run: str, place: Path) -> None:
    """Each line of a drive's ledger says what it said then, and nothing is changed by reading."""
    before = contents(drive_folder(place, run))
    pinned = expected(golden)["drives"][run]
    assert not missing(pinned, drive_figures(place, run))
    assert pinned["verify"]["says"]["sound"] is True
    assert contents(drive_folder(place, run)) == before


@named(DRIVEN[:1])
def test_a_damaged_golden_drive_is_found(golden: Path, run: str, place: Path) -> None:
    """The control: a ledger of which one line was changed is not sound, and the line is named."""
    del golden
    connection = apsw.Connection(str(drive_folder(place, run) / DRIVE_NAME))
    changed = "CAST(replace(payload, 'run', 'RUN') AS BLOB)"
    connection.execute(f"UPDATE lines SET payload = {changed} WHERE seq = 3")
    assert connection.total_changes() > 0
    connection.close()
    folder = str(drive_folder(place, run).relative_to(place))
    status, document = said_by(place, "verify", folder)
    assert status == 74
    assert document["where"].endswith("line 3")


@named(RUNS)
def test_a_golden_run_fits_the_page_on_the_format(golden: Path, run: str, place: Path) -> None:
    """The script of the page, which knows nothing of Perdure, recomputes every hash of it."""
    folder = run_folder(place, run)
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "format_check.py"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@named(RUNS)
def test_a_golden_run_comes_out_the_same(
    golden: Path, run: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its world and agent make every event again, with no model; our own agent in its version."""
    ours, version, forced = agent_of(place, run)
    if ours and version != str(AGENT_VERSION):
        pytest.skip(f"recorded with version {version} of the persona agent")
    monkeypatch.delattr(respondents, "provider_for")
    status, document = said_by(place, "replay", str(run_folder(place, run).relative_to(place)))
    hint = (
        "The persona agent does something else than it did: raise AGENT_VERSION in "
        f"perdure/agent/persona.py and record a new set: {HOW}"
        if ours
        else "A record that an earlier version made does not come out the same any more."
    )
    # A world that was forced past its own code is no longer what it was before: that is told.
    assert status == (78 if forced else 0), f"{hint}\n{json.dumps(document, indent=1)}"
    assert not missing(expected(golden)["runs"][run]["replay"], {"exit": status, "says": document})
    for world in document["worlds"]:
        assert world["ticks"]
        assert world["divergence"] is None or world["divergence"]["forced"] == ["plugins"]
    # The tools of the office write into a book; nothing is done outside again.
    assert not (place / "book.txt").exists()


@named(some(LEFT, 2))
def test_a_golden_run_that_was_left_midway_goes_on(golden: Path, run: str, place: Path) -> None:
    """Under another engine it is refused; forced past it, it ends in the digests of the whole."""
    folder, src = run_folder(place, run), moved_src(place / "src", HARMLESS)
    whole = expected(golden)["runs"]["hall"]["verify"]["says"]["worlds"]
    before = contents(folder)
    with GoldenServer(place) as server:
        server.serve(place / STUDY_OF[run] / "study.yaml")
        resume: list[str | Path] = ["resume", folder.relative_to(place), "--quiet", "--json"]
        refused = start(resume, cwd=place, src=src)
        said, errors = refused.communicate(timeout=100)
        assert refused.returncode == 78, said + errors
        assert "engine" in errors + said
        assert "perdure.agent" in errors + said
        assert server.calls == 0
        assert contents(folder) == before
        force = ["--force", "engine", "--force", "python"]
        forced = start([*resume, *force], cwd=place, src=src)
        said, errors = forced.communicate(timeout=100)
        assert forced.returncode == 0, errors
        assert server.calls > 0
    digests = {world["world_id"]: world["digest"] for world in whole}
    result = json.loads(said)["result"]
    assert {world["world_id"]: world["digest"] for world in result["worlds"]} == digests
    status, verified = said_by(place, "verify", str(folder.relative_to(place)))
    assert (status, verified["sound"]) == (0, True)
    with RunReader.open(folder) as reader:
        forced_rows = [row for row in reader.log if isinstance(row, RunForced)]
    assert "engine" in {one.name for row in forced_rows for one in row.moved}
    status, replayed = said_by(place, "replay", str(folder.relative_to(place)))
    assert status == 0, replayed


@each_with_hall
def test_a_golden_run_of_another_world_comes_out_otherwise(golden: Path, place: Path) -> None:
    """The control of the replay: one constant changed in the frozen world is found."""
    path = place / "hall" / "hall.py"
    text = path.read_text(encoding="utf-8")
    assert 'reason="budget"' in text
    path.write_text(text.replace('reason="budget"', 'reason="full"'), encoding="utf-8")
    status, document = said_by(place, "replay", "hall/runs/hall")
    assert status == 78
    divergences = [world["divergence"] for world in document["worlds"]]
    assert {divergence["field"] for divergence in divergences} == {"dropped.reason"}


DAMAGE = {
    "an event": (
        "worlds",
        "UPDATE events SET payload = CAST(replace(payload, '\"', '''') AS BLOB) WHERE seq = 3",
    ),
    "a hash": ("worlds", "UPDATE events SET hash = zeroblob(32) WHERE seq = 3"),
    "the last tick": ("worlds", "DELETE FROM events WHERE tick = (SELECT max(tick) FROM events)"),
    "a text": ("worlds", "UPDATE blobs SET bytes = x'00' WHERE rowid = 1"),
    "a header": ("worlds", "UPDATE header SET payload = x'7b7d'"),
    "a log row": ("run.db", "UPDATE log SET payload = x'7b7d' WHERE seq = 0"),
    "a person": ("run.db", "DELETE FROM personas WHERE position = 0"),
    "a witness": ("run.db", "UPDATE worlds SET witness = NULL, outcome = NULL"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@each_with_hall
def test_a_damaged_golden_run_is_found(golden: Path, place: Path, damage: str) -> None:
    """The control: a golden run of which anything was changed is not sound, and is named."""
    folder = run_folder(place, "hall")
    where, sql = DAMAGE[damage]
    path = folder / where
    if path.is_dir():
        path = min(path.glob("*.db"))
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    assert connection.total_changes() > 0
    connection.close()
    status, document = said_by(place, "verify", str(folder.relative_to(place)))
    assert status == 74
    assert missing(expected(golden)["runs"]["hall"]["verify"], {"exit": status, "says": document})


def test_a_figure_that_changed_is_found() -> None:
    """The control of the comparison: what is gone or other is listed, what is new is not."""
    pinned = {"a": [1, {"b": 2.5}], "c": None}
    assert missing(pinned, {"a": [1, {"b": 2.5, "new": 1}], "c": None, "new": 2}) == []
    assert missing(pinned, {"a": [1, {"b": 2.6}], "c": None}) == [".a[1].b: 2.5 is now 2.6"]
    assert missing(pinned, {"a": [1, {"b": 2.5}]}) == [".c: gone"]
    assert missing(pinned, {"a": [1], "c": None}) == [".a: [1, {'b': 2.5}] is now [1]"]


def test_the_recorder_writes_over_nothing() -> None:
    """A name that is taken is refused, and the set stays as it is."""
    taken = SETS[-1]
    before = sha256(taken / EXPECTED)
    done = subprocess.run(
        [sys.executable, "tools/record_golden.py", "--name", taken.name],
        cwd=ROOT,
        env={"PYTHONPATH": ".", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "never written over" in done.stderr
    assert sha256(taken / EXPECTED) == before
    assert RECORDED in taken.parents
