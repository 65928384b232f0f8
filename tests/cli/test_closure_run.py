"""`perdure closure` of a study and of its run: what decides it, what it loaded, and what moved."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
import pytest
from tests.support.commands import commands
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.base.errors import EXIT_DONE, EXIT_MOVED, EXIT_USAGE
from perdure.cli.entry import execute
from perdure.closure.running import Loaded, loaded_now, moved_since
from perdure.records.fingerprint import Fingerprint
from perdure.runner.loaded_log import LOADED_NAME, LoadedLog, LoadedRow, read_loaded

STUDY = SAMPLE.replace("  s1:\n", "  s1:\n    world: town:Town\n") + "files: [ask.txt]\n"
TOWN = """\
import helper
import outside
from perdure.world import ChannelWorld


class Town(ChannelWorld):
    def step(self, tick, turns, plan, answers):
        import late
        return super().step(tick, turns, plan, answers)
"""
FILES = {
    "study/study.yaml": STUDY,
    "study/people.csv": PEOPLE,
    "study/ask.txt": "Who?\n",
    "study/town.py": TOWN,
    "study/helper.py": "SHIFT = 1\n",
    "study/late.py": "SHIFT = 1\n",
    "study/notes.py": "",
    "lib/outside.py": "RATE = 1\n",
}


class Said(NamedTuple):
    """What a command said, as its document, and how it ended."""

    status: int
    document: Any


class Closure(Protocol):
    """Calls `perdure closure ... --json`."""

    def __call__(self, *arguments: object) -> Said:
        """Call it in this process: it loads none of the code that it is asked about."""
        ...


@pytest.fixture
def closure(where: Path, monkeypatch, capsys) -> Closure:
    """Call `perdure closure` where the study's other folder is one that Python looks in."""
    monkeypatch.syspath_prepend(where / "lib")

    def call(*arguments: object) -> Said:
        status = execute(["closure", *map(str, arguments), "--json"])
        out = capsys.readouterr().out
        return Said(status, json.loads(out) if out else None)

    return call


def standings(said: Said) -> dict[str, str]:
    """Give what each name stands for."""
    return {os.path.basename(v["name"]): v["standing"] for v in said.document["verdicts"]}  # noqa: PTH119


