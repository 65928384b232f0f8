"""What its owner says of a program, and what a process of it loaded, joins what the source says."""

from __future__ import annotations

import pytest
from tests.closure.conftest import Shelf, write

from perdure.base.errors import UsageError
from perdure.closure.check import Standing, check
from perdure.closure.graph import way_to
from perdure.closure.program import Program, closure_of

REGISTRY = {
    "start.py": "import table, outside\noutside.load(table.WORLDS)",
    "table.py": "WORLDS = {'town': 'worlds.town:Town', 'sea': 'sea', 'near': 'beside'}\n",
    "worlds/__init__.py": "",
    "worlds/town.py": "import behind",
    "worlds/other.py": "",
    "behind.py": "",
    "sea.py": "",
    "far.py": "",
}
LIBRARY = Shelf({"outside": "1.0"})


def standings(found, *names: str) -> list[str]:
    """Give what names stand for."""
    return [verdict.standing.value for verdict in check(found, names)]


def test_a_registry_names_what_is_reached(walked):
    """The strings of a declared registry are imports: a module, a class in one, and no others."""
    asked = ("worlds.town", "worlds", "behind", "sea", "worlds.other", "far")
    feared = walked(REGISTRY, installed=LIBRARY)
    assert standings(feared, *asked) == ["unknown"] * 4 + ["safe"] * 2
    found = walked(REGISTRY, installed=LIBRARY, registries=("table",))
    assert standings(found, *asked) == ["frozen"] * 4 + ["safe"] * 2
    assert [edge.how for edge in way_to(found.closure, "behind")] == [
        "entry",
        "import",
        "registry",
        "import",
    ]
    with pytest.raises(UsageError, match="does not reach"):
        walked(REGISTRY, installed=LIBRARY, registries=("tabel",))


def test_a_registry_inside_a_package_names_its_siblings(walked):
    """A string may name what lies beside the module that holds it."""
    files = {
        "start.py": "import pack.table",
        "pack/__init__.py": "",
        "pack/table.py": "NAMES = ['one', 'sub.two']",
        "pack/one.py": "",
        "pack/sub/__init__.py": "",
        "pack/sub/two.py": "",
        "pack/three.py": "",
    }
    asked = ("pack.one", "pack.sub.two", "pack.three")
    assert standings(walked(files), *asked) == ["unknown", "unknown", "safe"]
    found = walked(files, registries=("pack.table",))
    assert standings(found, *asked) == ["frozen", "frozen", "safe"]


def test_a_package_is_declared_with_all_that_is_in_it(walked):
    """`package.*` is the package and every module of it, those in packages within it too."""
    files = {
        "start.py": "import target\ndef go(x):\n    __import__(x)",
        "target.py": "",
        "plugins/__init__.py": "",
        "plugins/one.py": "import behind",
        "plugins/deep/two.py": "",
        "behind.py": "",
        "far.py": "",
    }
    found = walked(files, declared={"start": ("plugins.*",)})
    asked = ("plugins.one", "plugins.deep.two", "plugins", "behind", "far")
    assert standings(found, *asked) == ["frozen"] * 4 + ["safe"]
    with pytest.raises(UsageError, match="not there"):
        walked(files, declared={"start": ("plugnis.*",)})


def test_what_a_process_loaded_joins_what_is_found(walked, tmp_path):
    """A loaded module is frozen with all that it imports, from wherever it was loaded."""
    files = {
        "start.py": "import target",
        "target.py": "",
        "late.py": "import behind",
        "behind.py": "",
        "same.py": "",
        "far.py": "",
    }
    write(tmp_path, {"other/strange.py": "import far_off", "other/same.py": ""})
    loaded = {
        "late": "",
        "strange": str(tmp_path / "other/strange.py"),
        "same": str(tmp_path / "other/same.py"),
        "library.part": "/site/library/part.py",
        "json": "/python/json/__init__.py",
    }
    found = walked(files, loaded=loaded, installed=Shelf({"library": "1.0", "far_off": "2"}))
    asked = ("late", "behind", "strange", "library.part", "library", "far")
    assert standings(found, *asked) == ["frozen"] * 5 + ["safe"]
    assert "same" in found.closure.modules
    assert [edge.how for edge in way_to(found.closure, "behind")] == ["loaded", "import"]


def test_what_python_starts_with_is_frozen(walked):
    """A module that a `.pth` file imports, and Python's own customs, need nobody to import them."""
    files = {
        "start.py": "import target",
        "target.py": "",
        "hook.py": "",
        "usercustomize.py": "",
        "far.py": "",
    }
    found = walked(files, installed=Shelf(startup=("hook", "nothing")))
    assert standings(found, "hook", "usercustomize", "far") == ["frozen", "frozen", "safe"]


