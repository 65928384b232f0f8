"""What a program reaches is found from its source, whichever way it imports."""

from __future__ import annotations

import pytest
from tests.closure.conftest import Shelf

from perdure.base.errors import UsageError
from perdure.closure.check import Standing, check
from perdure.closure.graph import way_to

# what the entry says -> what it reaches besides itself
ONE_STEP = {
    "import target": {"target"},
    "import target as other": {"target"},
    "import pack.sub": {"pack", "pack.sub"},
    "from pack import sub": {"pack", "pack.sub"},
    "from pack import sub as other, VALUE": {"pack", "pack.sub"},
    "from pack.sub import VALUE": {"pack", "pack.sub"},
    "from space.inner import deep": {"space", "space.inner", "space.inner.deep"},
    "def later():\n    import target": {"target"},
    "class A:\n    import target": {"target"},
    "if False:\n    import target": {"target"},
    "try:\n    import nothing\nexcept ImportError:\n    import target": {"target"},
    "try:\n    pass\nfinally:\n    import target": {"target"},
    "with open('x'):\n    import target": {"target"},
    "for x in ():\n    import target\nelse:\n    import pack": {"target", "pack"},
    "match 1:\n    case 1:\n        import target": {"target"},
    "async def go():\n    import target": {"target"},
    "import importlib\nimportlib.import_module('target')": {"target"},
    "import importlib as lib\nlib.import_module('pack.sub')": {"pack", "pack.sub"},
    "from importlib import import_module as bring\nbring('target')": {"target"},
    "from importlib import import_module\nimport_module(name='target')": {"target"},
    "from importlib import import_module\nimport_module('.sub', 'pack')": {"pack", "pack.sub"},
    "from importlib import import_module\nimport_module('.sub', package='pack')": {
        "pack",
        "pack.sub",
    },
    "__import__('target')": {"target"},
    "__import__('pack', fromlist=['sub'])": {"pack", "pack.sub"},
    "import builtins\nbuiltins.__import__('target')": {"target"},
    "NAME = 'target'\n__import__(NAME)": {"target"},
    "_ALL = {'a': 'target', 'b': 'pack.sub'}\ndef get(x):\n    return __import__(_ALL[x])": {
        "target",
        "pack",
        "pack.sub",
    },
    "for name in ('target', 'pack'):\n    __import__(name)": {"target", "pack"},
    "__import__('tar' + 'get')": {"target"},
    "__import__('target' if 1 else 'pack')": {"target", "pack"},
    "from names import NAME\n__import__(NAME)": {"names", "target"},
    "from pack.sub import *": {"pack", "pack.sub"},
    "from stars import *": {"stars", "stars.one"},
    "import runpy\nrunpy.run_module('target')": {"target"},
    "import runpy\nrunpy.run_module('tool')": {"tool", "tool.__main__"},
    "import subprocess\nsubprocess.run(['python', '-m', 'tool'])": {"tool", "tool.__main__"},
    "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pack.sub'])": {
        "pack",
        "pack.sub",
    },
    "from importlib.metadata import entry_points\nentry_points(group='g')": {"pack", "pack.sub"},
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import target": set(),
    "import typing as t\nif t.TYPE_CHECKING:\n    import target\nelse:\n    import pack": {"pack"},
    "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    import target": {"target"},
    "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import target": set(),
    "TYPE_CHECKING = True\nif TYPE_CHECKING:\n    import target": {"target"},
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING or 1:\n    import target": {"target"},
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING and 1:\n    import target": set(),
}
AROUND = {
    "target.py": "",
    "pack/__init__.py": "VALUE = 1",
    "pack/sub.py": "VALUE = 1",
    "space/inner/deep.py": "",
    "names.py": "NAME = 'target'",
    "stars/__init__.py": "__all__ = ['one']",
    "stars/one.py": "",
    "stars/two.py": "",
    "tool/__init__.py": "",
    "tool/__main__.py": "",
    "far.py": "",
}


