"""The fingerprint of a run holds what decides it, and says by name what of that moved."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from tests.closure.conftest import Shelf, write

import perdure
from perdure.base.errors import PluginError, UsageError
from perdure.closure.compare import compare
from perdure.closure.fingerprint import deciding_hash, fingerprint
from perdure.closure.installed import Environment
from perdure.closure.library import Library
from perdure.closure.loaded import unlisted
from perdure.closure.places import Places, Root
from perdure.closure.reached import reached
from perdure.closure.rooms import ENTRIES, STANDS_ON, TRANSPORT, only_reads
from perdure.closure.source import SourceError
from perdure.closure.walk import walk
from perdure.records.fingerprint import Code, Fingerprint

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "examples" / "vote96" / "study.yaml"
_IMPORT = "from __future__ import annotations\nimport perdure.base.added"
PLUGIN = '''\
"""Be polite."""
from helper import WORDS


class Town:
    """You live in a small town."""

    words = WORDS
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a study's folder with a plug-in, its helper and a data file."""
    files = {"town.py": PLUGIN, "helper.py": "WORDS = 3\n", "prompts/ask.txt": "Who?\n"}
    return write(tmp_path / "study", files | {"unused.py": "X = 1\n"})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give a copy of our own source that a test may edit."""
    source = tmp_path / "home"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(perdure.__path__[0], source / "perdure", ignore=ignored)
    return source


@pytest.fixture
def take(folder: Path, home: Path) -> Callable[[], Fingerprint]:
    """Take the fingerprint of the study under the copied source."""
    installed = Environment()
    return lambda: fingerprint(
        folder, ["town:Town"], ["prompts/*.txt"], installed=installed, home=home
    )


def edit(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text in a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_it_holds_what_decides_and_nothing_that_reads(take):
    """Engine, transport, plug-ins with their helpers, data files, versions; nothing that reads."""
    found = take()
    rooms = {name.split(".")[1] for name in found.engine if "." in name}
    expected = {"base", "records", "trace", "study", "population", "world", "agent", "inference"}
    assert expected | {"elicitation", "runner"} <= rooms
    assert not [name for name in found.engine | found.transport if only_reads(name)]
    assert set(found.plugins) == {"town", "helper"}
    assert set(found.files) == {"prompts/ask.txt"}
    assert {"msgspec", "apsw"} <= set(found.distributions)
    assert found.python == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert found.unknown == ()
    assert found.engine["perdure.base.money"].text.startswith('"""')


def test_it_is_a_record_that_comes_back(take):
    """Written as JSON and read again, nothing of it moved."""
    found = take()
    again = msgspec.json.decode(msgspec.json.encode(found), type=Fingerprint)
    assert compare(again, take()).is_same
    assert deciding_hash(again) == deciding_hash(found)


def test_every_module_named_as_transport_is_there(take, home):
    """The list of what only carries bytes has no name that is gone."""
    assert set(take().transport) <= TRANSPORT
    places = Places([Root(home)])
    assert [name for name in TRANSPORT if places.find(name) is None] == []


