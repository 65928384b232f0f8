"""P6 for kills: a run whose frozen code was edited while it was live does not go on after a kill.

A file of the closure, of the study's own code or of the engine, is edited under a real run that
makes calls; the run is killed; and who continues it is refused with 78 and the name of the file.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crash.watching_server import WatchingServer
from tests.support.gate import gate
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.trace.verify import verify

ROOT = Path(__file__).parents[2]
STARTED: list[subprocess.Popen[str]] = []

# A world of the study's own. The rules are a module that is imported when they are first needed.
WORLD = """\
from perdure.world import ChannelWorld


class World(ChannelWorld):
    def step(self, tick, turns, plan, answers):
        from rules import applied

        return applied(super().step(tick, turns, plan, answers))
"""
RULES = """\
def applied(delta):
    # Nothing is changed.
    return delta
"""
# As WORLD, but its import waits until the test lets it go on.
WAITING = (
    """\
import pathlib
import time

here = pathlib.Path(__file__).parent
(here / "begun").touch()
while not (here / "go").exists():
    time.sleep(0.01)
"""
    + WORLD
)


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """End what a test that failed leaves behind."""
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        with process:
            process.wait()


@pytest.fixture
def server() -> Iterator[WatchingServer]:
    """Give a server that takes its time."""
    with WatchingServer(latency_s=(0.02, 0.08)) as running:
        yield running


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Write a study whose world is its own."""
    folder = tmp_path / "study"
    folder.mkdir()
    text = SAMPLE.replace("timeline:\n", "timeline:\n  world: own_world:World\n")
    text = text.replace("    key_env: EXAMPLE_API_KEY\n", "")
    text = text.replace("    limits: {requests_per_minute: 60}\n", "    limits: {concurrency: 4}\n")
    (folder / "study.yaml").write_text(text)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "own_world.py").write_text(WORLD)
    (folder / "rules.py").write_text(RULES)
    return folder / "study.yaml"


def start(server: WatchingServer, study: Path, out: Path, engine: Path) -> subprocess.Popen[str]:
    """Start or continue the run, with the engine in this folder."""
    command = [sys.executable, "-m", "perdure.cli", "run", str(study), "--out", str(out)]
    command += ["--model", "http", "--model-name", "test-model", "--price", "0,0", "--quiet"]
    process = subprocess.Popen(
        [*command, "--base-url", server.base_url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(engine), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    STARTED.append(process)
    return process


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a process; give its status and what it said."""
    _, errors = process.communicate(timeout=100)
    return process.returncode, errors


def wait_for(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is so, while the process lives."""
    while not is_so():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)  # noqa: TID251 - a real process is waited for


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a run."""
    process.kill()
    assert end(process) == (-signal.SIGKILL, "")


def edit(path: Path, old: str, new: str) -> None:
    """Edit a file, as an editor does that a person uses."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def append(path: Path, text: str) -> None:
    """Write something at the end of a file."""
    path.write_text(path.read_text() + text)


@pytest.mark.parametrize("name", ["own_world", "rules"])
def test_the_study_s_own_code_is_edited_while_it_runs(
    server: WatchingServer, study: Path, tmp_path: Path, name: str
):
    """An edited plug-in, or a module that it imports, is refused by name; undone, it goes on."""
    out, source = tmp_path / "run", study.with_name(f"{name}.py")
    with gate(server, 20, beside=server.arrive) as shut:
        process = start(server, study, out, ROOT / "src")
        wait_for(lambda: len(server.asked) >= 10, process)
        whole = source.read_text()
        edit(source, "return ", "return None or ")
        wait_for(lambda: shut.held > 0, process)
        kill(process)
    asked = len(server.asked)
    for _ in range(2):
        status, said = end(start(server, study, out, ROOT / "src"))
        assert status == 78
        assert f"plugins ({name})" in said
    assert len(server.asked) == asked, "a refused run makes no call"
    source.write_text(whole.replace("Nothing is changed.", "Nothing is changed here."))
    assert end(start(server, study, out, ROOT / "src")) == (0, "")
    assert verify(out).is_sound


def test_the_engine_is_edited_while_it_runs(server: WatchingServer, study: Path, tmp_path: Path):
    """A module that decides is refused by name; what carries bytes or reads records is not."""
    engine = tmp_path / "engine"
    shutil.copytree(ROOT / "src", engine)  # and what is compiled of it
    out, scoring = tmp_path / "run", engine / "perdure" / "elicitation" / "closed_choice.py"
    with gate(server, 20, beside=server.arrive) as shut:
        process = start(server, study, out, engine)
        wait_for(lambda: len(server.asked) >= 10, process)
        whole = scoring.read_text()
        append(scoring, "\nNEW = 1\n")
        wait_for(lambda: shut.held > 0, process)
        kill(process)
    status, said = end(start(server, study, out, engine))
    assert status == 78
    assert "engine (perdure.elicitation.closed_choice)" in said
    scoring.write_text(whole + "\n# A remark changes nothing.\n")
    append(engine / "perdure" / "cli" / "tables.py", "\nNEW = 1\n")
    with gate(server, 20, beside=server.arrive) as shut:
        process = start(server, study, out, engine)
        wait_for(lambda: shut.held > 0, process)
        kill(process)
    append(engine / "perdure" / "inference" / "http" / "retry_after.py", "\nNEW = 1\n")
    status, said = end(start(server, study, out, engine))
    assert status == 0
    assert "What only carries bytes moved: transport (perdure.inference.http.retry_after)" in said
    assert verify(out).is_sound


@pytest.mark.parametrize("name", ["own_world", "rules"])
def test_code_is_edited_after_it_was_looked_at_and_before_it_is_loaded(
    server: WatchingServer, study: Path, tmp_path: Path, name: str
):
    """What was loaded is not what was compared: the run does not come to its end as if it were."""
    out, folder = tmp_path / "run", study.parent
    world = folder / "own_world.py"
    world.write_text(WAITING)
    with gate(server, 10, beside=server.arrive) as shut:
        process = start(server, study, out, ROOT / "src")
        wait_for((folder / "begun").exists, process)
        edit(folder / f"{name}.py", "return ", "return None or ")
        (folder / "go").touch()
        wait_for(lambda: shut.held > 0 or process.poll() is not None, process)
        process.kill()
        status, said = end(process)
    if status == -signal.SIGKILL:
        status, said = end(start(server, study, out, ROOT / "src"))
    assert status == 78
    assert name in said
