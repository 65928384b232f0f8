"""That workers and governor may be killed at any instant, alone or both, and nothing comes of it.

P1, P3, P4, P5, P7 and P10 on real processes: SIGKILL at random instants of runs whose worlds are in
several processes, against real servers that count and bill. No process is left behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.crash.billing_server import BillingServer
from tests.crash.test_run_kills import FORGOTTEN_S, FULL, Life, digests, environment
from tests.crash.watching_server import WatchingServer
from tests.support.street_study import ANSWERS

from perdure.analysis.ledger import build_ledger
from perdure.base.chance import Stream
from perdure.base.errors import EXIT_DONE, EXIT_PAUSED, EXIT_UNREACHABLE
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify

CLIENT = Path(__file__).with_name("worker_client.py")
ROOT = Path(__file__).parents[2]
PARTS, KILLS = (8, 28) if FULL else (1, 4)
RUNS = 40 if FULL else 2
SEED = os.environ.get("PERDURE_CRASH_SEED", "0")
WORKERS = 3
# Where cells come one after the other, some workers have nothing but worlds that wait.
ORDERS: tuple[dict[str, Any], ...] = ({}, {"order": "depth", "live": 2}, {"live": 3})
IN_FLIGHT = 8
OPTIONS: dict[str, Any] = {
    "seeds": [1, 2],
    "personas": 16,
    "endpoint": {"concurrency_max": IN_FLIGHT},
}
# The same with all channels, memory by meaning, reflections and probes.
STREET: dict[str, Any] = {"street": True, "seeds": [1, 2], "in_flight": IN_FLIGHT}
# A world that is killed alone a third time without a closed tick has failed, so a sitting ends
# before that.
WORKER_KILLS_PER_SITTING = 2
SITTINGS = 4
# An orphan is gone in moments; on a busy machine, in some seconds.
ORPHAN_S = 20.0


def workers_of(governor: int) -> dict[int, str]:
    """Give the workers of a governor, each with the instant of its start."""
    found = {}
    for task in Path(f"/proc/{governor}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                if b"perdure.runner.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found[child] = started(child)
    return found


def started(pid: int) -> str:
    """Give when a process was started; empty if there is none, or none that runs."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    return ""


class Sitting:
    """One program that runs or continues a run, with its workers."""

    def __init__(self, base_url: str, out: Path, options: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(CLIENT), base_url, str(out), json.dumps(options)],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.seen: dict[int, str] = {}

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended by itself."""
        return self.process.poll() is not None

    def workers(self) -> list[int]:
        """List the workers that live."""
        found = workers_of(self.process.pid)
        self.seen.update(found)
        return sorted(found)

    def kill_worker(self, draws: Stream) -> bool:
        """Kill one of the workers; False if there is none."""
        living = self.workers()
        if not living:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(living[draws.below(len(living))], signal.SIGKILL)
        return True

    def kill_governor(self) -> float | None:
        """Kill the program; give the instant, or None if it had ended."""
        self.workers()
        kill_s = time.monotonic()
        self.process.kill()
        _, errors = self.process.communicate()
        assert "Traceback" not in errors, errors
        return kill_s if self.process.returncode == -signal.SIGKILL else None

    def end(self) -> tuple[int, dict[str, Any]]:
        """Wait for the end; give the exit status, and what the program said."""
        said, errors = self.process.communicate(timeout=100)
        assert "Traceback" not in errors, errors
        return self.process.returncode, json.loads(said)

    def require_no_orphan(self) -> None:
        """Require that no worker that was seen outlives the governor."""
        until_s = time.monotonic() + ORPHAN_S
        while left := [pid for pid, since in self.seen.items() if started(pid) == since]:
            assert time.monotonic() < until_s, f"workers {left} outlived their governor"
            time.sleep(0.02)  # noqa: TID251 - real processes are waited for


@dataclass
class Counts:
    """What a campaign came to."""

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    repeated: int = 0
    allowed: int = 0
    oldest_lost_ms: float = 0.0

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in vars(self).items())


@dataclass
class Whole:
    """The run that was never killed, in one process."""

    digests: list[str]
    asked: Counter[bytes]
    life_s: float


@pytest.fixture(scope="module")
def server() -> Iterator[WatchingServer]:
    """Give one server to all runs of a town."""
    with WatchingServer() as running:
        yield running


@pytest.fixture(scope="module")
def street() -> Iterator[WatchingServer]:
    """Give one server to all runs of a street; it answers in the form, and against its rules."""
    with WatchingServer(answers=ANSWERS) as running:
        yield running


@pytest.fixture(scope="module")
def whole(server: WatchingServer, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Make the town's run that is never killed."""
    return made_whole(server, OPTIONS, tmp_path_factory.mktemp("whole") / "run")


