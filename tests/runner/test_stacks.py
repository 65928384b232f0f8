"""SIGUSR1 asks a run where it is: every process of it answers, and its record is as if nobody had.

With real processes: code of a study waits in a step, in this process or in a worker's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.runner.stacks import ASKS, forget_unasked, stacks_on_request
from perdure.trace.reader import RunReader

SLOW = '''\
"""A world that waits in a step until it is let go on."""

import time
from pathlib import Path

from perdure.world import ChannelWorld

HERE = Path(__file__).parent


def wait_in_vain(secret):
    """Wait."""
    while not (HERE / "go").exists():
        (HERE / "waiting").touch()
        time.sleep(0.02)


class Slow(ChannelWorld):
    """Waits at tick 1."""

    def step(self, tick, turns, plan, answers):
        """Wait, and step."""
        if tick == 1:
            wait_in_vain("never told")
        return super().step(tick, turns, plan, answers)
'''
KILLED_AT_ONCE = """\
import os, signal, sys
from perdure.cli.entry import execute
from perdure.runner import assembly

assembly.look_again = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
execute(sys.argv[1:])
"""
STUDY = SAMPLE.replace("seeds: [1, 2]", "seeds: [1]").replace("horizon: 4", "horizon: 2")
STUDY = (
    STUDY.replace("waves: [0, 3]", "waves: [0]").replace(", 2: [c2]", "").replace(", 2: [c1]", "")
)
STUDY = STUDY.replace("  activation: 0.5\n", "  activation: 0.5\n  world: slow:Slow\n")


def started(study: Path, out: Path, workers: int) -> subprocess.Popen[str]:
    """Start a run in a process of its own."""
    words = ("run", study / "study.yaml", "--out", out, "--model", "baseline", "--quiet")
    return subprocess.Popen(
        [sys.executable, "-m", "perdure.cli", *map(str, words), "--workers", str(workers)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(due: object, what: str) -> None:
    """Wait until something is so."""
    for _ in range(3_000):
        if due():  # type: ignore[operator]
            return
        time.sleep(0.02)  # noqa: TID251 - a real process is waited for
    pytest.fail(f"waited in vain for {what}")


def said(out: Path, name: str) -> str:
    """Give what the processes of one kind have written so far."""
    return "".join(path.read_text("utf-8") for path in out.glob(f"logs/stacks-{name}*.txt"))


def digests(out: Path) -> list[tuple[str, int]]:
    """Give the digest of every world, and of how many events it is."""
    with RunReader.open(out) as reader:
        return [(one.digest, one.turns) for one in reader.outcomes.values()]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_that_is_asked_says_where_it_is(tmp_path: Path, workers: int) -> None:
    """Threads and tasks of each process, no value of a variable; the digests stay as they are."""
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    asked, unasked = tmp_path / "asked", tmp_path / "unasked"
    run = started(tmp_path, asked, workers)
    try:
        until((tmp_path / "waiting").exists, "the step")
        where = "worker" if workers else "run"
        for times in (1, 2):
            run.send_signal(signal.SIGUSR1)
            until(lambda due=times: said(asked, where).count(" tasks.") == due, "its tasks")
            until(lambda due=times: said(asked, "run").count(" tasks.") == due, "those of the run")
        assert run.poll() is None
    finally:
        (tmp_path / "go").touch()
        _, errors = run.communicate(timeout=100)
    assert run.returncode == 0, errors
    assert said(asked, where).count("in wait_in_vain") >= 2
    for name in {where, "run"}:
        assert "(most recent call first):" in said(asked, name)
        assert "\nTask-1:\n" in said(asked, name)
        assert "never told" not in said(asked, name)
    assert "in run_async" in said(asked, "run")
    again = started(tmp_path, unasked, workers)
    _, errors = again.communicate(timeout=100)
    assert again.returncode == 0, errors
    assert digests(asked) == digests(unasked)
    assert not list((unasked / "logs").glob("stacks-*"))


def test_a_run_killed_before_there_is_a_record_is_begun_again(tmp_path: Path) -> None:
    """It can be asked from its first instants on; what it made for that is no obstacle later."""
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(SAMPLE, encoding="utf-8")
    out = tmp_path / "run"
    words = ["run", str(tmp_path / "study.yaml"), "--out", str(out), "--model", "baseline"]
    killed = subprocess.run([sys.executable, "-c", KILLED_AT_ONCE, *words], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name for path in (out / "logs").iterdir()] == ["stacks-run.txt"]
    assert not (out / "run.db").exists()
    again = started(tmp_path, out, 0)
    _, errors = again.communicate(timeout=100)
    assert again.returncode == 0, errors


def test_other_handlers_and_files_are_left_as_they_were(tmp_path: Path) -> None:
    """What was there before is there after; a file in which something stands stays."""
    heard: list[int] = []
    before = signal.signal(ASKS, lambda number, _: heard.append(number))
    try:
        with stacks_on_request(tmp_path, "run") as also:
            also.append(lambda: heard.append(0))
            os.kill(os.getpid(), ASKS)
        assert heard == [0]
        with stacks_on_request(tmp_path, "unasked"):
            pass
        os.kill(os.getpid(), ASKS)
        assert heard == [0, ASKS]
    finally:
        signal.signal(ASKS, before)
    forget_unasked(tmp_path)
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["stacks-run.txt"]


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    """It is a help for people: where it cannot be given, everything else goes on."""
    (tmp_path / "logs").write_text("no folder", encoding="utf-8")
    with stacks_on_request(tmp_path, "run"):
        pass
    forget_unasked(tmp_path)
    assert (tmp_path / "logs").is_file()
