"""A drive killed at each of its safe points and inside a tool goes on, and does nothing twice.

Real processes, real git, a real tool server, and a model that acts on what it is told. The chain
of kills ends with a drive that is done; each one before it is closed once, by whoever came next.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.crash.careful_model import HANDED, NOTES, TASK, Careful
from tests.crash.drive_killer import LEDGER_POINTS
from tests.crash.telling import tell

from perdure.agent.drive.tools.process import MARK
from perdure.agent.drive.tools.warden import missing
from perdure.base.clock import SystemClock
from perdure.base.crashpoints import POINTS
from perdure.records.drive import (
    CheckpointCommitted,
    ChildEnded,
    ChildStarted,
    Completion,
    DriveLine,
    EndCause,
    HandoffWritten,
    RunFrozen,
    ToolCalled,
    ToolResult,
)
from perdure.records.tools import AnswerStatus
from perdure.testing import MisbehavingServer
from perdure.trace.drive_reader import DriveReader

FULL = os.environ.get("PERDURE_CRASH") == "full"
# Those of its ledger are killed at in a suite of their own: tests/crash/test_drive_ledger.py.
SAFE_POINTS = [one for one in POINTS if one.startswith("drive.") and one not in LEDGER_POINTS]
INSIDE = "inside a command"
INSIDE_SERVER = "inside the tool server"
# A kill there leaves a call whose result nobody knows.
ACTING = ("drive.before-tool", "drive.tool-ran", INSIDE, INSIDE_SERVER)
CLOCK = SystemClock()
DONE = 0
KILLED = -9

pytestmark = pytest.mark.timeout(3_600 if FULL else 300)


class Place:
    """A room with a repository of somebody's own, a drive's folder beside it, and an endpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "drive"
        self.room = folder / "room"
        self.begun = folder / "begun"
        self.pid = folder / "pid"
        self.room.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("commit", "--quiet", "--allow-empty", "--message", "as it was")
        self.slow = ""
        self.model = Careful(str(self.room), self._slow)

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        """Ask git about the room's own repository, or about another one."""
        named = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        ended = subprocess.run(
            ["git", *named, *arguments],
            cwd=folder or self.room,
            capture_output=True,
            text=True,
            check=True,
        )
        return ended.stdout

    def _slow(self, line: str) -> str:
        """Let the command that writes a line say that it has begun, and take its time."""
        return "" if line != self.slow else "touch begun; sleep 60; "

    def process(self, endpoint: str, more: Sequence[str], crash_at: str) -> subprocess.Popen[str]:
        """Start the drive, or go on with it."""
        if (self.out / "drive.db").exists():
            words = ["resume", str(self.out)]
        else:
            words = [TASK, "--out", str(self.out), "--room", str(self.room), *more]
            words += ["--commands", "--hand-down", "--model", "http", "--model-name", "careful"]
            words += ["--base-url", endpoint, "--price", "1,1"]
            words += ["--unsandboxed"] if missing() else []
        return subprocess.Popen(
            [sys.executable, "-m", "perdure.cli", "drive", *words, "--quiet"],
            env={**os.environ, "PERDURE_CRASH_AT": crash_at},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def go(self, endpoint: str, more: Sequence[str] = (), crash_at: str = "") -> int:
        """Drive until it is killed there, or is done; nothing that it started is left."""
        started = self.process(endpoint, more, "" if crash_at.startswith("inside") else crash_at)
        self.pid.write_text(str(started.pid))
        if crash_at == INSIDE:
            until(lambda: (self.room / "begun").exists() or started.poll() is not None)
            started.kill()
        _, wrong = started.communicate(timeout=200)
        assert started.returncode in (DONE, KILLED), wrong
        until(lambda: not left_behind(self.folder))
        return started.returncode

    def arm_server(self) -> None:
        """Let the next commit by the tool server kill the drive, when it is made."""
        hook = self.room / ".git" / "hooks" / "post-commit"
        hook.write_text(f'#!/bin/sh\nrm "$0"\nkill -9 $(cat {self.pid})\nsleep 60\n')
        hook.chmod(0o755)


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = CLOCK.now_s() + 60
    while not holds():
        assert CLOCK.now_s() < end, "it never came to that"
        asyncio.run(CLOCK.sleep(0.01))


def left_behind(folder: Path) -> list[str]:
    """List the processes in a folder that a drive's tools started, and that still run."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if (
                not process.name.isdigit()
                or f"{MARK}=".encode() not in (process / "environ").read_bytes()
            ):
                continue
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_bytes().decode())
        except OSError:
            continue  # it is gone, or is somebody else's
    return found


def lines_of(place: Place) -> list[DriveLine]:
    """Read a whole ledger, each line checked against its chain."""
    with DriveReader.open(place.out) as reader:
        reader.verify()
        return [stored.line for stored in reader.lines()]


def check_closed(lines: list[DriveLine]) -> Counter[EndCause]:
    """See each drive closed once and last, with no call or child left open; count the causes."""
    causes: Counter[EndCause] = Counter()
    for run in dict.fromkeys(line.run for line in lines):
        own = [line for line in lines if line.run == run]
        kinds = Counter(map(type, own))
        assert kinds[HandoffWritten] == kinds[RunFrozen] == 1
        assert isinstance(own[-2], HandoffWritten)
        assert isinstance(own[-1], RunFrozen)
        called = [line.call.id for line in own if isinstance(line, ToolCalled)]
        answered = [line.call_id for line in own if isinstance(line, ToolResult)]
        assert called == answered
        begun = [line.child for line in own if isinstance(line, ChildStarted)]
        assert begun == [line.child for line in own if isinstance(line, ChildEnded)]
        unknown = [one for one in own if _is_unknown(one)]
        assert not unknown or own[-1].cause is EndCause.CRASH
        assert bool(unknown) == ("Look first whether" in own[-2].next_step)
        causes[own[-1].cause] += 1
    return causes


def _is_unknown(line: DriveLine) -> bool:
    return isinstance(line, ToolResult) and line.status is AnswerStatus.UNKNOWN


def check_effects(place: Place, *, has_git: bool) -> None:
    """Nothing was done twice, and nothing is missing."""
    journal = (place.room / "journal.log").read_text().splitlines()
    assert sorted(journal) == sorted([*NOTES, HANDED])
    for note in NOTES:
        assert (place.room / f"{note}.txt").read_text() == f"The note {note}.\n"
    messages = place.git("log", "--format=%s").splitlines()
    notes = [f"note {note}" for note in NOTES] if has_git else []
    assert sorted(messages) == sorted(["as it was", *notes])


def check_history(place: Place, lines: list[DriveLine]) -> None:
    """Hold the history against the ledger, commit by commit, and its end against the room."""
    history = place.out / "history.git"
    told = [line for line in lines if isinstance(line, CheckpointCommitted)]
    chain = place.git("log", "--reverse", "--format=%H", folder=history).split()
    # A commit whose line was lost with its process is in the chain all the same.
    assert [one for one in chain if one in {line.oid for line in told}] == [one.oid for one in told]
    assert len(chain) - len(told) <= 1
    changed: list[str] = []
    for line in told:
        names = place.git(
            "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", line.oid, folder=history
        )
        assert tuple(names.split()) == line.files
        changed += line.files
    lost = [one for one in chain if one not in {line.oid for line in told}]
    for oid in lost:
        changed += place.git(
            "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", oid, folder=history
        ).split()
    counts = Counter(changed)
    assert counts["journal.log"] == len(NOTES) + 1  # each of its lines is a state of its own
    assert all(counts[f"{note}.txt"] == 1 for note in NOTES)
    subjects = place.git("log", "--format=%s", folder=history)
    assert "After " in subjects
    assert "run_command" in subjects
    kept = place.folder / "kept"
    kept.mkdir()
    place.git("--work-tree", str(kept), "checkout", "--quiet", chain[-1], "--", ".", folder=history)
    for file in kept.iterdir():
        assert file.read_bytes() == (place.room / file.name).read_bytes()
    shutil.rmtree(kept)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Give a place in which to drive."""
    return Place(tmp_path)


@pytest.fixture
def endpoint(place: Place) -> Iterator[str]:
    """Serve the place's model."""
    with MisbehavingServer(responder=place.model, models=("careful",)) as server:
        yield server.base_url


def killed_and_done(
    place: Place, endpoint: str, kills: Sequence[str], more: Sequence[str] = ()
) -> None:
    """Kill a drive at each place, one after the other, and let it come to its end."""
    for at in kills:
        if at == INSIDE:
            place.slow = next(note for note in (*NOTES, HANDED) if not _has_line(place, note))
        if at == INSIDE_SERVER:
            place.arm_server()
        status = place.go(endpoint, more, at)
        assert status == KILLED, f"{at} is never reached"
        place.slow = ""
        (place.room / "begun").unlink(missing_ok=True)
    assert place.go(endpoint, more) == DONE
    lines = lines_of(place)
    causes = check_closed(lines)
    # Before its first request nothing depends on a drive, and nothing of it is written.
    left = [at for at in kills if at not in ("drive.before-assemble", "drive.before-assemble:1")]
    assert causes[EndCause.CRASH] >= len(left)
    ends = [line for line in lines if isinstance(line, RunFrozen) and "." not in line.run]
    assert [one.completion is Completion.DONE for one in ends] == [False] * len(left) + [True]
    unknown = {line.run for line in lines if _is_unknown(line)}
    assert len(unknown) == sum(at.partition(":")[0] in ACTING for at in kills)
    check_effects(place, has_git=bool(more))
    check_history(place, lines)
    tell(
        f"kills of a drive: {len(kills)}, {sum(causes.values())} drives, {place.model.asked} asked"
    )


def _has_line(place: Place, line: str) -> bool:
    path = place.room / "journal.log"
    return path.exists() and line in path.read_text().splitlines()


def with_server() -> tuple[str, ...]:
    """Give the options for a real tool server, which changes a repository."""
    return ("--server", f"git={sys.executable} -m mcp_server_git", "--trust", "git")


def test_a_drive_killed_at_every_safe_point_does_nothing_twice(place: Place, endpoint: str) -> None:
    """One after the other, at every point that there is, and inside a command."""
    at = SAFE_POINTS.index("drive.tool-ran")
    killed_and_done(place, endpoint, [*SAFE_POINTS[:at], INSIDE, *SAFE_POINTS[at:]])


def test_a_tool_server_under_a_killed_drive_acts_once(place: Place, endpoint: str) -> None:
    """A server from a registry, on real files: killed inside its call, and after it."""
    some = [INSIDE_SERVER, "drive.tool-ran:3"]
    kills = [*SAFE_POINTS[:-3], INSIDE_SERVER, INSIDE, *SAFE_POINTS[-3:]] if FULL else some
    killed_and_done(place, endpoint, kills, with_server())


@pytest.mark.skipif(not FULL, reason="each point by itself takes long")
@pytest.mark.parametrize("hit", [1, 2, 3])
@pytest.mark.parametrize("point", SAFE_POINTS)
def test_a_single_kill_at_any_turn(place: Place, endpoint: str, point: str, hit: int) -> None:
    """Each point, the first times that it is met, with the server at work."""
    once = ("drive.before-spawn", "drive.child-ended")
    if hit > (1 if point in once else 2 if point == "drive.before-freeze" else 3):
        pytest.skip("it is not met so often")
    killed_and_done(place, endpoint, [f"{point}:{hit}"], with_server())
