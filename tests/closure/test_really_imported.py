"""Of three large installed packages, whatever is really imported is in the closure or unknown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest
from tests.closure.conftest import write

from perdure.closure.check import Standing, check
from perdure.closure.program import Program, closure_of

# What importing the entry loads beyond what this bare interpreter has; and from which files.
_MEASURE = """
import sys
before = set(sys.modules)
import {entry}
found = {{n: getattr(m, "__file__", None) for n, m in sys.modules.items() if n not in before}}
import json
print("@@" + json.dumps(found))
"""
MODULES_MIN = 100


def imported(entry: str) -> Mapping[str, str | None]:
    """Import a package in its own process; give the modules that this loads, and their files."""
    program = [sys.executable, "-c", _MEASURE.format(entry=entry)]
    said = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60).stdout
    loaded: dict[str, str | None] = json.loads(said.rpartition("@@")[2])
    return loaded


@pytest.mark.parametrize(("entry", "own"), [("hypothesis", 70), ("pytest", 60), ("pyarrow", 5)])
def test_what_a_package_really_imports_is_never_safe(entry, own, tmp_path):
    """Every module that importing it loads is frozen, or it is said that it is unknown."""
    really = imported(entry)
    assert len(really) >= MODULES_MIN
    found = closure_of(Program(entries=(f"{entry}:main",), folder=str(tmp_path)))
    verdicts = {verdict.name: verdict for verdict in check(found, sorted(really))}
    assert verdicts.keys() == really.keys()
    safe = [name for name, verdict in verdicts.items() if verdict.standing is Standing.SAFE]
    assert not safe
    # What it has as source of its own is found, import by import, and not only feared.
    followed = [name for name in found.closure.modules if name in really]
    assert len(followed) >= own
    for name in followed:
        assert verdicts[name].standing is Standing.FROZEN
        assert found.closure.modules[name].path == really[name]


def test_a_program_that_uses_a_large_package_is_answered_for_as_a_whole(tmp_path):
    """The package is frozen with its distribution; what that imports in turn is not followed."""
    write(tmp_path, {"run.py": "import hypothesis, helper", "helper.py": "", "unused.py": ""})
    found = closure_of(Program(entries=("run.py",), folder=str(tmp_path)))
    asked = ("hypothesis.strategies", "json", "sortedcontainers", "pandas", "unused")
    assert [verdict.standing.value for verdict in check(found, asked)] == [
        "frozen",
        "frozen",
        "unknown",
        "unknown",
        "safe",
    ]