def moved(said: Said) -> list[str]:
    """Name what moved and refuses."""
    return [one["name"] for one in said.document["refusing"]]


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a study with a plug-in of its own, which imports from another folder too."""
    folder = tmp_path_factory.mktemp("closure")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (said,) = commands(
        ("run", folder / "study/study.yaml", "--out", folder / "run", "--quiet", "--workers", "1"),
        PYTHONPATH=str(folder / "lib"),
    )
    assert said.status == EXIT_DONE, said
    return folder


def test_a_study_is_its_engine_its_own_code_and_its_data(where: Path, closure: Closure) -> None:
    """What decides is frozen; with an import that nobody can follow, the rest is unknown."""
    names = ("perdure.runner.governor", "town", "helper", "late", "perdure.analysis", "notes")
    paths = [where / "study" / name for name in ("ask.txt", "people.csv", "study.yaml", "notes.py")]
    said = closure("check", where / "study/study.yaml", *names, *paths)
    found = standings(said)
    frozen = {*names[:4], "ask.txt", "people.csv", "study.yaml"}
    assert {name for name, one in found.items() if one == "frozen"} == frozen
    # `outside` is importable, and in no folder of the study.
    assert {name for name, one in found.items() if one == "unknown"} == set(found) - frozen


def test_a_run_has_what_it_really_loaded_as_well(where: Path, closure: Closure) -> None:
    """Governor and worker say what they loaded, at start and end; it joins what the source says."""
    lines = (where / "run" / "logs" / LOADED_NAME).read_text().splitlines()
    rows = [msgspec.json.decode(line, type=LoadedRow) for line in lines]
    assert {(row.process, row.at) for row in rows} == {
        (process, at) for process in ("governor", "worker") for at in ("start", "end")
    }
    loaded = read_loaded(where / "run")
    assert {"town", "helper", "late", "outside", "msgspec"} <= loaded.keys()
    assert "json" not in loaded
    said = closure("why", where / "run", "outside")
    assert standings(said) == {"outside": "frozen"}
    assert said.document["verdicts"][0]["way"][0]["how"] == "loaded"
    # Loaded as well, to show the run; it decides nothing.
    assert "perdure.cli.run" in loaded
    # Somebody answers for the import that could not be followed.
    names = ("perdure.cli.run", "perdure.analysis", "notes")
    said = closure("check", where / "run", *names, "--registry", "town=")
    assert (said.status, set(standings(said).values())) == (EXIT_DONE, {"safe"})


def test_a_run_is_verified_with_everything_that_moved(where: Path, closure: Closure) -> None:
    """Nothing moved, 0; then a plug-in, a data file, a lost helper and what was loaded: 78."""
    assert closure("verify", where / "run").status == EXIT_DONE
    comment = TOWN + "# a comment\n"
    (where / "study/town.py").write_text(comment)
    assert closure("verify", where / "run").status == EXIT_DONE
    changed = {
        "study/helper.py": "SHIFT = 2\n",
        "study/ask.txt": "Whom?\n",
        "lib/outside.py": "RATE = 2\n",
    }
    try:
        for name, text in changed.items():
            (where / name).write_text(text)
        (where / "study/late.py").unlink()
        said = closure("verify", where / "run")
        assert said.status == EXIT_MOVED
        assert sorted(moved(said)) == ["ask.txt", "helper", "late", "module outside"]
        assert "+SHIFT = 2" in next(
            one["diff"] for one in said.document["refusing"] if one["name"] == "helper"
        )
        (where / "study/town.py").unlink()
        (where / "study/ask.txt").unlink()
        said = closure("verify", where / "run")
        assert said.status == EXIT_MOVED
        assert {"town", "ask.txt"} <= set(moved(said))
    finally:
        for name, text in FILES.items():
            (where / name).write_text(text)
    assert closure("verify", where / "run").status == EXIT_DONE


def test_a_folder_that_holds_no_run_is_refused(where: Path, closure: Closure) -> None:
    """Neither a run nor a saved closure is an error, and so is an option that does not fit."""
    for arguments in (
        ("verify", where / "study"),
        ("list", where / "lib"),
        ("list", where / "study/study.yaml", "--src", where / "lib"),
        ("list", where / "study/town.py", "--study", where / "study/study.yaml"),
    ):
        assert closure(*arguments).status == EXIT_USAGE, arguments


def test_a_list_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """A torn line is left out, a later one counts, and no list at all is no error."""
    assert read_loaded(tmp_path) == {}
    log = LoadedLog(tmp_path, "governor")
    log.note("start")
    path = tmp_path / "logs" / LOADED_NAME
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\n" + whole)
    assert read_loaded(tmp_path)["perdure"].path.endswith("__init__.py")
    log.note("end")
    LoadedLog(tmp_path, "worker").note("end")
    last = msgspec.json.decode(path.read_bytes().splitlines()[-1], type=LoadedRow)
    assert (last.at, last.modules) == ("end", {})
    # What was first seen is what counts, whatever was loaded since.
    changed = {"perdure": Loaded(path="/elsewhere.py", sha256="0" * 64)}
    row = LoadedRow(process="worker", at="end", python="3", modules=changed)
    path.write_bytes(path.read_bytes() + msgspec.json.encode(row))
    assert read_loaded(tmp_path)["perdure"].path.endswith("__init__.py")
    # Where nothing can be written, the run goes on.
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    LoadedLog(blocked, "worker").note("start")


def test_what_an_installed_library_is_now_is_a_warning(tmp_path: Path) -> None:
    """A library is told by its version; other code that was loaded refuses."""
    site = tmp_path / "site-packages"
    site.mkdir()
    for file in (site / "library.py", tmp_path / "own.py"):
        file.write_text("A = 1\n")
    loaded = {
        "library": Loaded(path=str(site / "library.py"), sha256="0" * 64),
        "own": Loaded(path=str(tmp_path / "own.py"), sha256="0" * 64),
        "gone": Loaded(path=str(tmp_path / "gone.py"), sha256="0" * 64),
    }
    refusing, warning = moved_since(loaded, Fingerprint(python="3.12"))
    assert [one.name for one in refusing] == ["module gone", "module own"]
    assert [one.name for one in warning] == ["module library"]
    assert "json" not in loaded_now({"json": __import__("json")})