@pytest.mark.parametrize("said", ONE_STEP)
def test_every_way_to_import_is_followed(said, reached):
    """Whatever form an import has, what it runs is in the closure, and nothing else is."""
    installed = Shelf(points={"g": ("pack.sub:VALUE",)})
    assert reached(AROUND | {"start.py": said}, installed=installed) - {"start"} == ONE_STEP[said]


def test_it_is_transitive_and_survives_circles(reached):
    """An import of an import counts, and modules that import each other end."""
    files = {"start.py": "import a", "a.py": "import b", "b.py": "import a\nimport c", "c.py": ""}
    assert reached(files) == {"start", "a", "b", "c"}


def test_relative_imports_lead_from_the_package(reached):
    """Dots are counted from the package of the module, and a package is its own."""
    files = {
        "start.py": "import a.b.c",
        "a/__init__.py": "from . import beside",
        "a/beside.py": "",
        "a/b/__init__.py": "from .inner import x",
        "a/b/inner.py": "x = 1",
        "a/b/c.py": "from ..up import x\nfrom . import sibling",
        "a/up.py": "x = 1",
        "a/b/sibling.py": "",
    }
    expected = {"a", "a.beside", "a.b", "a.b.inner", "a.b.c", "a.up", "a.b.sibling"}
    assert reached(files) == {"start"} | expected


def test_a_namespace_may_lie_in_several_roots(walked, tmp_path):
    """Parts of a namespace package are found in every root."""
    (tmp_path / "more/space").mkdir(parents=True)
    (tmp_path / "more/space/two.py").write_text("")
    found = walked(
        {"start.py": "import space.one, space.two", "space/one.py": ""}, roots=("src", "more")
    )
    assert {"space.one", "space.two"} <= set(found.closure.modules)


def test_a_package_as_entry_runs_its_main(reached):
    """`python -m package` runs the package's `__main__`."""
    files = {"start/__init__.py": "", "start/__main__.py": "import target", "target.py": ""}
    assert reached(files) == {"start", "start.__main__", "target"}


def test_a_class_as_entry_is_its_module(reached):
    """An entry may be a `module:Class` string that something loads."""
    files = {"start.py": "import target", "target.py": ""}
    assert reached(files, entry="start:Town") == {"start", "target"}


def test_what_is_installed_is_named_with_its_version_and_not_followed(walked):
    """A distribution is listed with its version; the standard library is named."""
    found = walked({"start.py": "import numpy.linalg, os.path"}, installed=Shelf({"numpy": "2.1"}))
    assert found.closure.distributions == {"numpy": "2.1"}
    assert found.closure.standard == ("os",)
    assert not found.closure.unknown


def test_what_may_be_missing_is_absent_and_what_must_not_is_unknown(walked):
    """An expected absence is listed; any other name that leads nowhere makes a doubt."""
    optional = walked({"start.py": "try:\n    import gone\nexcept ImportError:\n    pass"})
    assert [edge.imported for edge in optional.closure.absent] == ["gone"]
    assert not optional.closure.unknown
    required = walked({"start.py": "import gone"})
    assert "gone" in required.closure.unknown[0].what


def test_a_type_checkers_import_is_marked(walked):
    """What only a type checker imports is listed as that, and not in the closure."""
    found = walked(
        {
            "start.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import target",
            "target.py": "",
        }
    )
    assert [edge.imported for edge in found.closure.typing] == ["target"]
    assert "target" not in found.closure.modules


def test_the_way_to_a_module_is_the_shortest(walked):
    """The way leads from the entry, import by import, in the fewest steps."""
    found = walked(
        {
            "start.py": "import long\nimport short",
            "long.py": "import longer",
            "longer.py": "import target",
            "short.py": "import target",
            "target.py": "",
        }
    )
    way = way_to(found.closure, "target")
    assert [edge.imported for edge in way] == ["start", "short", "target"]
    assert [edge.line for edge in way] == [0, 2, 1]
    assert way_to(found.closure, "elsewhere") == ()


