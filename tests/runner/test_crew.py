"""Worlds in worker processes: the same digests, each one's fault its own, and stops that are clean.

On real processes and a real server; each test says which promise it is about.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.crash.test_run_kills import environment
from tests.crash.watching_server import WatchingServer
from tests.crash.worker_client import config_of
from tests.support.sizes import only_at_full_size

from perdure import runner
from perdure.analysis.ledger import build_ledger
from perdure.base.clock import SystemClock
from perdure.base.errors import (
    EXIT_DONE,
    EXIT_MOVED,
    EXIT_SOME_FAILED,
    EXIT_STOPPED,
    EXIT_STORAGE,
    HeldError,
    MovedError,
)
from perdure.records.fingerprint import Code
from perdure.records.registry import RunClosed, RunState, WorldState
from perdure.records.result import RunResult
from perdure.runner import assembly, worker_process
from perdure.runner.config import workers_by_default
from perdure.runner.worker_process import manner
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify
from perdure.trace.workers_lock import WORKERS_LOCK_NAME, WorkersLock, wait_for_workers

CLIENT = Path(__file__).parents[1] / "crash" / "worker_client.py"
ROOT = Path(__file__).parents[2]
SMALL = {"seeds": [1], "personas": 6}
STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(scope="module")
def server() -> Iterator[WatchingServer]:
    """Give one server to all runs."""
    with WatchingServer(latency_s=(0.001, 0.01)) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """End whatever a test that failed leaves behind."""
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.communicate()


def start(server: WatchingServer, out: Path, /, **options: Any) -> subprocess.Popen[str]:
    """Start a run in a program of its own; `crash_at` arms a crash point there."""
    crash_at = options.pop("crash_at", "")
    process = subprocess.Popen(
        [sys.executable, str(CLIENT), server.base_url, str(out), json.dumps(options)],
        cwd=ROOT,
        env={**environment(), "PERDURE_CRASH_AT": crash_at},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    STARTED.append(process)
    return process


def end(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any]]:
    """Wait for a program; give its exit status and what it said."""
    said, errors = process.communicate(timeout=100)
    assert "Traceback" not in errors, errors
    return process.returncode, json.loads(said)


def run(server: WatchingServer, out: Path, /, **options: Any) -> tuple[int, dict[str, Any]]:
    """Run to the end."""
    return end(start(server, out, **options))


def digests(said: dict[str, Any]) -> dict[str, str]:
    """Give the digest of each world that is completed."""
    return {
        name: world["digest"]
        for name, world in said["worlds"].items()
        if world["state"] == WorldState.COMPLETED
    }


def worlds_of(out: Path, scenarios: set[str]) -> list[str]:
    """Name the worlds of some scenarios."""
    with RunReader.open(out) as reader:
        return [one.world_id for one in reader.worlds if one.scenario in scenarios]


def workers_of(pid: int) -> list[int]:
    """List the live children of a process."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            found += map(int, path.read_text().split())
    return found


@only_at_full_size
def test_twelve_cells_have_the_same_digests_on_four_workers_on_one_and_in_process_in_any_order(
    server: WatchingServer, tmp_path: Path
):
    """P4: in which process a world is driven, after and beside which others, changes nothing."""
    orders: list[dict[str, Any]] = [{}, {"order": "depth", "live": 3}, {"live": 5}]
    ways = [{**order, "workers": workers} for order in orders for workers in (0, 1, 4)]
    found = []
    for place, way in enumerate(ways):
        status, said = run(server, tmp_path / f"{place}", personas=5, ticks=4, **way)
        assert status == EXIT_DONE, (way, said)
        found.append(digests(said))
    assert len(found[0]) == 12
    assert all(one == found[0] for one in found)


