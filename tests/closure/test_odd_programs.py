"""Odd programs are really run: whatever of their own they load is frozen or unknown, never safe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.closure.conftest import write
from tests.support.sizes import some

from perdure.closure.check import Standing, check
from perdure.closure.program import Program, closure_of

# Ends every program: which of its own files it loaded, and how itself was started.
_TELL = """
import json as _json, sys as _sys
_own = {n: m.__file__ for n, m in list(_sys.modules.items()) if getattr(m, "__file__", None)}
print("@@" + _json.dumps(_own))
"""


class Odd(NamedTuple):
    """A program: its files, what is loaded by it at least, what is safe, and how it is asked."""

    files: Mapping[str, str]
    loads: tuple[str, ...]
    safe: tuple[str, ...] = ()
    entry: str = "run.py"
    command: tuple[str, ...] = ("run.py",)
    roots: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()


HIDDEN = {"hidden.py": "class Class: pass\n", "unused.py": "", "helper.py": ""}
POINT = {
    "site/dist-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: dist\nVersion: 1.0\n",
    "site/dist-1.0.dist-info/entry_points.txt": "[some.group]\nx = hidden:Class\n",
    "site/dist-1.0.dist-info/RECORD": "",
}


def said(
    text: str, *loads: str, safe: tuple[str, ...] = (), files: Mapping[str, str] | None = None
) -> Odd:
    """Make a program of one file beside a hidden module, a helper and one that is never used."""
    return Odd(
        {"run.py": f"import helper\n{text}", **HIDDEN, **(files or {})}, loads or ("hidden",), safe
    )


ODD = {
    "entry points": Odd(
        {
            "run.py": "import helper\nfrom importlib.metadata import entry_points\n"
            "for p in entry_points(group='some.group'):\n    p.load()\n",
            **HIDDEN,
            **POINT,
        },
        ("hidden",),
        safe=("unused",),
        sites=("site",),
    ),
    "a __path__ that is changed": said(
        "from pack import inner",
        "inner",
        files={
            "pack/__init__.py": "import os\n__path__.append(os.path.join(__path__[0], 'more'))\n",
            "pack/more/inner.py": "",
        },
    ),
    "walk_packages": said(
        "import pkgutil, importlib, pack\n"
        "for m in pkgutil.walk_packages(pack.__path__, 'pack.'):\n"
        "    importlib.import_module(m.name)",
        "pack.one",
        files={"pack/__init__.py": "", "pack/one.py": ""},
    ),
    "iter_modules": said(
        "import pkgutil, pack\nfor m in pkgutil.iter_modules(pack.__path__):\n"
        "    __import__(f'pack.{m.name}')",
        "pack.one",
        safe=("unused", "hidden"),
        files={"pack/__init__.py": "", "pack/one.py": ""},
    ),
    "exec": said("exec('import hid' + 'den')"),
    "eval": said('eval(\'__import__("hid" + "den")\')'),
    "a compiled file": said(
        "exec(compile(open('hidden.py').read() + 'import hid' + 'den', 'x', 'exec'))"
    ),
    "built-ins by a string": said(
        "globals()['__builtins__'].__dict__['__imp' + 'ort__']('hid' + 'den')"
    ),
    "a getattr of sys.path": said(
        "import sys\ngetattr(sys, 'path').insert(0, 'lib')\nimport elsewhere",
        "elsewhere",
        files={"lib/elsewhere.py": ""},
    ),
    "an alias": said("load = __import__\nload('hid' + 'den')"),
    "a map": said("from importlib import import_module as m\nlist(map(m, ['hid' + 'den']))"),
    "a loader of a file": said(
        "from importlib import util\ns = util.spec_from_file_location('hidden', 'hidden.py')\n"
        "m = util.module_from_spec(s)\nimport sys\nsys.modules['hidden'] = m\n"
        "s.loader.exec_module(m)"
    ),
    "pydoc": said("import pydoc\npydoc.locate('hid' + 'den.Class')"),
    "logging": said(
        "import logging.config\n"
        "logging.config.dictConfig({'version': 1, 'formatters': {'f': {'()': 'hidden.Class'}}})",
        safe=("unused",),
    ),
    "resources": said(
        "import importlib.resources\nimportlib.resources.files('pack')",
        "pack",
        safe=("unused",),
        files={"pack/__init__.py": ""},
    ),
    "unittest": said(
        "import unittest\nunittest.defaultTestLoader.loadTestsFromName('hid' + 'den')"
    ),
    "pickle": said(
        "import pickle\npickle.loads(b'c' + b'hid' + b'den\\nClass\\n.')",
    ),
    "one of Python's own, hidden": said(
        "import tempfile",
        "random",
        safe=("unused",),
        files={"random.py": "from _random import Random"},
    ),
    "a lazy package": said(
        "import pack\npack.Thing",
        "pack.heavy",
        safe=("unused", "hidden", "pack.other"),
        files={
            "pack/__init__.py": "from importlib import import_module\n"
            "_WHERE = {'Thing': '.heavy'}\n"
            "def __getattr__(n):\n"
            "    return getattr(import_module(_WHERE[n], __name__), n)\n",
            "pack/heavy.py": "Thing = 1",
            "pack/other.py": "",
        },
    ),
    "all of a package": said(
        "from pack import *",
        "pack.one",
        safe=("pack.two", "unused"),
        files={"pack/__init__.py": "__all__ = ['one']", "pack/one.py": "", "pack/two.py": ""},
    ),
    "all of a package, by a call": said(
        "__import__('pack', fromlist=['*'])",
        "pack.one",
        safe=("pack.two", "unused"),
        files={"pack/__init__.py": "__all__ = ['one']", "pack/one.py": "", "pack/two.py": ""},
    ),
    "runpy": said("import runpy\nrunpy.run_module('hid' + 'den')\nimport hidden"),
    "a circle": said(
        "import one", "one", "two", files={"one.py": "import two", "two.py": "import one"}
    ),
    "a byte-order mark": said(
        "import bom", "bom", "hidden", files={"bom.py": "\ufeffimport hidden"}
    ),
    "another case": said(
        "try:\n    import Hidden\nexcept ImportError:\n    import hidden", safe=("unused",)
    ),
    "a module as a command": Odd(
        {"pack/__init__.py": "", "pack/__main__.py": "from . import inner", "pack/inner.py": ""},
        ("pack.inner",),
        entry="pack",
        command=("-m", "pack"),
    ),
    "a folder as a command": Odd(
        {"app/__main__.py": "import inner", "app/inner.py": "", "app/other.py": ""},
        ("inner",),
        safe=("other",),
        entry="app",
        command=("app",),
    ),
    "a namespace in two roots": Odd(
        {
            "bin/run.py": "import space.one, space.two",
            "one/space/one.py": "",
            "two/space/two.py": "",
            "two/space/three.py": "",
        },
        ("space.one", "space.two"),
        safe=("space.three",),
        entry="bin/run.py",
        command=("bin/run.py",),
        roots=("one", "two"),
    ),
    "what Python loads by itself": Odd(
        {
            "bin/run.py": "import helper",
            "src/helper.py": "",
            "src/usercustomize.py": "",
            "src/sitecustomize.py": "import hidden",
            "src/hidden.py": "",
            "src/unused.py": "",
        },
        ("sitecustomize", "hidden"),
        safe=("unused",),
        entry="bin/run.py",
        command=("bin/run.py",),
        roots=("src",),
    ),
}


def run(folder: Path, odd: Odd) -> dict[str, str]:
    """Run a program; give the files that it loaded of its own folder, by module."""
    start = next(
        path for path in (odd.command[-1], f"{odd.entry}/__main__.py") if (folder / path).is_file()
    )
    file = folder / start
    file.write_text(file.read_text(encoding="utf-8") + "\n" + _TELL, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-s", *odd.command],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([*odd.roots, *odd.sites]), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    loaded = json.loads(ended.stdout.rpartition("@@")[2])
    paths = {name: Path(file) for name, file in loaded.items()}
    absolute = {name: path if path.is_absolute() else folder / path for name, path in paths.items()}
    return {
        name: str(path)
        for name, path in absolute.items()
        if path.resolve().is_relative_to(folder.resolve())
    }


@pytest.mark.parametrize("name", some(ODD, 2))
def test_what_a_program_loads_is_never_safe(name, tmp_path):
    """Every file of its own that the program loads is frozen or unknown; what it cannot is safe."""
    odd = ODD[name]
    write(tmp_path, odd.files)
    loaded = run(tmp_path, odd)
    assert {one.rpartition(".")[2] for one in odd.loads} <= {
        one.rpartition(".")[2] for one in loaded
    }
    found = closure_of(
        Program(entries=(odd.entry,), roots=odd.roots, sites=odd.sites, folder=str(tmp_path))
    )
    names = [one for one in loaded if one != "__main__"]
    for verdict in check(found, [*names, *loaded.values()]):
        assert verdict.standing is not Standing.SAFE, verdict
    for verdict in check(found, odd.safe):
        assert verdict.standing is Standing.SAFE, verdict


def test_an_archive_is_not_looked_into_and_says_so(tmp_path):
    """What is imported from a zip file makes everything else unknown."""
    write(tmp_path, said("import sys\nsys.path.insert(0, 'lib.zip')\nimport zipped").files)
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr("zipped.py", "import hidden")
    found = closure_of(Program(entries=("run.py",), folder=str(tmp_path)))
    assert {one.standing for one in check(found, ["hidden", "zipped"])} == {Standing.UNKNOWN}


def test_an_entry_that_is_a_link_looks_beside_the_file(tmp_path):
    """As Python does: the folder of the file counts, not that of the link."""
    write(tmp_path, {"real/run.py": "import helper", "real/helper.py": "", "bin/helper.py": ""})
    (tmp_path / "bin/run.py").symlink_to(tmp_path / "real/run.py")
    found = closure_of(Program(entries=("bin/run.py",), folder=str(tmp_path)))
    assert found.closure.modules["helper"].path == str(tmp_path / "real/helper.py")