def made_whole(server: WatchingServer, options: dict[str, Any], out: Path) -> Whole:
    """Make a run that is never killed, in one process."""
    begun = len(server.asked)
    status, _ = Sitting(server.base_url, out, {**options, "workers": 0}).end()
    assert status == EXIT_DONE
    asked = server.asked[begun:]
    life_s = max(one.sent_s or 0 for one in asked) - asked[0].arrived_s
    return Whole(digests(out), Counter(one.key for one in asked), life_s)


class Campaign:
    """Kills workers and governors, and requires of each run the end that it must have."""

    def __init__(
        self,
        server: WatchingServer,
        whole: Whole,
        draws: Stream,
        options: dict[str, Any] = OPTIONS,
    ) -> None:
        self.server = server
        self.options = options
        self.whole = whole
        self.draws = draws
        self.counts = Counts()
        self.sittings: list[Sitting] = []
        self.order = ORDERS[0]

    def live(self, out: Path) -> None:
        """Live through one run."""
        life = Life(out, len(self.server.asked), IN_FLIGHT)
        self.order = ORDERS[self.counts.runs % len(ORDERS)]
        self.counts.runs += 1
        for _ in range(SITTINGS):
            if not self.sit(life):
                break
        sitting = self.start(out)
        status, said = sitting.end()
        assert status == EXIT_DONE, said
        for one in self.sittings:
            one.require_no_orphan()
        self.require_same_end(life)

    def start(self, out: Path) -> Sitting:
        asked = {**self.options, **self.order, "workers": WORKERS}
        sitting = Sitting(self.server.base_url, out, asked)
        self.sittings.append(sitting)
        return sitting

    def sit(self, life: Life) -> bool:
        """Start or continue a run and kill of it; False if it ended by itself before that."""
        begun = len(self.server.asked)
        sitting = self.start(life.out)
        how = ("workers", "governor", "both")[self.draws.below(3)]
        if not self.wait(sitting, begun):
            return self.has_ended(sitting)
        if how != "governor":
            for _ in range(WORKER_KILLS_PER_SITTING):
                if not self.pause(sitting) or not sitting.kill_worker(self.draws):
                    break
                self.counts.kills["worker"] += 1
        if how == "workers" or (how == "governor" and not self.pause(sitting)):
            return self.has_ended(sitting)
        kill_s = sitting.kill_governor()
        if kill_s is None:
            assert sitting.process.returncode == EXIT_DONE
            return False
        self.counts.kills[how] += 1
        self.server.wait_until_left()
        life.note_kill(self.server.asked[begun:], kill_s)
        return True

    def has_ended(self, sitting: Sitting) -> bool:
        """Require that a sitting comes to the run's end; it is not to be continued."""
        status, said = sitting.end()
        assert status == EXIT_DONE, said
        return False

    def wait(self, sitting: Sitting, begun: int) -> bool:
        """Wait for the first call of a sitting, or for an instant of its start."""
        until_s = time.monotonic() + 4 * self.draws.uniform()
        starts = self.draws.below(6) == 0
        while len(self.server.asked) == begun and not (starts and time.monotonic() > until_s):
            if sitting.has_ended:
                return False
            time.sleep(0.005)  # noqa: TID251 - a real process is waited for
        return True

    def pause(self, sitting: Sitting) -> bool:
        """Let a sitting work for a while; False if it ended meanwhile."""
        time.sleep(self.draws.uniform() * self.whole.life_s / 2)  # noqa: TID251 - as above
        return not sitting.has_ended

    def require_same_end(self, life: Life) -> None:
        """Require the record, and the requests, of the run that was never killed."""
        assert digests(life.out) == self.whole.digests
        assert not list((life.out / "logs").glob("*.txt"))
        asked = Counter(one.key for one in self.server.asked[life.begun :])
        again = asked - self.whole.asked
        assert set(asked) == set(self.whole.asked)
        oldest_s = life.oldest_lost_s(again)
        if FULL:
            assert oldest_s <= FORGOTTEN_S, "a call was made again though its reply came long ago"
        assert again.total() <= life.allowed, "more calls were made again than the kills caught"
        self.counts.repeated += again.total()
        self.counts.allowed += life.allowed
        self.counts.oldest_lost_ms = max(self.counts.oldest_lost_ms, oldest_s * 1_000)