def test_a_comment_moves_nothing_and_a_constant_moves_its_module(take, home):
    """A comment and a docstring in the engine are not seen; a constant is, in a short diff."""
    before = take()
    path = home / "perdure/runner/quorum.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"""', '"""Once more: ', 1) + "# a comment\n", encoding="utf-8")
    commented = take()
    assert compare(before, commented).is_same
    assert deciding_hash(commented) == deciding_hash(before)
    edit(home / "perdure/base/money.py", "1_000_000_000", "1_000_000_001")
    changed = take()
    moved = compare(before, changed)
    assert [(d.part.value, d.name) for d in moved.refusing] == [("engine", "perdure.base.money")]
    assert "+++ now/perdure.base.money" in moved.refusing[0].diff
    assert "1_000_000_001" in moved.refusing[0].diff
    assert not moved.warning
    assert deciding_hash(changed) != deciding_hash(before)


def test_a_docstring_of_a_plug_in_counts_and_its_comment_does_not(take, folder):
    """What a model may be sent is compared; a comment never is."""
    before = take()
    edit(folder / "helper.py", "WORDS = 3", "WORDS = 3  # or so")
    assert compare(before, take()).is_same
    edit(folder / "town.py", "a small town", "a large town")
    moved = compare(before, take())
    assert [(d.part.value, d.name) for d in moved.refusing] == [("plugins", "town")]
    assert "+    " in moved.refusing[0].diff
    assert "a large town" in moved.refusing[0].diff


def test_a_mended_error_text_of_http_only_warns(take, home):
    """A typo mended in what the transport says is a warning with its diff."""
    before = take()
    edit(
        home / "perdure/inference/http/transport.py",
        "endpoint is open already",
        "endpoint is open, already",
    )
    mended = take()
    moved = compare(before, mended)
    assert not moved.refusing
    assert [d.name for d in moved.warning] == ["perdure.inference.http.transport"]
    assert "is open, already" in moved.warning[0].diff
    assert deciding_hash(mended) == deciding_hash(before)


def test_everything_that_moved_is_named_at_once(take, home, folder):
    """Engine, plug-ins, files, new and lost modules, versions and Python: all in one answer."""
    before = take()
    edit(home / "perdure/base/chance.py", "return", "return  0 or")
    write(home, {"perdure/base/added.py": ""})
    edit(home / "perdure/base/money.py", "from __future__ import annotations", _IMPORT)
    write(folder, {"town.py": PLUGIN.replace("helper", "other"), "other.py": "WORDS = 3\n"})
    write(folder, {"prompts/ask.txt": "Whom?\n", "prompts/more.txt": ""})
    after = msgspec.structs.replace(
        take(), python="3.99", distributions=before.distributions | {"msgspec": "9"}
    )
    moved = compare(before, after)
    assert [(d.part.value, d.name) for d in moved.refusing] == [
        ("engine", "perdure.base.added"),
        ("engine", "perdure.base.chance"),
        ("engine", "perdure.base.money"),
        ("plugins", "helper"),
        ("plugins", "other"),
        ("plugins", "town"),
        ("files", "prompts/ask.txt"),
        ("files", "prompts/more.txt"),
        ("python", "python"),
    ]
    assert [(d.name, d.new) for d in moved.warning] == [("msgspec", "9")]


def test_a_module_that_decides_on_either_side_refuses(take):
    """A module that turned from deciding to carrying, or back, is compared as one that decides."""
    found = take()
    name = "perdure.trace.files"
    code = found.transport[name]
    promoted = msgspec.structs.replace(
        found,
        engine=found.engine | {name: msgspec.structs.replace(code, text="X = 1\n")},
        transport={n: c for n, c in found.transport.items() if n != name},
    )
    for one, other in ((found, promoted), (promoted, found)):
        assert [d.name for d in compare(one, other).refusing] == [name]


def test_what_a_run_reaches_is_found_from_the_texts_as_it_is_from_the_disk(take, home):
    """From the recorded texts alone follows what a walk over the files finds, and nothing else."""
    places = Places([Root(home)])
    starts = [places.find(name) for name in ENTRIES]
    closure = walk(
        [start for start in starts if start is not None],
        places=places,
        library=Library(places, mentioned=frozenset()),
        installed=Environment(),
    )
    found = take()
    assert reached(found) == closure.modules.keys() | set(found.entries)
    assert reached(found) < found.engine.keys() | found.transport.keys()
    assert set(closure.distributions) <= set(STANDS_ON)
    assert set(found.distributions) == set(STANDS_ON)


def test_nothing_of_ours_is_parsed_until_a_text_moved(take, home, monkeypatch):
    """A run that starts, or goes on unchanged, reads its own code and parses none of it."""
    parsed: list[str] = []
    real = ast.parse

    def parse(text: str) -> ast.Module:
        parsed.append(text)
        return real(text)

    monkeypatch.setattr(ast, "parse", parse)
    before = take()
    assert compare(before, take()).is_same
    assert set(parsed) == {code.text for code in before.plugins.values()}
    edit(home / "perdure/base/money.py", "1_000_000_000", "1_000_000_001")
    assert not compare(before, take()).is_same
    assert len(set(parsed)) > 100


def test_a_module_that_no_run_reaches_may_move_and_go(take, home):
    """What lies beside the deciding code and is not reached is kept, and moves nothing."""
    before = take()
    assert "perdure.trace.export" in before.engine
    write(home, {"perdure/trace/export.py": "X = 1\n", "perdure/base/unused.py": "Y = 1\n"})
    (home / "perdure/trace/export_rows.py").unlink()
    assert compare(before, take()).is_same


def test_a_module_that_is_newly_reached_has_moved(take, home):
    """What the deciding code did not reach before and reaches now is named with what reaches it."""
    before = take()
    write(home, {"perdure/trace/export.py": "X = 1\n"})
    edit(
        home / "perdure/base/money.py",
        "from __future__ import annotations",
        "from __future__ import annotations\nimport perdure.trace.export",
    )
    moved = compare(before, take())
    names = ["perdure.base.money", "perdure.trace.export"]
    assert [d.name for d in moved.refusing] == names
    assert [d.name for d in compare(take(), before).refusing] == names


def test_a_module_whose_absence_is_expected_counts_when_it_comes_and_goes(take, home):
    """A guarded import finds another module, or none, though no text that was there moved."""
    edit(
        home / "perdure/base/money.py",
        "from __future__ import annotations",
        "from __future__ import annotations\n"
        "try:\n    import perdure.base.added\nexcept ImportError:\n    pass\n",
    )
    before = take()
    write(home, {"perdure/base/added.py": "X = 1\n"})
    after = take()
    for then, now in ((before, after), (after, before)):
        assert [d.name for d in compare(then, now).refusing] == ["perdure.base.added"]


def test_a_module_that_only_reads_counts_where_a_plug_in_reaches_it(take, folder, home):
    """A plug-in that imports a room that reads records makes that room's code part of the run."""
    edit(folder / "helper.py", "WORDS", "import perdure.analysis.shares\nWORDS")
    before = take()
    assert "perdure.analysis.shares" in before.engine
    assert "perdure.analysis.report" not in before.engine
    path = home / "perdure/analysis/shares.py"
    path.write_text(path.read_text(encoding="utf-8") + "MORE = 1\n", encoding="utf-8")
    assert [d.name for d in compare(before, take()).refusing] == ["perdure.analysis.shares"]