@pytest.mark.timeout(180)
def test_each_worlds_fault_is_its_own(server: WatchingServer, tmp_path: Path):
    """P10: all at once, and what an agent does to the loop and the tasks beside it."""
    wrong = ["raises", "exits", "hangs", "sleeps", "spoils", "stops", "cancels", "quits"]
    cells = ["calm", *wrong[:4], "mild", *wrong[4:], "moves"]
    status, alone = run(server, tmp_path / "alone", cells=["calm", "mild", "moves"], personas=6)
    assert status == EXIT_DONE
    # As it is given on a command line: one of the worlds changes the folder in which we are.
    out = Path(os.path.relpath(tmp_path / "run", ROOT))
    status, said = run(server, out, cells=cells, workers=2, step_limit_s=8.0, personas=6)
    assert status == EXIT_SOME_FAILED
    with RunReader.open(out) as reader:
        worlds = {one.scenario: said["worlds"][one.world_id] for one in reader.worlds}
    assert sorted(digests(said)) == sorted(worlds_of(out, {"calm", "mild", "moves"}))
    assert worlds["calm"]["digest"] in digests(alone).values()
    for name, cause in {
        "raises": r"ZeroDivisionError: the town is gone",
        "exits": r"ended with exit status 3, for the third time",
        "spoils": r"for the third time",
        "hangs": r"gave no word for 8 s",
        "sleeps": r"gave no word for 8 s",
        "stops": r"code of the study stopped its event loop .* for the third time",
        "cancels": r"code of the study stopped its event loop .* for the third time",
        "quits": r"It raised CancelledError\. ",
    }.items():
        assert worlds[name]["state"] == "failed"
        if name not in {"stops", "cancels", "quits"}:
            # What spoils its line may close the tick before it is ended for that.
            assert worlds[name]["tick"] in ({2, 3} if name == "spoils" else {2})
        assert f"tick {worlds[name]['tick'] + 1}" in worlds[name]["cause"]
        assert re.search(cause, worlds[name]["cause"]), worlds[name]
    assert verify(out).is_sound
    with RunReader.open(out) as reader:
        assert reader.journal is not None, "no death leaves a journal that cannot be used"


def test_a_death_costs_no_other_world_its_place(server: WatchingServer, tmp_path: Path):
    """P10, P11: they go on a few at a time, and nobody is taken to hang who has no place yet."""
    calm = [f"calm{number}" for number in range(20)]
    options = {"cells": [*calm, "exits"], "personas": 4, "workers": 2, "step_limit_s": 3.0}
    process, most = start(server, tmp_path / "run", **options), 0
    while process.poll() is None:
        most = max(most, len(workers_of(process.pid)))
        time.sleep(0.02)  # noqa: TID251 - a real process is waited for
    status, said = end(process)
    assert status == EXIT_SOME_FAILED
    states = [world["state"] for world in said["worlds"].values()]
    assert states.count(WorldState.COMPLETED) == 20, said
    assert "exit status 3, for the third time" in str(said["worlds"])
    assert 2 <= most < 10


def test_what_an_agent_breaks_for_all_of_its_process_is_its_own_failure(
    server: WatchingServer, tmp_path: Path
):
    """P10: an error that is nobody's own sends each of them on alone; then it is known whose."""
    out, cells = tmp_path / "run", ["calm", "breaks", "mild"]
    process = start(server, out, cells=cells, personas=4, workers=1)
    said, _ = process.communicate(timeout=100)  # its traceback is the worker's
    worlds = {name: one["state"] for name, one in json.loads(said)["worlds"].items()}
    assert sorted(worlds_of(out, {"calm", "mild"})) == sorted(
        name for name, state in worlds.items() if state == WorldState.COMPLETED
    )
    assert list(worlds.values()).count(WorldState.FAILED) == 1


@pytest.mark.parametrize("wrong", ["stops", "cancels"])
def test_in_one_process_code_that_ends_the_loop_is_named(
    server: WatchingServer, tmp_path: Path, wrong: str
):
    """It ends the run, whose record is whole: with a worker its world fails alone."""
    cells = {"cells": ["calm", wrong, "mild"], "personas": 4}
    status, said = run(server, tmp_path / "run", **cells, workers=0)
    assert status == EXIT_SOME_FAILED
    assert "code stopped the event loop of the run, or cancelled its tasks" in said["error"]
    status, said = run(server, tmp_path / "run", **cells, workers=1)
    assert status == EXIT_SOME_FAILED
    assert len(digests(said)) == 2
    assert verify(tmp_path / "run").is_sound


def test_what_a_study_starts_in_a_worker_ends_with_it(server: WatchingServer, tmp_path: Path):
    """P7: a child that a world left behind keeps nobody from going on with the run."""
    status, _ = run(server, tmp_path / "run", cells=["calm", "forks"], personas=4, workers=1)
    assert status == EXIT_DONE
    asyncio.run(wait_for_workers(tmp_path / "run", SystemClock(), limit_s=5.0))