UNKNOWN = (
    "import importlib\ndef load(x):\n    return importlib.import_module(x)",
    "import importlib\nload = importlib.import_module",
    "import importlib\ngetattr(importlib, 'import_' + 'module')('far')",
    "from helper import import_module\nimport_module(input())",
    "exec(open('x').read())",
    "eval('1')",
    "print(__builtins__)",
    "import pickle\npickle.loads(b'')",
    "import runpy\nrunpy.run_path('x.py')",
    "import sys\nsys.path.insert(0, 'lib')",
    "import sys\nsys.path += ['lib']",
    "import sys\nplaces = sys.path",
    "from sys import path\npath.append('lib')",
    "import sys\nsys.meta_path.append(None)",
    "from importlib.util import spec_from_file_location as s\ns('far', 'far.py')",
    "def go(loader, m):\n    loader.exec_module(m)",
    "__path__ = ['elsewhere']",
    "ALL = {}\ndef add(x):\n    ALL[x] = x\ndef go(x):\n    __import__(ALL[x])",
    "ALL = {'a': 'target'}\ndef go(x):\n    __import__(ALL[x])",
    "from importlib.metadata import entry_points\nentry_points()",
    "import subprocess, sys\nsubprocess.run([sys.executable, 'far.py'])",
    "from .. import far",
    "\uff45xec('import far')",  # Python folds this letter to an e
)


@pytest.mark.parametrize("said", UNKNOWN)
def test_what_cannot_be_followed_makes_nothing_safe(said, walked):
    """With an import that could lead anywhere, a module outside the closure is unknown."""
    files = AROUND | {"start.py": f"{said}\nimport target", "helper.py": "import_module = 1"}
    found = walked(files)
    assert found.closure.unknown
    assert check(found, ["far"])[0].standing is Standing.UNKNOWN


def test_a_doubt_reaches_no_further_than_its_name(walked):
    """An import of a name with a known beginning leaves safe what does not begin so."""
    files = {
        "start.py": "import target\ndef go(x):\n    __import__(f'plugins.{x}')",
        "target.py": "",
        "plugins/__init__.py": "",
        "plugins/one.py": "import behind",
        "behind.py": "",
        "far.py": "",
    }
    verdicts = check(walked(files), ["plugins.one", "plugins", "behind", "far"])
    assert [verdict.standing.value for verdict in verdicts] == ["unknown"] * 3 + ["safe"]


def test_a_string_that_names_a_module_is_a_doubt(walked):
    """A module that is only named in a string may be loaded by somebody else's code."""
    files = {
        "start.py": "import target\nAPP = 'web.app:create'\nCOMMAND = 'python -m tool'",
        "target.py": "",
        "web/__init__.py": "",
        "web/app.py": "import behind",
        "behind.py": "",
        "tool.py": "",
        "far.py": "",
    }
    verdicts = check(walked(files), ["web.app", "behind", "tool", "far"])
    assert [verdict.standing.value for verdict in verdicts] == ["unknown"] * 3 + ["safe"]


def test_a_declared_module_settles_its_doubts(walked):
    """Somebody who knows what an unknown import reaches can say so; it counts as reached."""
    files = {
        "start.py": "import target\ndef go(x):\n    __import__(x)",
        "target.py": "",
        "near.py": "",
        "far.py": "",
    }
    found = walked(files, declared={"start": ("near",)})
    verdicts = check(found, ["near", "far"])
    assert [verdict.standing.value for verdict in verdicts] == ["frozen", "safe"]


def test_a_wrong_declaration_is_refused(walked):
    """Only a module that is reached can be answered for, and only with modules that are there."""
    with pytest.raises(UsageError, match="does not reach"):
        walked({"start.py": ""}, declared={"missing": ()})
    with pytest.raises(UsageError, match="not there"):
        walked({"start.py": ""}, declared={"start": ("missing",)})


def test_a_file_is_frozen_under_every_name_it_has(walked):
    """A helper that is imported as a sibling is frozen as a module of its package too."""
    files = {"pack/__init__.py": "", "pack/run.py": "import helper", "pack/helper.py": ""}
    found = walked(files, entry="src/pack/run.py")
    assert check(found, ["pack.helper"])[0].standing is Standing.FROZEN