def test_where_a_text_cannot_be_read_every_module_counts(take):
    """A recorded text of another Python may have reached anything: all that moved is named."""
    found = take()
    engine = found.engine | {
        "perdure.base.money": Code(text="print 'hello'\n"),
        "perdure.trace.export": Code(text="X = 1\n"),
    }
    moved = compare(msgspec.structs.replace(found, engine=engine), found)
    assert [d.name for d in moved.refusing] == ["perdure.base.money", "perdure.trace.export"]


def test_a_text_of_another_python_differs(take):
    """A recorded text that this Python cannot parse is a difference, shown as it was written."""
    found = take()
    old = msgspec.structs.replace(found.plugins["helper"], text="print 'hello'\n")
    moved = compare(msgspec.structs.replace(found, plugins=found.plugins | {"helper": old}), found)
    assert "-print 'hello'" in moved.refusing[0].diff


def test_a_diff_shows_the_change_and_not_the_layout(take, folder):
    """Where much layout changed beside one constant, the diff is of the normal form."""
    lines = [f"A{number} = [{number},  {number}]" for number in range(60)]
    write(folder, {"helper.py": "\n".join([*lines, "WORDS = 3\n"])})
    before = take()
    write(folder, {"helper.py": "\n".join(lines).replace(",  ", ", ") + "\nWORDS = 4\n"})
    diff = compare(before, take()).refusing[0].diff
    changed = [line for line in diff.splitlines()[2:] if line[0] in "+-"]
    assert changed == ["-WORDS = 3", "+WORDS = 4"]
    assert "without comments and layout" in diff


def test_a_long_diff_is_cut(take, folder):
    """A diff has a limit, and says what it leaves out."""
    before = take()
    write(folder, {"helper.py": "\n".join(f"A{n} = {n}" for n in range(5_000)) + "\nWORDS = 3\n"})
    diff = compare(before, take()).refusing[0].diff.splitlines()
    assert len(diff) < 500
    assert "more lines" in diff[-1]