@only_at_full_size
def test_a_stop_leaves_worlds_that_wait_for_a_process_where_they_are(
    server: WatchingServer, tmp_path: Path
):
    """They are not started one after the other for nothing; the run goes on to the same end."""
    cells = [*(f"calm{number}" for number in range(12)), "exits"]
    options = {"cells": cells, "personas": 4, "workers": 1, "ticks": 8}
    process = start(server, tmp_path / "run", **options)
    while not (first := workers_of(process.pid)):
        time.sleep(0.01)  # noqa: TID251 - a real process is waited for
    while first[0] in workers_of(process.pid):
        time.sleep(0.005)  # noqa: TID251 - until it dies of the one world that ends it
    process.send_signal(signal.SIGINT)
    followers: set[int] = set()
    while process.poll() is None:
        followers.update(workers_of(process.pid))
        time.sleep(0.005)  # noqa: TID251 - a real process is waited for
    assert end(process)[0] == EXIT_STOPPED
    assert len(followers) < 6, "thirteen worlds waited for one"
    status, said = run(server, tmp_path / "run", **options)
    assert status == EXIT_SOME_FAILED
    assert len(digests(said)) == 12
    assert verify(tmp_path / "run").is_sound


def test_a_world_that_eats_memory_is_named_and_the_others_complete(
    server: WatchingServer, tmp_path: Path
):
    """P10: with a limit on memory, whoever is over it ends alone, even beside others."""
    # Long enough that the others have to wait for it.
    cells = {"cells": ["calm", "eats", "mild"], "ticks": 10, "personas": 6}
    out = tmp_path / "run"
    status, said = run(server, out, **cells, workers=1, worker_bytes=1_500_000_000)
    assert status == EXIT_SOME_FAILED
    with RunReader.open(out) as reader:
        worlds = {one.scenario: said["worlds"][one.world_id] for one in reader.worlds}
    assert worlds["eats"]["state"] == "failed"
    assert "MemoryError" in worlds["eats"]["cause"]
    assert len(digests(said)) == 2
    assert "ran out of the memory" in said["said"][0]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_busy_step_makes_no_call_of_another_world_time_out(
    server: WatchingServer, tmp_path: Path, workers: int
):
    """A step of some seconds beside calls that may take one: nothing fails, nothing is retried."""
    limits = {"attempt_timeout_s": 1.0, "deadline_s": 2.0, "retries_max": 0}
    begun = len(server.asked)
    cells = ["calm", "busy", "mild"]
    status, said = run(server, tmp_path / "run", cells=cells, workers=workers, endpoint=limits)
    assert status == EXIT_DONE, said
    with RunReader.open(tmp_path / "run") as reader:
        outcomes = list(reader.outcomes.values())
    assert sum(one.turns_failed for one in outcomes) == 0
    assert sum(one.calls for one in outcomes) == len(server.asked) - begun


@pytest.mark.parametrize(
    "point", ["partition.born", "tick.opened:2", "tick.before-append:2", "tick.after-append"]
)
def test_a_worker_that_dies_again_and_again_loses_nothing(
    server: WatchingServer, tmp_path: Path, point: str
):
    """P3, P4: at each of these instants, in every process; a tick that is closed is progress.

    Between a tick's append and its telling, too: it is then charged by whoever comes after.
    """
    cells = {"cells": ["calm", "mild"], "ticks": 4, "personas": 6}
    _, whole = run(server, tmp_path / "whole", **cells)
    begun = len(server.asked)
    status, said = run(server, tmp_path / "run", **cells, workers=2, crash_at=point)
    assert status == EXIT_DONE, said
    assert digests(said) == digests(whole)
    assert said["said"]
    report = verify(tmp_path / "run")
    assert report.is_sound, report.every_finding
    with RunReader.open(tmp_path / "run") as reader:
        calls = sum(one.calls for one in reader.outcomes.values())
        assert reader.log[-1] == RunClosed(state=RunState.COMPLETED, exit_status=0)
        assert build_ledger(reader).total.amount == said["cost"] == whole["cost"]
    assert calls == len(server.asked) - begun


def test_calls_in_flight_of_a_dead_worker_come_to_their_end_and_are_used(tmp_path: Path):
    """P3: whoever comes after waits for them; none is made again, however long they take."""
    with WatchingServer(latency_s=(4.0, 4.0)) as slow:
        out = tmp_path / "run"
        process = start(slow, out, cells=["calm"], ticks=2, personas=3, workers=1)
        while not slow.asked:
            assert process.poll() is None
            time.sleep(0.005)  # noqa: TID251 - a real process is waited for
        (worker,) = workers_of(process.pid)
        os.kill(worker, signal.SIGKILL)
        status, said = end(process)
        assert status == EXIT_DONE, said
        (told,) = said["said"]
        assert "killed by SIGKILL" in told
        assert "its world goes on" in told
        assert len(slow.asked) == len({one.key for one in slow.asked})


