"""Several commands, one after the other, in a fresh process of their own: what each one said.

A process loads code once, so a test that edits code has to ask a new one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROGRAM = """\
import contextlib, io, json, sys
class WithoutPandas:
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name=name)
# pyarrow loads it where it finds it, which takes as long as all else; only tests need it.
sys.meta_path.insert(0, WithoutPandas())
import perdure.closure.fingerprint
asked = json.loads(sys.stdin.read())
from perdure.cli.entry import execute
if asked["python"]:
    sys.modules["perdure.closure.fingerprint"].python_version = lambda: asked["python"]
said = []
for command in asked["commands"]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = execute(command)
    said.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""


@dataclass(frozen=True)
class Told:
    """What a command wrote, and how it ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


def commands(
    *asked: tuple[object, ...], home: Path | None = None, python: str = "", **environment: str
) -> list[Told]:
    """Run commands in one new process; `home` holds the source of perdure if it is another one.

    With `python`, the process takes itself for that version of Python.
    """
    variables = {**os.environ, "COLUMNS": "100", **environment}
    if home is not None:
        variables["PYTHONPATH"] = str(home)
    lines = [[str(word) for word in command] for command in asked]
    alone = len(lines) == 1 and not python
    # A process that is killed can only say what it says directly.
    program = ["-m", "perdure.cli", *lines[0]] if alone else ["-c", _PROGRAM]
    done = subprocess.run(
        [sys.executable, *program],
        input=json.dumps({"commands": lines, "python": python}),
        capture_output=True,
        text=True,
        check=False,
        env=variables,
    )
    if alone or done.returncode:
        return [Told(done.returncode, done.stdout, done.stderr)]
    return [Told(*one) for one in json.loads(done.stdout.splitlines()[-1])]


def kill_each(
    study: Path,
    out: Path,
    hits: Mapping[str, int],
    *,
    point: str = "tick.after-witness",
    home: Path | None = None,
) -> None:
    """Drive cells of a run one after the other, each until a kill at its so-manieth hit of a point.

    Of worlds that are driven side by side it depends on the machine which are where by a kill; so
    they are driven alone, in the process that is killed, and each stands in the same place every
    time.
    """
    for cell, count in hits.items():
        run = ("run", study, "--out", out, "--quiet", "--workers", "0", "--only", cell)
        (died,) = commands(run, home=home, PERDURE_CRASH_AT=f"{point}:{count}")
        assert died.status == -9, died
