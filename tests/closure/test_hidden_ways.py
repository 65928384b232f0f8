"""Ways to load a module that nothing names: each program is run, and what it loads is never safe.

The program lies as people lay one out: its entry in a folder, its modules below that in `src`. The
name that it loads is given to it on its command line, so that no string of it says what that is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.closure.conftest import write
from tests.support.sizes import some

from perdure.closure.check import Standing, check
from perdure.closure.program import Program, closure_of

# Sorts before `src`, which is itself a namespace in the folder of the entry.
HIDDEN = "oth.b"
AROUND = {
    "src/oth/__init__.py": "",
    "src/oth/b.py": "x = C = None\n",
    "src/static.py": "",
    "src/free.py": "",
}
_TELL = """
import json as _json, sys as _sys
_own = {n: m.__file__ for n, m in list(_sys.modules.items()) if getattr(m, "__file__", None)}
print("@@" + _json.dumps(_own))
"""


class Way(NamedTuple):
    """A program: what its entry says, its other files, and what is safe all the same.

    `loads` is what it is told on its command line to load, and really loads; `unseen` says that it
    executes the file and leaves no module.
    """

    run: str
    files: Mapping[str, str] = {}
    safe: tuple[str, ...] = ()
    loads: str = HIDDEN
    unseen: bool = False


def core(text: str, run: str = "import core, static\n", **rest: object) -> Way:
    """Make a program whose one module of its own, beside what is around it, says this."""
    return Way(run, {"src/core.py": text}, **rest)  # type: ignore[arg-type]


# A beginning is known, or a name: what begins otherwise is safe.
KNOWN = {
    "an f-string": core(
        "import importlib, sys\nimportlib.import_module(f'oth.{sys.argv[1][4:]}')", safe=("free",)
    ),
    "half a word": core(
        "import importlib, sys\nimportlib.import_module('ot' + sys.argv[1][2:])", safe=("free",)
    ),
    "a name that is asked for": core(
        "import importlib\ndef __getattr__(n):\n    return importlib.import_module('oth.' + n)\n",
        "import core, static\ncore.b",
        safe=("free",),
    ),
    "all of a package": Way(
        "import static\nfrom oth import *",
        {"src/oth/__init__.py": "import sys\n__all__ = [sys.argv[1][4:]]"},
        safe=("free",),
    ),
    "a class of a module": core(
        "import pkgutil, sys\npkgutil.resolve_name(f'oth.b:{sys.argv[1][:0]}x')", safe=("free",)
    ),
    "logging": core(
        "import logging.config as c\nH = {'class': 'oth.b.H'}\n"
        "try:\n    c.dictConfig({'version': 1, 'handlers': {'h': H}})\nexcept ValueError: 0",
        safe=("free",),
    ),
    "a string": core("NAME = 'oth.b'\n__import__(NAME)", safe=("free",)),
    "a patch": core(
        "from unittest.mock import patch\nwith patch('oth' + '.b.x'):\n    pass", safe=("free",)
    ),
    "a parser": core(
        "import xml.sax\n"
        "try:\n    xml.sax.make_parser(['oth' + '.b'])\nexcept AttributeError:\n    pass",
        safe=("free",),
    ),
    "all that is in the folder": core(
        "import importlib, sys\nimportlib.import_module(f'src.{sys.argv[1][4:]}')",
        loads="src.oth.b",
    ),
}


def loaded(folder: Path, way: Way) -> dict[str, str]:
    """Run a program; give the files that it loaded of its own folder, by module."""
    write(folder, AROUND | dict(way.files) | {"run.py": f"{way.run}\n{_TELL}"})
    ended = subprocess.run(
        [sys.executable, "-s", "run.py", way.loads],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, str] = json.loads(ended.stdout.rpartition("@@")[2])
    files = {name: folder / file for name, file in found.items() if name != "__main__"}
    return {name: str(file) for name, file in files.items() if file.is_relative_to(folder / "src")}


def standings(folder: Path, *names: str) -> dict[str, Standing]:
    """Ask about names of a program."""
    program = Program(entries=("run.py",), roots=("src",), folder=str(folder))
    return {one.name: one.standing for one in check(closure_of(program), names)}


def never_safe(folder: Path, way: Way) -> None:
    """Run a program, and ask about what it loaded, under every name that it has."""
    files = loaded(folder, way)
    if not way.unseen:
        assert way.loads in files
    names = {HIDDEN, "oth", "src.oth.b", "src.oth", "src/oth/b.py", "src/oth", *files}
    found = standings(folder, *sorted(names | set(files.values())), *way.safe)
    safe = {name for name, standing in found.items() if standing is Standing.SAFE}
    assert safe == set(way.safe)


@pytest.mark.parametrize("name", some(KNOWN, 2))
def test_what_a_known_beginning_leads_to_is_never_safe(name, tmp_path):
    """Whatever begins so is unknown, under each of its names, and what does not is safe."""
    never_safe(tmp_path, KNOWN[name])