def test_a_world_whose_process_always_dies_fails_and_is_taken_up_by_the_next_sitting(
    server: WatchingServer, tmp_path: Path
):
    """Three strikes end a sitting's patience, not the run's."""
    cells = {"cells": ["calm", "mild"], "ticks": 4, "personas": 6}
    out = tmp_path / "run"
    status, said = run(server, out, **cells, workers=2, crash_at="tick.before-append")
    assert status == EXIT_SOME_FAILED
    causes = [world["cause"] for world in said["worlds"].values()]
    assert all("killed by SIGKILL" in cause and "third time" in cause for cause in causes)
    status, said = run(server, out, **cells, workers=2)
    assert status == EXIT_DONE, said
    assert len(digests(said)) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_finishes_the_open_ticks_in_the_workers(
    server: WatchingServer, tmp_path: Path, number: signal.Signals
):
    """Even if the signal reaches every process, as a service manager sends it."""
    begun = len(server.asked)
    process = start(server, tmp_path / "run", personas=16, workers=2, seeds=[1])
    while len(server.asked) < begun + 40:
        assert process.poll() is None
        time.sleep(0.005)  # noqa: TID251 - a real process is waited for
    for pid in [*workers_of(process.pid), process.pid]:
        os.kill(pid, number)
    status, said = end(process)
    assert status == EXIT_STOPPED, said
    assert said["said"] == []
    with RunReader.open(tmp_path / "run") as reader:
        calls = sum(one.calls for one in reader.outcomes.values())
    assert calls == len(server.asked) - begun
    assert verify(tmp_path / "run").is_sound
    status, said = run(server, tmp_path / "run", personas=16, workers=1, seeds=[1])
    assert status == EXIT_DONE, said


def test_a_second_stop_cuts_and_leaves_no_worker(tmp_path: Path):
    """Who cannot wait is not kept waiting, and nothing stays behind."""
    with WatchingServer(latency_s=(60.0, 60.0)) as slow:
        process = start(slow, tmp_path / "run", **SMALL, workers=2)
        while not slow.asked:
            assert process.poll() is None
            time.sleep(0.005)  # noqa: TID251 - a real process is waited for
        workers = workers_of(process.pid)
        assert workers
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)  # noqa: TID251 - a real process is waited for
        process.send_signal(signal.SIGINT)
        status, said = end(process)
    assert status == EXIT_STOPPED, said
    assert "stopped at once" in said["error"]
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_a_stop_request_in_the_folder_reaches_worlds_in_workers(
    server: WatchingServer, tmp_path: Path
):
    """`perdure stop`: open ticks are finished, exit 75."""
    begun = len(server.asked)
    process = start(server, tmp_path / "run", personas=16, workers=2)
    while len(server.asked) < begun + 40:
        assert process.poll() is None
        time.sleep(0.005)  # noqa: TID251 - a real process is waited for
    (tmp_path / "run" / "stop").touch()
    status, said = end(process)
    assert status == EXIT_STOPPED, said


def test_workers_work_where_an_event_loop_is_running(server: WatchingServer, tmp_path: Path):
    """A notebook may have them, too."""
    config = config_of(server.base_url, str(tmp_path / "run"), **SMALL, workers=2)

    async def notebook() -> RunResult:
        return runner.run(config)

    assert asyncio.run(notebook()).exit_status == EXIT_DONE


