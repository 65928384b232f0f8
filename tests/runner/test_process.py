"""A run as a real process over real HTTP and real files: stopped, killed, repeated, refused."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.gate import gate, has_taken
from tests.support.golden import said_by

from perdure import runner
from perdure.base.errors import MovedError
from perdure.population import load_study
from perdure.study.overrides import Overrides
from perdure.testing import MisbehavingServer
from perdure.trace.lock import read_holder
from perdure.trace.stop_request import is_asked_to_stop

EXAMPLE = Path(__file__).parents[2] / "examples" / "vote96" / "study.yaml"
KEY = "sk-canary-0123456789abcdef"
STARTED: list[subprocess.Popen[str]] = []


def answer(request: dict[str, Any]) -> str:
    """Answer by the prompt alone, so that each persona always gets the same reply."""
    text = str(request["messages"])
    return "I would vote for Bob Dole." if len(text) % 2 else "Bill Clinton. I agree."


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    """Give a server of its own to each test."""
    with MisbehavingServer(responder=answer, key=KEY) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """End whatever a test that failed leaves behind, so that no other test meets it."""
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        with process:
            process.communicate()


def start(server: MisbehavingServer, out: Path, *more: str) -> subprocess.Popen[str]:
    """Start a run of the example, eight people, over HTTP."""
    command = [sys.executable, "-m", "perdure.cli", "run", str(EXAMPLE), "--out", str(out)]
    flags = ["--n", "8", "--model", "http", "--model-name", "test-model", "--key-env", "CANARY"]
    flags += ["--price", "0.15,0.60"]
    process = subprocess.Popen(
        [*command, *flags, "--base-url", server.base_url, "--quiet", "--json", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CANARY": KEY},
    )
    STARTED.append(process)
    return process


def digests(said: str) -> list[str]:
    """Read each world's digest from what a run said."""
    return [world["digest"] for world in json.loads(said)["result"]["worlds"]]