def test_a_star_of_unknown_extent_reaches_its_package(walked):
    """`from package import *` with a computed `__all__` may bring any of its modules."""
    files = {
        "start.py": "from pack import *\nimport target",
        "target.py": "",
        "pack/__init__.py": "__all__ = list(make())",
        "pack/sub.py": "",
        "far.py": "",
    }
    verdicts = check(walked(files), ["pack.sub", "far"])
    assert [verdict.standing.value for verdict in verdicts] == ["unknown", "safe"]


def test_what_is_only_doubtful_may_change_a_constant_too(walked):
    """A module that nobody can say is loaded changes what is imported, or imports by a constant."""
    files = {
        "start.py": "import core\ndef go(x):\n    __import__(f'plugins.{x}')",
        "core.py": "def load():\n    __import__(N)\nN = 'target'",
        "target.py": "",
        "plugins/one.py": "",
        "far.py": "",
    }
    assert check(walked(files), ["far"])[0].standing is Standing.SAFE
    changing = files | {"plugins/one.py": "import core\ncore.N = input()"}
    assert check(walked(changing), ["far"])[0].standing is Standing.UNKNOWN
    changed = files | {"plugins/one.py": "NAME = 'target'\ndef go():\n    __import__(NAME)"}
    assert check(walked(changed), ["far"])[0].standing is Standing.SAFE
    changed["plugins/two.py"] = "from plugins import one\none.NAME = input()"
    assert check(walked(changed), ["far"])[0].standing is Standing.UNKNOWN


@pytest.mark.parametrize("begins", ["alink.", "pack.z.", "pack.inn", "pack.inner.", "pack.inner.m"])
def test_a_doubt_about_one_name_of_a_file_is_one_about_the_file(begins, walked, tmp_path):
    """A folder that has two names is looked at under the one that is computed, whichever it is."""
    files = {
        "start.py": f"import target\ndef go(x):\n    __import__(f'{begins}{{x}}')",
        "target.py": "",
        "pack/inner/m.py": "import behind",
        "behind.py": "",
        "far.py": "",
    }
    (tmp_path / "src/pack/inner").mkdir(parents=True)
    for link in ("src/alink", "src/pack/z"):
        (tmp_path / link).symlink_to(tmp_path / "src/pack/inner", target_is_directory=True)
    found = walked(files)
    asked = ("pack.inner.m", "alink.m", "pack.z", "pack", "src/pack/inner/m.py", "behind")
    assert {verdict.standing for verdict in check(found, asked)} == {Standing.UNKNOWN}
    assert check(found, ["far"])[0].standing is Standing.SAFE


def test_the_answers_about_a_package_and_what_is_in_it_agree(walked):
    """A package is never safer than a module in it, and a module than the package around it."""
    files = {
        "start.py": "import target\nNAME = 'oth.b'\nfrom more import x",
        "target.py": "",
        "oth/__init__.py": "",
        "oth/b.py": "",
        "oth/in/deep.py": "",
        "more/__init__.py": "",
        "more/x.py": "",
        "more/y.py": "",
        "rest/z.py": "",
    }
    found = walked(files)
    order = [Standing.SAFE, Standing.UNKNOWN, Standing.FROZEN]
    for package, modules in {
        "oth": ("oth.b", "oth.in", "oth.in.deep", "src/oth/b.py", "src/oth/__init__.py"),
        "oth.in": ("oth.in.deep",),
        "src/oth": ("oth.b", "oth.in.deep"),
        "more": ("more.x", "more.y"),
        "rest": ("rest.z",),
    }.items():
        whole, *parts = check(found, [package, *modules])
        assert order.index(whole.standing) == max(order.index(part.standing) for part in parts)


def test_links_in_a_circle_end(walked, tmp_path):
    """A folder that links to its own parent is looked at once, and its files are the same files."""
    found = walked({"start.py": "import target", "target.py": "", "pack/__init__.py": ""})
    (tmp_path / "src/pack/again").symlink_to(tmp_path / "src", target_is_directory=True)
    assert check(found, ["pack"])[0].frozen == ("start", "target")