def test_a_module_that_hides_another_may_be_imported_by_anybody(walked):
    """With the name of one of Python's modules, or of an installed one, it is never safe."""
    files = {
        "start.py": "import target",
        "target.py": "",
        "queue.py": "import behind",
        "behind.py": "",
        "library/__init__.py": "",
        "library/part.py": "",
        "far.py": "",
    }
    found = walked(files, installed=Shelf({"library": "1.0"}))
    asked = ("queue", "behind", "library.part", "far")
    assert standings(found, *asked) == ["unknown"] * 3 + ["safe"]
    assert "Python's own" in check(found, ["queue"])[0].doubts[0].what


COMMANDS = {
    "'python far.py'": "unknown",
    "'/usr/bin/python3.12 -u far.py --x'": "unknown",
    "'cd x && python -c \"import far\"'": "unknown",
    "['python3', '-c', 'import ' + 'far']": "unknown",
    "['sh', './tools/far.py']": "unknown",
    "'python -m far'": "unknown",
    "['python3', '-m', 'far']": "frozen",
    "'this needs python 3.12 or later'": "safe",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_program_that_is_started_is_never_safe(walked, command):
    """By the path of its file, by code or by name: what another Python runs may be run."""
    files = {"start.py": f"import target, os\nos.x({command})", "target.py": "", "far.py": ""}
    assert standings(walked(files), "far") == [COMMANDS[command]]


def test_who_is_given_a_package_may_import_what_is_in_it(walked):
    """The name of a package, in a string, is a doubt of all its modules; of no others."""
    files = {
        "start.py": "import target, outside\noutside.discover(['blog'])",
        "target.py": "",
        "blog/__init__.py": "",
        "blog/models.py": "",
        "far.py": "",
    }
    found = walked(files, installed=LIBRARY)
    assert standings(found, "blog.models", "far") == ["unknown", "safe"]


def test_a_word_that_is_compared_or_described_names_nothing(walked):
    """A docstring, a key that is asked for and a comparison make no doubt of a module."""
    files = {
        "start.py": '"far"\nimport target\nx = target.D["far"]\nif x == "far":\n    "far"\n',
        "target.py": "D = {}",
        "far.py": "",
    }
    assert standings(walked(files), "far") == ["safe"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("app", {"__main__", "inner"}),
        ("app/", {"__main__", "inner"}),
        ("pack", {"pack", "pack.__main__", "pack.inner"}),
        ("pack/", {"pack", "pack.__main__", "pack.inner"}),
        ("pack/sub", {"pack", "pack.sub"}),
        ("pack.inner", {"pack", "pack.inner"}),
        ("pack:Class", {"pack"}),
        ("script", {"script", "inner"}),
    ],
)
def test_an_entry_is_whatever_starts(tmp_path, entry, expected):
    """A folder, a package, a module, a class, and a file without a suffix."""
    files = {
        "app/__main__.py": "import inner",
        "app/inner.py": "",
        "pack/__init__.py": "",
        "pack/__main__.py": "from . import inner",
        "pack/inner.py": "",
        "pack/sub/__init__.py": "",
        "script": "import inner",
        "inner.py": "",
    }
    write(tmp_path, files)
    found = closure_of(Program(entries=(entry,), folder=str(tmp_path)), installed=Shelf())
    assert set(found.closure.modules) == expected


def test_what_does_not_start_says_what_it_lacks(tmp_path):
    """A folder of nothing, an archive and a file that is not there are errors."""
    write(tmp_path, {"nothing/readme.txt": "", "pack/__init__.py": ""})
    (tmp_path / "app.pyz").write_bytes(b"PK\x05\x06" + bytes(18))
    for entry, wrong in (
        ("nothing/", "does not start"),
        ("app.pyz", "archive"),
        ("gone.py", "no such entry file"),
        ("gone", "nor is it installed"),
    ):
        with pytest.raises(UsageError, match=wrong):
            closure_of(Program(entries=(entry,), folder=str(tmp_path)), installed=Shelf())


def test_names_that_lead_to_nothing_are_unknown(walked, tmp_path):
    """A file that is not there, one that is no module, an installed library that nobody reaches."""
    files = {"start.py": "import target", "target.py": ""}
    write(tmp_path, {"notes.txt": ""})
    found = walked(files, installed=Shelf({"library": "1.0"}, {"loose": "/site/loose.py"}))
    for name, said in (
        ("src/gone.py", "no such file"),
        ("notes.txt", "no declared data file"),
        ("library", "is not followed"),
        ("loose", "in no distribution"),
        ("targte", "Did you mean target"),
        ("target.", "There is no module"),
        ("", "There is no module"),
    ):
        verdict = check(found, [name])[0]
        assert verdict.standing is Standing.UNKNOWN
        assert said in verdict.said