def ask(command: str, out: Path) -> tuple[int, Any]:
    """Run a command in a process of its own; give its exit status and its document."""
    done = subprocess.run(
        [sys.executable, "-m", "perdure.cli", command, str(out), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CANARY": KEY},
    )
    return done.returncode, json.loads(done.stdout)


def read(command: str, out: Path) -> tuple[int, Any]:
    """Call a reading command in this process; give its exit status and its document."""
    return said_by(out.parent, command, str(out))


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is so, while a process lives."""
    while not is_so():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)  # noqa: TID251 - a real process is waited for


def wait_for_calls(server: MisbehavingServer, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until the server has seen so many calls."""
    wait_until(lambda: server.calls >= count, process)


def kill_after(server: MisbehavingServer, calls: int, out: Path) -> None:
    """Start a run and kill it with so many calls answered, and more in flight."""
    with gate(server, calls):
        process = start(server, out)
        wait_for_calls(server, calls + 1, process)
        process.kill()
        process.communicate()


def test_a_run_over_http_completes_and_keeps_the_key_out_of_everything(
    server: MisbehavingServer, tmp_path: Path
):
    """A real endpoint answers every turn; its key is in no file, and on no screen."""
    out = tmp_path / "run"
    process = start(server, out)
    said, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    document = json.loads(said)
    calls = sum(world["calls"] for world in document["result"]["worlds"])
    assert calls == server.calls
    assert server.keys >= {KEY}
    assert KEY not in said + errors
    assert read("verify", out)[0] == 0
    assert read("export", out)[0] == 0
    for path in out.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_two_processes_give_the_same_digests(server: MisbehavingServer, tmp_path: Path):
    """The same study with the same replies has the same record, whatever process made it."""
    digests = []
    for name in ("one", "two"):
        process = start(server, tmp_path / name)
        said, _ = process.communicate(timeout=100)
        digests.append([world["digest"] for world in json.loads(said)["result"]["worlds"]])
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_finishes_the_open_ticks(
    server: MisbehavingServer, tmp_path: Path, number: signal.Signals
):
    """Ctrl-C ends with 75 and whole ticks; the record is sound and says that it was paused."""
    out = tmp_path / "run"
    with gate(server, 40) as shut:
        process = start(server, out)
        wait_for_calls(server, 41, process)
        process.send_signal(number)
        wait_until(lambda: has_taken(process, number), process)
        shut.open()
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 75
    worlds = json.loads(said)["result"]["worlds"]
    assert all(world.get("tick", -1) >= 0 for world in worlds)
    assert not all(world["state"] == "completed" for world in worlds)
    # Nothing that was paid for is lost: every call the server saw is in a closed tick.
    assert sum(world["calls"] for world in worlds) == server.calls
    assert read("verify", out)[0] == 0
    status, document = read("status", out)
    assert status == 0
    assert document["state"] not in {"running", "completed"}


def test_a_second_stop_signal_stops_at_once(server: MisbehavingServer, tmp_path: Path):
    """Who cannot wait presses Ctrl-C twice: 75 within moments, closed ticks kept."""
    out = tmp_path / "run"
    with gate(server, 0):
        process = start(server, out)
        wait_for_calls(server, 8, process)
        process.send_signal(signal.SIGINT)
        # Two that are pending at once are one.
        wait_until(lambda: has_taken(process, signal.SIGINT), process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 75
    assert read("verify", out)[0] == 0


def test_a_killed_run_is_never_shown_as_running(server: MisbehavingServer, tmp_path: Path):
    """After SIGKILL the record is sound, `status` says interrupted, and `run` goes on from it."""
    out = tmp_path / "run"
    kill_after(server, 60, out)
    assert read("verify", out)[0] == 0
    assert read("status", out)[1]["state"] == "interrupted"
    again = start(server, out)
    said, _ = again.communicate(timeout=60)
    assert again.returncode == 0
    whole = start(server, tmp_path / "whole")
    undisturbed, _ = whole.communicate(timeout=60)
    assert digests(said) == digests(undisturbed)


def test_another_price_is_refused_and_may_be_forced(server: MisbehavingServer, tmp_path: Path):
    """P6: a budget is held by the prices that a run began with; others are named, or forced."""
    out = tmp_path / "run"
    kill_after(server, 40, out)
    dearer = ("--price", "0.15,1.20")
    refused = start(server, out, *dearer)
    said, _ = refused.communicate(timeout=60)
    assert refused.returncode == 78
    error = json.loads(said)["error"]
    assert error["moved"] == ["prices"]
    assert error["wrong"].count("output was 0.6 and is 1.2") == 2
    assert "--force prices" in error["remedy"]
    forced = start(server, out, *dearer, "--force", "prices")
    said, _ = forced.communicate(timeout=60)
    assert forced.returncode == 0, said
    assert read("verify", out)[0] == 0
    marks = read("status", out)[1]["marks"]["forced"]
    assert [[one["name"] for one in mark["moved"]] for mark in marks] == [["prices"]]
    whole = start(server, tmp_path / "whole")
    undisturbed, _ = whole.communicate(timeout=60)
    assert digests(said) == digests(undisturbed)
    spent, at_first = (read("ledger", one)[1] for one in (out, tmp_path / "whole"))
    assert spent["total"]["amount"] > at_first["total"]["amount"]


def test_another_endpoint_goes_on_without_a_word(server: MisbehavingServer, tmp_path: Path):
    """P6: where a model is reached, by which key and how fast, is compared with nothing."""
    out = tmp_path / "run"
    kill_after(server, 40, out)
    with MisbehavingServer(responder=answer, key="sk-other") as elsewhere:
        file = tmp_path / "key"
        file.write_text("sk-other")
        other = ["--base-url", elsewhere.base_url, "--key-file", str(file)]
        command = [sys.executable, "-m", "perdure.cli", "run", str(EXAMPLE), "--out", str(out)]
        flags = ["--n", "8", "--model", "http", "--model-name", "test-model", *other]
        flags += ["--price", "0.15,0.60"]
        done = subprocess.run(
            [*command, *flags, "--quiet", "--json"], capture_output=True, text=True, check=False
        )
        assert elsewhere.calls > 0
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    status, document = read("status", out)
    assert status == 0
    assert document["marks"] == {"forced": [], "diverged": [], "transport": []}


def test_a_second_process_is_turned_away(server: MisbehavingServer, tmp_path: Path):
    """While a run is live, another `run` on its folder ends with 73 and changes nothing."""
    out = tmp_path / "run"
    with gate(server, 20) as shut:
        process = start(server, out)
        wait_for_calls(server, 21, process)
        _require_named(start(server, out), process)
        shut.open()
        process.communicate(timeout=60)
    assert process.returncode == 0


def _require_named(refused: subprocess.Popen[str], holder: subprocess.Popen[str]) -> None:
    """Check that a process was turned away by name: the holder's id, its host, since when."""
    said, _ = refused.communicate(timeout=60)
    assert refused.returncode == 73
    wrong = json.loads(said)["error"]["wrong"]
    found = re.search(r"\(process (\d+) on (.+), since (\d{4}-\d\d-\d\d [\d:]{8}) UTC\)", wrong)
    assert found is not None, wrong
    assert (int(found[1]), found[2]) == (holder.pid, socket.gethostname())
    since = datetime.strptime(f"{found[3]}+0000", "%Y-%m-%d %H:%M:%S%z")
    assert abs(since.timestamp() - Path(f"/proc/{holder.pid}").stat().st_mtime) < 600
    assert holder.poll() is None


def test_after_a_kill_the_new_holder_is_named(server: MisbehavingServer, tmp_path: Path):
    """73 names who holds a run now, not the process that was killed holding it."""
    out = tmp_path / "run"
    with gate(server, 0) as shut:
        first = start(server, out)
        wait_for_calls(server, 1, first)
        _require_named(start(server, out), first)
        first.kill()
        first.communicate()
        second = start(server, out)
        wait_until(lambda: getattr(read_holder(out), "pid", 0) == second.pid, second)
        _require_named(start(server, out), second)
        shut.open()
        second.communicate(timeout=60)
    assert second.returncode == 0


@pytest.mark.parametrize("how", ["stop", "resume"])
def test_a_run_that_is_asked_to_stop_is_continued(
    server: MisbehavingServer, tmp_path: Path, how: str
):
    """`stop` pauses a live run with 75; `resume`, or `run` again, brings it to the same end."""
    out = tmp_path / "run"
    with gate(server, 20) as shut:
        process = start(server, out)
        wait_for_calls(server, 21, process)
        assert ask("stop", out) == (0, {"asked": True})
        wait_until(lambda: not is_asked_to_stop(out), process)
        shut.open()
        process.communicate(timeout=60)
    assert process.returncode == 75
    assert read("status", out)[1]["state"] == "paused"
    assert ask("stop", out) == (0, {"asked": False})
    if how == "resume":
        status, document = ask("resume", out)
        assert status == 0
        said = json.dumps(document)
    else:
        said, _ = start(server, out).communicate(timeout=60)
    undisturbed, _ = start(server, tmp_path / "whole").communicate(timeout=60)
    assert digests(said) == digests(undisturbed)
    assert ask("replay", out)[0] == 0


@pytest.mark.parametrize(
    ("fault", "status"),
    [("status_401", 77), ("status_403", 77), ("status_404", 77), ("status_402", 76)],
)
def test_what_the_endpoint_refuses_ends_the_run_with_its_own_code(
    server: MisbehavingServer, tmp_path: Path, fault: str, status: int
):
    """A refused key, an unknown model and an empty account each end in one sentence."""
    server.play(fault)
    process = start(server, tmp_path / "run")
    said, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in said + errors
    assert KEY not in said + errors


def test_an_unreachable_endpoint_creates_nothing(server: MisbehavingServer, tmp_path: Path):
    """Where nobody answers, the run ends with 69 before its folder exists."""
    out = tmp_path / "run"
    nowhere = server.endpoint("refused")
    process = start(server, out, "--base-url", nowhere)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 69, said
    assert not out.exists()


def test_an_unwritable_folder_is_one_sentence(tmp_path: Path):
    """Where a run cannot write, it says so and where; a file in the folder's place likewise."""
    taken = tmp_path / "file"
    taken.write_text("something")
    command = [sys.executable, "-m", "perdure.cli", "run", str(EXAMPLE), "--n", "4", "--out"]
    done = subprocess.run([*command, taken], capture_output=True, text=True, check=False)
    assert done.returncode == 73
    assert taken.read_text() == "something"
    done = subprocess.run(
        [*command, "/proc/nowhere/run"], capture_output=True, text=True, check=False
    )
    assert done.returncode in {73, 74}
    assert "/proc/nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_works_where_an_event_loop_is_running(tmp_path: Path):
    """In a notebook, `run` is called on a running loop and comes back with its result."""
    loaded = load_study(EXAMPLE, overrides=Overrides(n=4))
    config = runner.RunConfig(
        study=loaded.study,
        population=loaded.population,
        held_out=loaded.held_out,
        study_path=str(EXAMPLE),
        out=str(tmp_path / "run"),
    )

    async def notebook() -> Any:
        return runner.run(config)

    assert asyncio.run(notebook()).exit_status == 0
    assert runner.run(config).exit_status == 0
    other = load_study(EXAMPLE, overrides=Overrides(n=5))
    moved = runner.RunConfig(
        study=other.study,
        population=other.population,
        held_out=other.held_out,
        study_path=str(EXAMPLE),
        out=str(tmp_path / "run"),
    )
    with pytest.raises(MovedError, match=r"population") as refused:
        runner.run(moved)
    assert "population" in refused.value.moved