@pytest.mark.timeout(1_800 if FULL else 300)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_whose_processes_are_killed_ends_as_if_none_was(
    server: WatchingServer, whole: Whole, tmp_path: Path, part: int
):
    """Same digests; no call again but what a governor's kill caught; no process left."""
    require_whole(Campaign(server, whole, Stream(SEED, part, "kill processes")), tmp_path)


@pytest.mark.timeout(1_800 if FULL else 300)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_street_whose_processes_are_killed_ends_as_if_none_was(
    street: WatchingServer, tmp_path: Path, part: int
):
    """The same with every channel and every kind of call."""
    whole = made_whole(street, STREET, tmp_path / "whole")
    require_whole(Campaign(street, whole, Stream(SEED, part, "kill a street"), STREET), tmp_path)


def require_whole(campaign: Campaign, folder: Path) -> None:
    """Live through a campaign."""
    counts = campaign.counts
    while counts.kills.total() < KILLS:
        campaign.live(folder / f"run{counts.runs}")
    print(counts)  # noqa: T201 - the figures of the campaign
    assert counts.kills["worker"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_killed_workers_cost_no_call(
    server: WatchingServer, whole: Whole, tmp_path: Path, order: dict[str, Any]
):
    """Where only workers are killed, the server is asked for nothing a second time, in one sitting.

    A world that is killed alone again and again, closing no tick, would fail at the third time.
    """
    draws = Stream(SEED, 0, "kill workers")
    begun = len(server.asked)
    sitting = Sitting(server.base_url, tmp_path / "run", {**OPTIONS, **order, "workers": 2})
    while len(server.asked) == begun:
        assert not sitting.has_ended, sitting.end()
        time.sleep(0.005)  # noqa: TID251 - a real process is waited for
    for _ in range(2):
        time.sleep(draws.uniform() * whole.life_s / 3)  # noqa: TID251 - as above
        assert sitting.kill_worker(draws)
    status, said = sitting.end()
    assert status == EXIT_DONE, said
    assert re.match(r"A worker process was killed by SIGKILL", said["said"][0])
    assert digests(tmp_path / "run") == whole.digests
    assert Counter(one.key for one in server.asked[begun:]) == whole.asked
    sitting.require_no_orphan()


@pytest.mark.timeout(1_800 if FULL else 300)
def test_no_run_of_many_processes_costs_more_than_its_budget(tmp_path: Path):
    """P5 by the books of the one who bills, with worlds in several processes that are killed."""
    draws = Stream(SEED, 0, "budgets of processes")
    study = {"study": {"quorum": 0.3}, "seeds": [1], "personas": 16}
    limits = {"attempt_timeout_s": 1.0, "deadline_s": 3.0, "retries_max": 2, "concurrency_max": 64}
    options = {**study, "endpoint": limits}
    with BillingServer() as calm:
        status, said = Sitting(calm.base_url, tmp_path / "whole", {**options, "workers": 0}).end()
        assert status == EXIT_DONE, said
        whole = calm.billed
    ends: Counter[int] = Counter()
    kills = 0
    for number in range(RUNS):
        amount = int(whole * (0.2 + 0.9 * draws.uniform()))
        out = tmp_path / f"run{number}"
        asked = {**options, "workers": 2, "budget": {"amount": amount}}
        with BillingServer(unruly=(0.0, 0.15)[number % 2]) as server:
            for _ in range(2):
                sitting = Sitting(server.base_url, out, asked)
                while not server.requests and not sitting.has_ended:
                    time.sleep(0.01)  # noqa: TID251 - a real process is waited for
                time.sleep(0.5 * draws.uniform())  # noqa: TID251 - as above
                kills += sitting.kill_worker(draws)
                time.sleep(0.5 * draws.uniform())  # noqa: TID251 - as above
                kills += sitting.kill_governor() is not None
                sitting.require_no_orphan()
            status, said = Sitting(server.base_url, out, asked).end()
            with RunReader.open(out) as reader:
                ledger = build_ledger(reader)
            says = ledger.total.amount + ledger.outside.amount
            assert ledger.agrees
            assert ledger.total.unknown + ledger.outside.unknown == 0
            assert server.billed <= says <= amount, (number, server.billed, says, amount, said)
            assert verify(out).is_sound
            assert status in {EXIT_DONE, EXIT_PAUSED, EXIT_UNREACHABLE}, said
        ends[status] += 1
    print(f"runs {RUNS}, kills {kills}, ended with {dict(ends)}")  # noqa: T201
    assert kills
    assert ends[EXIT_PAUSED]
