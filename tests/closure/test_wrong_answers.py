"""Answers that an older tool for this got wrong: each called code safe that was run or unknown."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.closure.conftest import Shelf, write

import perdure.closure
from perdure.base.errors import UsageError
from perdure.closure.check import Standing, check
from perdure.closure.compare import compare
from perdure.closure.listing import listing_of, verify
from perdure.closure.program import Program, Walked, closure_of
from perdure.closure.source import SourceError

OLDEST = (3, 11)


def standing(found: Walked, name: str) -> Standing:
    """Give what a name stands for."""
    return check(found, [name])[0].standing


def test_1_it_is_valid_source_on_the_oldest_python_that_is_supported():
    """Each module of this room parses under the grammar of the oldest supported Python."""
    modules = sorted(Path(perdure.closure.__path__[0]).glob("*.py"))
    assert modules
    for module in modules:
        ast.parse(module.read_text(encoding="utf-8"), feature_version=OLDEST)


def test_2_the_initialiser_of_a_package_is_visited(walked):
    """What only the initialiser of `a` imports is frozen when `a.b` is imported."""
    found = walked(
        {
            "start.py": "import a.b",
            "a/__init__.py": "import hidden",
            "a/b.py": "",
            "hidden.py": "",
        }
    )
    assert standing(found, "hidden") is Standing.FROZEN


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("import importlib\nimportlib.import_module('hidden')", Standing.FROZEN),
        ("__import__('hidden')", Standing.FROZEN),
        ("from importlib.metadata import entry_points as e\ne(group='g')", Standing.FROZEN),
        ("_TABLE = {'x': 'hidden'}\ndef go(k):\n    __import__(_TABLE[k])", Standing.FROZEN),
        ("def go(k):\n    __import__(k)", Standing.UNKNOWN),
        ("TABLE = {'x': 'pack.hidden:Class'}", Standing.UNKNOWN),
    ],
)
def test_3_an_import_by_string_entry_point_or_registry_is_never_safe(walked, said, expected):
    """A module that is named by a string is frozen, or unknown where the string cannot be told."""
    files = {"hidden.py": "", "pack/__init__.py": "", "pack/hidden.py": "", "other.py": ""}
    found = walked(
        files | {"start.py": f"import other\n{said}"},
        installed=Shelf(points={"g": ("hidden:Class",)}),
    )
    name = "pack.hidden" if "pack" in said else "hidden"
    assert standing(found, name) is expected


def test_4_a_helper_beside_the_entry_file_is_followed(walked):
    """What a helper beside the entry imports from another root is frozen."""
    files = {"../scripts/run.py": "import helper", "../scripts/helper.py": "import hidden"}
    found = walked(files | {"hidden.py": ""}, entry="scripts/run.py")
    assert standing(found, "hidden") is Standing.FROZEN


def test_5_an_installed_or_editable_library_is_considered(walked):
    """A library has its version listed; a link to source is a doubt until it is given."""
    files = {"start.py": "import library, other", "other.py": "", "hidden.py": ""}
    listed = walked(files, installed=Shelf({"library": "1.2"}))
    assert listed.closure.distributions == {"library": "1.2"}
    linked = walked(files, installed=Shelf(strays={"library": "/elsewhere/library.py"}))
    assert standing(linked, "hidden") is Standing.UNKNOWN
    write(Path(linked.program.folder), {"lib/library.py": "import hidden"})
    given = walked(files, roots=("src", "lib"))
    assert standing(given, "hidden") is Standing.FROZEN


def test_6_a_file_that_does_not_parse_makes_nothing_safe(walked):
    """What an unreadable module imports is unknown, and it is itself frozen."""
    files = {"start.py": "import broken", "broken.py": "import hidden\ndef (", "hidden.py": ""}
    found = walked(files)
    assert standing(found, "broken") is Standing.FROZEN
    assert standing(found, "hidden") is Standing.UNKNOWN
    with pytest.raises(SourceError, match=r"start\.py:1: This cannot be read as Python"):
        walked({"start.py": "def ("})


def test_7_a_file_in_another_encoding_is_read_as_it_declares(walked, tmp_path):
    """A declared encoding is honoured; an undeclared one is a fault with a name."""
    walked({"start.py": "import latin, wrong", "hidden.py": ""})
    latin = "# -*- coding: latin-1 -*-\nNAME = 'é'\nimport hidden\n"
    (tmp_path / "src/latin.py").write_bytes(latin.encode("latin-1"))
    (tmp_path / "src/wrong.py").write_bytes("NAME = 'é'\n".encode("latin-1"))
    found = walked({})
    assert standing(found, "hidden") is Standing.FROZEN
    assert isinstance(found.library.failed["wrong"], SourceError)


def test_8_a_wrong_root_is_refused(walked, tmp_path):
    """A root that is not there, or holds no module, or is another's, never answers safe."""
    files = {"start.py": "import hidden", "hidden.py": ""}
    for root in ("sources", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(UsageError, match="root"):
            walked(files, roots=(root,))
    write(tmp_path, {"bin/run.py": "import hidden", "others/hidden_too.py": ""})
    program = Program(entries=("bin/run.py",), roots=("others",), folder=str(tmp_path))
    assert standing(closure_of(program, installed=Shelf()), "hidden_too") is Standing.UNKNOWN
    write(tmp_path, {"bin/run.py": "import json"})
    with pytest.raises(UsageError, match="nothing can be concluded"):
        check(closure_of(program, installed=Shelf()), ["hidden_too"])


def test_9_a_misspelt_name_is_never_safe_and_every_other_form_is_found(walked):
    """Misspelt names are unknown; dotted names, single files, packages and paths are answered."""
    found = walked(
        {
            "start.py": "import pack.sub, single",
            "pack/__init__.py": "",
            "pack/sub.py": "",
            "pack/rest.py": "",
            "single.py": "",
        }
    )
    misspelt = check(found, ["singel"])[0]
    assert misspelt.standing is Standing.UNKNOWN
    assert "Did you mean single" in misspelt.said
    for name in ("pack.sub", "single", "pack", "src/single.py", "src/pack", "single:Class"):
        assert standing(found, name) is Standing.FROZEN, name
    assert standing(found, "pack.rest") is Standing.SAFE


def test_10_declared_data_files_count(walked, tmp_path):
    """A declared prompt is frozen, and its change is seen; a wrong pattern is refused."""
    files = {"start.py": "import other", "other.py": "", "prompts/ask.txt": "Who?"}
    found = walked(files, patterns=("src/prompts/*.txt",))
    assert standing(found, "src/prompts/ask.txt") is Standing.FROZEN
    saved = listing_of(found)
    (tmp_path / "src/prompts/ask.txt").write_text("Whom?")
    moved = verify(saved, installed=Shelf())
    assert [difference.name for difference in moved.refusing] == ["src/prompts/ask.txt"]
    with pytest.raises(UsageError, match="matches no file"):
        listing_of(walked(files, patterns=("src/promts/*.txt",)))
    with pytest.raises(UsageError, match="matches no file"):
        check(walked(files, patterns=("src/promts/*.txt",)), ["other"])


def test_11_the_answer_is_kept_and_checked_again(walked, tmp_path):
    """A saved closure says what moved since: a module edited, and one that is new."""
    saved = listing_of(walked({"start.py": "import other", "other.py": "A = 1\n"}))
    assert verify(saved, installed=Shelf()).is_same
    write(tmp_path / "src", {"other.py": "import added\nA = 2\n", "added.py": ""})
    moved = verify(saved, installed=Shelf())
    assert [(d.name, bool(d.old), bool(d.new)) for d in moved.refusing] == [
        ("added", False, True),
        ("other", True, True),
    ]
    assert "-A = 1" in moved.refusing[1].diff
    assert "+A = 2" in moved.refusing[1].diff
    assert compare(saved.fingerprint, saved.fingerprint).is_same
