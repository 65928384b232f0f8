"""That a run which is stopped and goes on is the run that never was: time asleep is nobody's fault.

SIGSTOP on a real process over a real server, for longer than the run waits for anything: at named
places, and from outside while calls are in flight. Nothing ends by it, is asked again, or charged.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crash.run_client import LIMIT_S
from tests.crash.watching_server import Asked, WatchingServer
from tests.support.gate import gate

from perdure.base.crashpoints import POINTS
from perdure.records.events import Cost
from perdure.records.registry import RunClosed, RunOpened, RunState
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify

CLIENT = Path(__file__).with_name("run_client.py")
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "vote96" / "study.yaml"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
STARTED: list[subprocess.Popen[bytes]] = []
ASLEEP_S = LIMIT_S + 0.5
IS_FULL = os.environ.get("PERDURE_CRASH") == "full"
# A place in every stretch of a tick's life: before a call is sent, with its reply in hand, between
# two ticks.
QUICK = ("call.intended:30", "call.answered:60", "tick.after-witness:4")
# What every run meets; the others are met around losses, rungs, new scores, and drives.
MET = ("run.", "partition.", "tick.", "call.", "world.")
FULL = (
    *(f"{name}:1" for name in POINTS if name.startswith(MET)),
    *(f"{name}:{hit}" for name in ("call.intended", "call.answered") for hit in (18, 35, 70)),
    *(f"{name}:{hit}" for name in ("tick.opened", "tick.after-append") for hit in (3, 6)),
)
# The calls that come first in their ticks: nothing is under way, and one is about to be sent.
FIRST_OF_A_TICK = ("call.intended:21", "call.intended:36", "call.intended:63")
PLACES = FULL if IS_FULL else QUICK
PARTS = 6 if IS_FULL else 1


@pytest.fixture(scope="module")
def server() -> Iterator[WatchingServer]:
    """Give one server to all runs."""
    with WatchingServer() as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_left_stopped() -> Iterator[None]:
    """End what a test that failed leaves behind, asleep or not."""
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        with process:
            process.wait()


def start(server: WatchingServer, out: Path, *places: str) -> subprocess.Popen[bytes]:
    """Start a run that waits for nothing long, and stops itself at these places."""
    return begin([str(CLIENT), server.base_url, str(out), *(places or ("nowhere",))])


def begin(arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start a Python program of this tree."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    STARTED.append(process)
    return process


@pytest.fixture(scope="module")
def whole(
    server: WatchingServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], Counter[bytes]]:
    """Give digests and requests of the run that is never stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    finish(start(server, out))
    return digests(out), keys(server.asked)


def finish(process: subprocess.Popen[bytes]) -> None:
    """Let a run end by itself, without a word."""
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")


def digests(out: Path) -> list[str]:
    """Verify a run, and give the digest of every world."""
    report = verify(out)
    assert report.is_sound, report.every_finding
    return [world.digest for world in report.worlds]


def keys(asked: list[Asked]) -> Counter[bytes]:
    """Count what was asked."""
    return Counter(one.key for one in asked)


