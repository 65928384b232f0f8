"""`perdure closure` answers for any Python program, by text, by JSON and by exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.closure.conftest import write

from perdure.cli.entry import execute

PROGRAM = {
    "run.py": "from loop import go\n",
    "src/loop.py": "import state\n\n\ndef go():\n    return state.RATE\n",
    "src/state.py": "RATE = 1\n",
    "src/serving/__init__.py": "",
    "src/serving/app.py": "import state\n",
}


class Said(NamedTuple):
    """What a command said."""

    status: int
    out: str
    err: str


@pytest.fixture
def closure(tmp_path: Path, monkeypatch, capsys) -> Callable[..., Said]:
    """Call `perdure closure` in the folder of a small program."""
    write(tmp_path, PROGRAM)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Said:
        status = execute(["closure", *arguments])
        captured = capsys.readouterr()
        return Said(status, captured.out, captured.err)

    return call


def test_list_shows_modules_and_why(closure):
    """Each module stands beside what imports it."""
    said = closure("list", "run.py", "--src", "src")
    assert said.status == 0
    assert "3 modules reached from run" in said.out
    assert "imported by loop, line 1" in said.out
    assert "serving" not in said.out


def test_check_has_a_status_for_each_answer(closure, tmp_path):
    """Safe 0, frozen 1, error 2, unknown 3; frozen before unknown."""
    assert closure("check", "run.py", "serving", "--src", "src").status == 0
    assert closure("check", "run.py", "serving", "state", "--src", "src").status == 1
    missing = closure("check", "run.py", "servng", "--src", "src")
    assert missing.status == 3
    assert "Did you mean serving" in missing.out
    write(tmp_path, {"src/state.py": "def load(x):\n    return __import__(x)\n"})
    said = closure("check", "run.py", "serving", "--src", "src")
    assert said.status == 3
    assert "unknown: treat it as frozen" in said.out
    assert "state, line 2" in said.out
    assert closure("check", "run.py", "serving", "loop", "--src", "src").status == 1
    declared = closure("check", "run.py", "serving", "--src", "src", "--registry", "state=")
    assert declared.status == 0


def test_why_shows_the_way(closure):
    """Every import from the entry on is shown, and also as data."""
    said = closure("why", "run.py", "state", "--src", "src")
    assert said.status == 1
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == ["run", "loop", "state"]
    told = json.loads(closure("why", "run.py", "state", "--src", "src", "--json").out)
    assert [edge["imported"] for edge in told["verdicts"][0]["way"]] == ["run", "loop", "state"]


def test_verify_compares_with_what_was_saved(closure, tmp_path, monkeypatch):
    """Nothing moved, 0; a comment, 0; a constant, 78 with its diff. From any folder."""
    saved = tmp_path / "closure.json"
    saved.write_text(closure("list", "run.py", "--src", "src", "--json").out)
    monkeypatch.chdir("/")
    same = closure("verify", str(saved))
    assert (same.status, same.out.strip()) == (0, "Nothing moved.")
    write(tmp_path, {"src/state.py": "RATE = 1  # per day\n"})
    assert closure("verify", str(saved)).status == 0
    write(tmp_path, {"src/state.py": "RATE = 2  # per day\n"})
    moved = closure("verify", str(saved))
    assert moved.status == 78
    assert "+RATE = 2" in moved.out
    told = json.loads(closure("verify", str(saved), "--json").out)
    assert [found["name"] for found in told["refusing"]] == ["state"]


def test_what_a_process_loaded_is_read_from_its_own_account(closure, tmp_path):
    """`python -v` writes it, import_module included; an empty account is refused."""
    account = tmp_path / "account.txt"
    account.write_text(
        "import 'zipimport' # <class '_frozen_importlib.FrozenImporter'>\n"
        "# trying /src/serving/app.py\n"
        "import 'serving.app' # <_frozen_importlib_external.SourceFileLoader object at 0x7f>\n"
    )
    said = closure("why", "run.py", "serving", "--src", "src", "--loaded", str(account))
    assert said.status == 1
    assert "a process of this program loaded it" in said.out
    account.write_text("...\n")
    assert closure("list", "run.py", "--src", "src", "--loaded", str(account)).status == 2


def test_registries_and_data_are_declared(closure, tmp_path):
    """A registry with what it names, or with its own strings; data files by a pattern."""
    write(tmp_path, {"src/state.py": "NAMES = ['serving.app']\n", "prompts/ask.txt": "Who?"})
    options = ("--src", "src", "--registry", "state", "--data", "prompts/*.txt")
    said = closure("check", "run.py", "serving.app", "prompts/ask.txt", *options, "--json")
    found = json.loads(said.out)["verdicts"]
    assert [one["standing"] for one in found] == ["frozen", "frozen"]
    said = closure(
        "check", "run.py", "serving.app", "--src", "src", "--registry", "state=serving.*"
    )
    assert (said.status, "declared to be imported by state" in said.out) == (1, True)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 9}', "\udcff", "[" * 10_000])
def test_a_file_that_is_no_closure_is_refused(closure, tmp_path, text):
    """Whatever the file holds, the error says what should be in it."""
    saved = tmp_path / "closure.json"
    saved.write_bytes(text.encode(errors="surrogateescape"))
    said = closure("verify", str(saved))
    assert said.status == 2
    assert "list ... --json" in said.err


def test_what_a_source_says_drives_no_terminal(closure, tmp_path):
    """Escape sequences in a diff are shown, not sent."""
    saved = tmp_path / "closure.json"
    saved.write_text(closure("list", "run.py", "--src", "src", "--json").out)
    write(tmp_path, {"src/state.py": "RATE = '\x1b[2J'\n"})
    moved = closure("verify", str(saved))
    assert "\x1b" not in moved.out
    assert r"\x1b[2J" in moved.out


@pytest.mark.parametrize("command", [(), ("list",), ("check",), ("why",), ("verify",)])
def test_every_help_page_has_an_example_and_fits(closure, command, monkeypatch):
    """Each page shows how the command is called, names --json and fits a small terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    said = closure(*command, "--help")
    assert said.status == 0
    assert f"  perdure closure {' '.join(command)}" in said.out
    assert "Example:" in said.out
    assert "--json" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_no_command_shows_the_page(closure):
    """Called without anything, it shows its help page and ends with the usage status."""
    said = closure()
    assert said.status == 2
    assert "Example:" in said.err