def test_a_plug_in_that_is_installed_is_followed(tmp_path, home, monkeypatch):
    """A plug-in among the installed packages is read there, with the rest of its package."""
    site = write(tmp_path / "site", {"towns/__init__.py": "", "towns/big.py": "from . import map"})
    write(site, {"towns/map.py": "SIZE = 3\n", "towns/unused.py": ""})
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    found = fingerprint(tmp_path, ["towns.big:Town"], installed=Shelf(), home=home)
    assert set(found.plugins) == {"towns", "towns.big", "towns.map"}


def test_an_installed_module_hides_a_file_beside_the_study(folder, home):
    """As in a run, a helper's name means what is installed, if something of that name is."""
    found = fingerprint(folder, ["town:Town"], installed=Shelf({"helper": "1.0"}), home=home)
    assert set(found.plugins) == {"town"}
    assert found.distributions["helper"] == "1.0"


def test_what_a_plug_in_imports_unseen_is_said(folder, home):
    """An import of a plug-in that cannot be followed is in the fingerprint, as a sentence."""
    write(folder, {"town.py": "def go(x):\n    __import__(x)\nclass Town: ...\n"})
    found = fingerprint(folder, ["town:Town"], installed=Shelf(), home=home)
    assert found.unknown == ("town, line 2: a module is imported by a name that is computed",)


def test_faults_have_names(folder, home):
    """A missing plug-in, an unreadable one and a pattern without files each say what is wrong."""
    with pytest.raises(PluginError, match="'nowhere' is not there"):
        fingerprint(folder, ["nowhere:Town"], home=home)
    with pytest.raises(PluginError, match=r"'perdure\.world\.missing' is not there"):
        fingerprint(folder, ["perdure.world.missing:Town"], home=home)
    with pytest.raises(UsageError, match="matches no file"):
        fingerprint(folder, ["town:Town"], ["prompt/*"], home=home)
    with pytest.raises(UsageError, match="names everything that there is"):
        fingerprint(folder, ["town:Town"], ["/"], home=home)
    write(folder, {"helper.py": "WORDS = ("})
    with pytest.raises(SourceError, match=r"helper\.py:1"):
        fingerprint(folder, ["town:Town"], home=home)


def _dump(program: str) -> dict[str, Any]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


def test_no_module_that_a_run_loads_is_missing(tmp_path):
    """After a whole run, every module of ours that decides is one that was found in the source."""
    program = (
        "import json, sys\n"
        "from perdure.cli.entry import execute\n"
        f"status = execute(['run', {str(STUDY)!r}, '--out', {str(tmp_path / 'run')!r},\n"
        "    '--n', '2', '--quiet', '--json'])\n"
        "print(json.dumps({'status': status, 'names': sorted(sys.modules)}))"
    )
    ended = _dump(program)
    assert ended["status"] == 0
    found = fingerprint(STUDY.parent, ["perdure.world:ChannelWorld", "perdure.agent:PersonaAgent"])
    loaded = {name: SimpleNamespace(__file__=None) for name in ended["names"]}
    ours = [n for n in loaded if n.startswith("perdure.") and not only_reads(n)]
    assert len(ours) > 50
    assert unlisted(found, cast("dict[str, ModuleType]", loaded)) == ()


def test_a_loaded_module_that_is_not_listed_is_named(take, folder):
    """A module that was loaded in a way that the source does not show is found by its file."""
    loaded = {
        "unused": SimpleNamespace(__file__=str(folder / "unused.py")),
        "town": SimpleNamespace(__file__=str(folder / "town.py")),
        "perdure.world.invented": SimpleNamespace(__file__="x"),
        "perdure.cli": SimpleNamespace(__file__="x"),
        "__main__": SimpleNamespace(
            __file__="x", __spec__=SimpleNamespace(name="perdure.runner.hidden")
        ),
        "json": SimpleNamespace(__file__="/usr/lib/json.py"),
    }
    missing = unlisted(take(), cast("dict[str, ModuleType]", loaded), [folder])
    assert missing == ("perdure.runner.hidden", "perdure.world.invented", "unused")


def test_no_module_that_decides_reads_docstrings(take):
    """Docstrings of ours do not count, which is right only while none of ours is read."""
    for name, code in take().engine.items():
        if ".closure" not in name:
            assert "__doc__" not in code.text, name
            # It reads those of a study's own functions, which do count.
            is_theirs = name == "perdure.agent.drive.tools.function"
            assert is_theirs or "getdoc" not in code.text, name