def sleep_until(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until something is so, while the process lives."""
    while not is_so():
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)  # noqa: TID251 - a real process is waited for


def sleep_and_go_on(process: subprocess.Popen[bytes]) -> None:
    """Leave a stopped process asleep, then wake it."""
    time.sleep(ASLEEP_S)  # noqa: TID251 - longer than the process waits for anything
    process.send_signal(signal.SIGCONT)


def is_stopped(process: subprocess.Popen[bytes]) -> bool:
    """Wait until a process has stopped itself, or ended; say which."""
    state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert state is not None
    if state.si_code != os.CLD_STOPPED:
        return False
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    return True


def require_nothing_happened(
    out: Path, server: WatchingServer, begun: int, whole: tuple[list[str], Counter[bytes]]
) -> None:
    """Require the run that never was stopped: its digests, its requests, no attempt that failed."""
    assert digests(out) == whole[0]
    assert keys(server.asked[begun:]) == whole[1]
    with RunReader.open(out) as reader:
        assert reader.log == (
            RunOpened(epoch=1),
            RunClosed(state=RunState.COMPLETED, exit_status=0),
        )
        for world in reader.worlds:
            for event in reader.events(world.world_id, {"cost"}):
                assert isinstance(event.payload, Cost)
                assert (event.payload.failed, event.payload.attempt) == (None, 0)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_that_stops_anywhere_goes_on_as_if_it_never_had(
    server: WatchingServer, whole: tuple[list[str], Counter[bytes]], tmp_path: Path, part: int
):
    """Stopped before a call, with its reply in hand, between ticks: nothing is asked or charged."""
    places = PLACES[part::PARTS]
    begun, stops = len(server.asked), 0
    process = start(server, tmp_path / "run", *places)
    while is_stopped(process):
        stops += 1
        sleep_and_go_on(process)
    finish(process)
    assert stops == len(places)
    require_nothing_happened(tmp_path / "run", server, begun, whole)


def test_replies_that_come_while_a_run_is_stopped_are_used(
    server: WatchingServer, whole: tuple[list[str], Counter[bytes]], tmp_path: Path
):
    """With all places in flight the run is stopped from outside; every reply is used after it."""
    begun, process = len(server.asked), None
    for let in (5, 32, 20) if IS_FULL else (5, 32):  # none near the end of a tick
        with gate(server, let, beside=server.arrive) as shut:
            process = process or start(server, tmp_path / "run")
            sleep_until(lambda: shut.held >= 4, process)
            process.send_signal(signal.SIGSTOP)
            assert is_stopped(process)
            held = shut.held
            shut.open()
            sleep_until(lambda: shut.sent >= held, process)  # noqa: B023 - called here
            sleep_and_go_on(process)
    assert process is not None
    finish(process)
    require_nothing_happened(tmp_path / "run", server, begun, whole)


def test_a_run_that_stops_while_it_asks_whether_the_endpoint_is_there(
    server: WatchingServer, whole: tuple[list[str], Counter[bytes]], tmp_path: Path
):
    """The reply to the very first question waits for the run, and the run takes it."""
    begun, looked = len(server.asked), len(server.requests)
    server.latency_s = 0.3
    process = start(server, tmp_path / "run")
    sleep_until(lambda: len(server.requests) > looked, process)
    process.send_signal(signal.SIGSTOP)
    assert is_stopped(process)
    sleep_and_go_on(process)
    finish(process)
    require_nothing_happened(tmp_path / "run", server, begun, whole)


def test_connections_that_are_closed_while_a_run_is_stopped_are_made_anew(
    server: WatchingServer, whole: tuple[list[str], Counter[bytes]], tmp_path: Path
):
    """A server that gives up idle connections meanwhile costs the run nothing."""
    begun = len(server.asked)
    process = start(server, tmp_path / "run", *FIRST_OF_A_TICK)
    while is_stopped(process):
        time.sleep(0.2)  # noqa: TID251 - so that the last replies have been sent
        server.hang_up()
        sleep_and_go_on(process)
    finish(process)
    require_nothing_happened(tmp_path / "run", server, begun, whole)


def test_nobody_else_may_work_on_a_run_whose_process_is_stopped(tmp_path: Path):
    """`perdure run` on the folder of a stopped run ends with 73, and the run goes on."""
    out = tmp_path / "run"
    with WatchingServer(latency_s=(0.05, 0.1)) as server:
        command = ["-m", "perdure.cli", "run", str(EXAMPLE), "--out", str(out), "--n", "8"]
        command += ["--model", "http", "--model-name", "test-model", "--price", "0,0", "--quiet"]
        command += ["--base-url", server.base_url]
        first = begin(command)
        sleep_until(lambda: len(server.asked) >= 12, first)
        first.send_signal(signal.SIGSTOP)
        assert is_stopped(first)
        server.read_all()
        asked = len(server.asked)
        second = begin(command)
        _, errors = second.communicate(timeout=60)
        assert second.returncode == 73, errors
        assert len(server.asked) == asked
        first.send_signal(signal.SIGCONT)
        finish(first)
    assert verify(out).is_sound