def test_a_declaration_must_say_of_what(closure):
    """`--registry` without a module says how it is written."""
    said = closure("list", "run.py", "--registry", "=nothing")
    assert said.status == 2
    assert "--registry module=name,name" in said.err


def test_verify_tells_of_what_nobody_can_say(closure, tmp_path):
    """Of what `check` calls unknown, an edit, a new file and a lost one are named, with 3."""
    go = "import importlib, state\n\ndef go(n):\n    importlib.import_module(f'worlds.{n}')\n"
    write(tmp_path, {"src/loop.py": go, "src/worlds/town.py": "A = 1\n"})
    write(tmp_path, {"src/worlds/__init__.py": "", "src/worlds/gone.py": "", "src/apart.py": ""})
    saved = tmp_path / "closure.json"
    saved.write_text(closure("list", "run.py", "--src", "src", "--json").out)
    assert closure("check", "run.py", "worlds.town", "--src", "src").status == 3
    assert closure("check", "run.py", "apart", "--src", "src").status == 0
    write(tmp_path, {"src/worlds/town.py": "A = 1  # one\n", "src/apart.py": "B = 2\n"})
    same = closure("verify", str(saved))
    assert (same.status, same.out.strip()) == (0, "Nothing moved.")
    write(tmp_path, {"src/worlds/town.py": "A = 2\n", "src/worlds/late.py": ""})
    (tmp_path / "src/worlds/gone.py").unlink()
    said = closure("verify", str(saved))
    assert said.status == 3
    assert "worlds.town: moved, and it is unknown whether the program reaches it" in said.out
    assert "+A = 2" in said.out
    assert "worlds.late: is new" in said.out
    assert "worlds.gone: is gone" in said.out
    told = json.loads(closure("verify", str(saved), "--json").out)
    assert [one["name"] for one in told["unknown"]] == ["worlds.gone", "worlds.late", "worlds.town"]
    assert told["refusing"] == []
    write(tmp_path, {"src/state.py": "import worlds.town\n"})
    both = closure("verify", str(saved))
    assert both.status == 78
    assert both.out.count("\nworlds.town: ") + both.out.startswith("worlds.town: ") == 1


def test_a_closure_of_an_older_format_is_saved_again(closure, tmp_path):
    """One that does not hold what is unknown is refused, not called the same."""
    saved = tmp_path / "closure.json"
    told = json.loads(closure("list", "run.py", "--src", "src", "--json").out)
    saved.write_text(json.dumps(told | {"format": 1}))
    said = closure("verify", str(saved))
    assert said.status == 2
    assert "Save it again" in said.err


def test_all_that_is_wrong_with_a_question_is_said_at_once(closure):
    """Every entry, folder, pattern, table and file that is wrong is named, each on its line."""
    said = closure(
        *("check", "nope.py", "state", "--also", "gone.py", "--src", "nosrc", "--src", "src"),
        *("--data", "x/*", "--registry", "=a", "--loaded", "nofile"),
    )
    assert said.status == 2
    lines = said.err.strip().splitlines()
    for text in ("nope.py", "gone.py", "nosrc", "'x/*'", "'=a'", "nofile"):
        assert len([line for line in lines if text in line]) == 1, text
    assert lines[0].endswith("6 things are wrong:")
    declared = closure(
        *("check", "run.py", "state", "--src", "src", "--registry", "nosuch="),
        *("--registry", "loop=gone", "--registry", "other"),
    )
    assert declared.status == 2
    assert "3 things are wrong:" in declared.err
    for name in ("'nosuch'", "'gone'", "'other'"):
        assert name in declared.err
    alone = closure("check", "run.py", "state", "--src", "nosrc")
    assert (alone.status, "things are wrong" in alone.err) == (2, False)