def test_a_worker_takes_no_world_if_it_would_run_other_code(
    server: WatchingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """P6: what it has loaded is held against the run's fingerprint first; exit 78, named."""
    crew = assembly._crew

    def moved(sitting: Any, past: Any, folder: Path, epoch: int) -> Any:
        engine = dict(past.code.engine)
        name = "perdure.runner.world_run"
        engine[name] = Code(text=f"{engine[name].text}\nX = 1\n")
        code = msgspec.structs.replace(past.code, engine=engine)
        return crew(sitting, dataclasses.replace(past, code=code), folder, epoch)

    monkeypatch.setattr(assembly, "_crew", moved)
    config = config_of(server.base_url, str(tmp_path / "run"), **SMALL, workers=2)
    result = runner.run(config)
    assert result.exit_status == EXIT_MOVED
    assert "perdure.runner.world_run" in result.cause
    assert all(world.tick == -1 for world in result.worlds)
    assert list((tmp_path / "run" / "worlds").iterdir()) == []


def test_code_that_moves_in_the_governing_process_stops_the_run_too(
    server: WatchingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """P6: it decides the plan and asks the models; no tick is opened after that."""
    make = assembly._crew

    def guarded(*given: Any) -> Any:
        crew = make(*given)
        assert crew is not None

        def look() -> None:
            raise MovedError("The code of this run changed.", moved=("engine",))

        crew._guard = look
        return crew

    monkeypatch.setattr(assembly, "_crew", guarded)
    config = config_of(server.base_url, str(tmp_path / "run"), **SMALL, workers=2)
    begun = len(server.asked)
    assert runner.run(config).exit_status == EXIT_MOVED
    assert len(server.asked) == begun


def test_where_no_process_can_be_started_the_run_says_so(
    server: WatchingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its worlds are left as they are, and can go on later."""

    def refused(_end: int) -> Any:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(worker_process, "_start", refused)
    config = config_of(server.base_url, str(tmp_path / "run"), **SMALL, workers=2)
    result = runner.run(config)
    assert result.exit_status == EXIT_STORAGE
    assert "No worker can be started (Resource temporarily unavailable)" in result.cause


def test_workers_that_end_before_they_take_a_world_are_not_started_for_ever(
    server: WatchingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """P11: after three in a row the worlds have failed, and say why."""

    def useless(_end: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", "raise SystemExit(9)"])

    monkeypatch.setattr(worker_process, "_start", useless)
    config = config_of(server.base_url, str(tmp_path / "run"), **SMALL, workers=1)
    result = runner.run(config)
    assert result.exit_status == EXIT_SOME_FAILED
    causes = {world.cause for world in result.worlds}
    assert causes == {
        (
            "No worker comes to drive it: three processes in a row ended with exit status 9 before "
            "that."
        )
    }


def test_a_run_is_not_taken_over_while_a_worker_of_before_is_left(
    server: WatchingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """P7: exit 73, naming the lock and who holds it, before anything is opened."""
    out = tmp_path / "run"
    out.mkdir()
    quickly = partial(wait_for_workers, limit_s=0.3)
    monkeypatch.setattr(assembly, "wait_for_workers", quickly)
    config = config_of(server.base_url, str(out), **SMALL)
    share = WorkersLock.share(out)
    try:
        with pytest.raises(HeldError, match=rf"{WORKERS_LOCK_NAME}.*process {os.getpid()}\b"):
            runner.run(config)
        assert not (out / "run.db").exists()
    finally:
        share.release()
    assert runner.run(config).exit_status == EXIT_DONE


def test_workers_share_the_lock_and_who_takes_over_waits(tmp_path: Path):
    """Two workers hold it at once; whoever waits gets it when the last one is gone, not before."""

    async def play() -> list[str]:
        order = []
        first, second = WorkersLock.share(tmp_path), WorkersLock.share(tmp_path)

        async def take_over() -> None:
            await wait_for_workers(tmp_path, SystemClock(), limit_s=20)
            order.append("over")

        waiting = asyncio.create_task(take_over())
        for share in (first, second):
            await asyncio.sleep(0.2)
            order.append("released")
            share.release()
        await waiting
        return order

    assert asyncio.run(play()) == ["released", "released", "over"]
    WorkersLock.share(tmp_path).release()


def test_a_worker_gets_no_share_while_somebody_takes_over(tmp_path: Path):
    """One that was started by a governor that is gone finds its place taken."""
    with (tmp_path / WORKERS_LOCK_NAME).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(HeldError, match="takes over"):
            WorkersLock.share(tmp_path)


def test_a_worker_without_a_governor_ends_at_once():
    """Started by nobody who is still there, it does nothing."""
    command = [sys.executable, "-m", "perdure.runner.worker", "0", "1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, env=environment(), check=False)
    assert done.returncode == 73


def test_how_a_process_ended_is_said_in_words():
    """A signal by its name, a status by its number, want of memory as what it is."""
    assert manner(3) == "ended with exit status 3"
    assert manner(71) == "ran out of the memory that it may have"
    assert manner(-signal.SIGSEGV) == "was killed by SIGSEGV"
    assert manner(-signal.SIGKILL).startswith("was killed by SIGKILL")
    assert manner(-99) == "was killed by signal 99"


def test_a_study_of_our_own_worlds_has_no_workers_unless_it_is_asked_to(tmp_path: Path):
    """Processes cost their start; they are there for code that may do anything."""
    ours = config_of("http://127.0.0.1:1/v1", str(tmp_path)).study
    assert workers_by_default(ours) == 0
    theirs = config_of("http://127.0.0.1:1/v1", str(tmp_path), cells=["a", "b", "c"]).study
    assert workers_by_default(theirs) == min(3, os.cpu_count() or 1)
    alone = config_of("http://127.0.0.1:1/v1", str(tmp_path), cells=["a"]).study
    assert workers_by_default(alone) == 0
