"""That a run killed at any instant, again and again, ends as the run that was never killed.

P1, P3 and P4 on real processes: SIGKILL at places uniform over the calls of a run, and in its start
and its resumes, against a real server. What was paid twice is counted by the server itself.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from tests.crash.run_client import IN_FLIGHT
from tests.crash.watching_server import Asked, WatchingServer

from perdure.base.chance import Stream
from perdure.inference.charges import is_final
from perdure.records.journal import JournaledCall, OpenTick
from perdure.records.registry import CallsLost, RunOpened, TickDiscarded
from perdure.trace.reader import RunReader
from perdure.trace.registry_file import REGISTRY_NAME
from perdure.trace.verify import verify

CLIENT = Path(__file__).with_name("run_client.py")
ROOT = Path(__file__).parents[2]
# Each part makes so many kills; parts run side by side.
FULL = os.environ.get("PERDURE_CRASH") == "full"
PARTS, KILLS = (12, 26) if FULL else (1, 6)
SEED = os.environ.get("PERDURE_CRASH_SEED", "0")
KILLS_PER_RUN = 6
# At its full size the programme has the machine to itself: there a kill may cost what was open and
# what was replied to in so short a time before it.
LATE_S = 0.05
# Any single reply may be longer on its way to the disk; but one that was sent this long before a
# kill is never lost.
FORGOTTEN_S = 0.3
# About what a whole program needs before its first call.
START_OF_PROGRAM_S = 1.2


def environment() -> dict[str, str]:
    """Give the environment of a process that runs this tree."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}


class Forks:
    """Starts and kills runs that are forked by a process which has everything imported."""

    def __init__(self, server: WatchingServer, errors: Path, client: Path = CLIENT) -> None:
        self.client = client
        self._errors = errors.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, str(client), server.base_url],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def ask(self, *order: str) -> tuple[int | None, float]:
        """Give an order; give what it says of the run, and when the order was carried out."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        status, at_s = json.loads(self._process.stdout.readline())
        return status, at_s

    def close(self) -> None:
        """End the process that forks. Nothing that it forked is left: each order is waited for."""
        self._process.communicate(timeout=60)
        self._errors.close()


@dataclass
class Counts:
    """What the kills of a campaign came to."""

    kills: int = 0
    at_start: int = 0
    in_finished: int = 0
    runs: int = 0
    discarded: int = 0
    allowed: int = 0
    asked_again: int = 0
    charged: int = 0
    oldest_lost_ms: float = 0.0

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:.5g}" for name, value in vars(self).items())


@dataclass
class Whole:
    """The run that was never killed: its digests and its requests.

    `start_s` is how long a fork needed before its first call.
    """

    digests: list[str]
    asked: Counter[bytes]
    start_s: float


@dataclass
class Life:
    """One run over all its sittings, each with so many `places` for calls in flight.

    Its first request is the server's `begun`-th. So far its kills may have cost `allowed` calls.
    `open` counts what was asked and not answered when a sitting was killed; `ages_s` says of each
    answered request how long before the kill its reply was sent. `losses` are those that its log
    must have.
    """

    out: Path
    begun: int
    places: int = IN_FLIGHT
    allowed: int = 0
    open: Counter[bytes] = field(default_factory=Counter)
    ages_s: dict[bytes, list[float]] = field(default_factory=lambda: defaultdict(list))
    losses: set[TickDiscarded] = field(default_factory=set)

    def note_kill(self, asked: Sequence[Asked], kill_s: float) -> None:
        """Note what a killed sitting asked, and what the kill may have cost of it.

        A call gives its place to the next one when its outcome is durable: however busy a machine
        is, a kill costs no more than fill the places.
        """
        caught = 0
        for one in asked:
            if one.sent_s is None or one.sent_s >= kill_s:
                self.open[one.key] += 1
                caught += 1
            else:
                self.ages_s[one.key].append(kill_s - one.sent_s)
                caught += kill_s - one.sent_s <= LATE_S
        self.allowed += caught if FULL else min(self.places, len(asked))

    def oldest_lost_s(self, again: Counter[bytes]) -> float:
        """Say how old the oldest reply was that a kill must have cost, given what is asked again.

        What was open may be asked again; beyond that, as many replies of the same call were lost,
        the latest ones at best. Infinite if there were none.
        """
        oldest_s = 0.0
        for key, count in again.items():
            lost = count - self.open[key]
            if lost > 0:
                ages_s = [*sorted(self.ages_s[key]), *[math.inf] * lost]
                oldest_s = max(oldest_s, ages_s[lost - 1])
        return oldest_s


@pytest.fixture(scope="module")
def server() -> Iterator[WatchingServer]:
    """Give one server to all runs."""
    with WatchingServer() as running:
        yield running


@pytest.fixture(scope="module")
def forks(server: WatchingServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Give the process that forks, and see that nothing which it forked ever said a word."""
    errors = tmp_path_factory.mktemp("forks") / "stderr"
    started = Forks(server, errors)
    yield started
    started.close()
    assert errors.read_text() == ""


@pytest.fixture(scope="module")
def whole(server: WatchingServer, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Make the run that is never killed."""
    return made_whole(server, forks, tmp_path_factory.mktemp("whole") / "run")


def made_whole(server: WatchingServer, forks: Forks, out: Path) -> Whole:
    """Make a run that is never killed."""
    begun = len(server.asked)
    _, started_s = forks.ask("start", str(out))
    assert forks.ask("wait")[0] == 0
    asked = server.asked[begun:]
    return Whole(digests(out), Counter(one.key for one in asked), asked[0].arrived_s - started_s)


def digests(out: Path) -> list[str]:
    """Verify a run, and give the digest of every world."""
    report = verify(out)
    assert report.is_sound, report.every_finding
    return [world.digest for world in report.worlds]


class Campaign:
    """Kills runs, and requires of each that nothing came of it."""

    def __init__(self, server: WatchingServer, forks: Forks, whole: Whole, draws: Stream) -> None:
        self.server = server
        self.forks = forks
        self.whole = whole
        self.draws = draws
        self.counts = Counts()

    def kill_a_run(self, out: Path, kills_max: int) -> None:
        """Live through one run with at most so many kills, and require the end it must have."""
        life = Life(out, len(self.server.asked))
        self.counts.runs += 1
        for calls in self.stretches()[:kills_max]:
            if not self.sit(life, calls):
                break
            self.require_asked_once(life)
        self.forks.ask("start", str(out))
        assert self.forks.ask("wait")[0] == 0
        self.require_same_end(life)

    def stretches(self) -> list[int]:
        """Draw the places of the kills, uniform over a run's calls; give the calls between."""
        total = self.whole.asked.total()
        places = sorted(self.draws.below(total) for _ in range(KILLS_PER_RUN))
        return [later - sooner for sooner, later in pairwise([0, *places])]

    def sit(self, life: Life, calls: int) -> bool:
        """Start or continue a run and kill it; False if it ended by itself before that."""
        begun, kind = len(self.server.asked), self.draws.below(8)
        if kind == 0:
            kill_s = self.kill_program(life.out, self.draws.uniform() * START_OF_PROGRAM_S)
        elif kind == 1:
            kill_s = self.kill_start(life.out, self.draws.uniform() * self.whole.start_s)
        else:
            kill_s = self.kill_at_work(life.out, calls)
        if kill_s is None:
            return False
        self.counts.kills += 1
        self.server.wait_until_left()
        asked = self.server.asked[begun:]
        self.counts.at_start += not asked
        life.note_kill(asked, kill_s)
        self.note_losses(life)
        return True

    def kill_program(self, out: Path, wait_s: float) -> float | None:
        """Run the program as it is, and kill it within its start; give the instant."""
        process = subprocess.Popen(
            [sys.executable, str(self.forks.client), self.server.base_url, str(out)],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
        kill_s = time.monotonic()
        process.kill()
        _, errors = process.communicate()
        assert errors == b""
        return None if process.returncode == 0 else kill_s

    def kill_start(self, out: Path, wait_s: float) -> float | None:
        """Fork a run and kill it soon; give the instant, or None if it has ended."""
        self.forks.ask("start", str(out))
        return self.kill_after(wait_s)

    def kill_at_work(self, out: Path, calls: int) -> float | None:
        """Fork a run and kill it soon after so many calls; give the instant, or None."""
        begun = len(self.server.asked)
        self.forks.ask("start", str(out))
        while len(self.server.asked) <= begun + calls:
            status, _ = self.forks.ask("look")
            if status is not None:
                assert status == 0
                return None
            time.sleep(0.005)  # noqa: TID251 - a real process is waited for
        return self.kill_after(self.draws.uniform() * self.server.spread_s[1])

    def kill_after(self, wait_s: float) -> float | None:
        time.sleep(wait_s)  # noqa: TID251 - a real process is waited for
        status, kill_s = self.forks.ask("kill")
        assert status in {0, signal.SIGKILL}
        return kill_s if status else None

    def note_losses(self, life: Life) -> None:
        """Read from the journal what the kill cost, and what each open tick had finished."""
        if not (life.out / REGISTRY_NAME).exists():
            return
        with RunReader.open(life.out) as reader:
            [*_, epoch] = [row.epoch for row in reader.log if isinstance(row, RunOpened)]
            ticks = [tick for tick in reader.journal or () if is_open(tick, reader)]
        kept = [sum(is_kept(call) for call in tick.model_calls) for tick in ticks]
        self.counts.in_finished += any(kept)
        for tick, count in zip(ticks, kept, strict=True):
            if epoch in {tick.epoch, *(call.epoch for call in tick.calls)}:
                world, number = tick.opening.world, tick.opening.tick
                life.losses.add(TickDiscarded(world_id=world, tick=number, epoch=epoch, kept=count))

    def require_asked_once(self, life: Life) -> None:
        """Require that, of all calls so far, those alone are asked again that a kill caught."""
        again = Counter(one.key for one in self.server.asked[life.begun :]) - self.whole.asked
        assert again.total() <= life.allowed, "more calls were made again than the kills caught"
        oldest_s = life.oldest_lost_s(again)
        if FULL:
            assert oldest_s <= FORGOTTEN_S, "a call was made again though its reply came long ago"
        self.counts.oldest_lost_ms = max(self.counts.oldest_lost_ms, oldest_s * 1000)

    def require_same_end(self, life: Life) -> None:
        """Require the end of the run that was never killed, and every loss in the log, once."""
        assert digests(life.out) == self.whole.digests
        assert not list((life.out / "logs").glob("*.txt"))
        self.require_asked_once(life)
        asked = Counter(one.key for one in self.server.asked[life.begun :])
        assert set(asked) == set(self.whole.asked)
        with RunReader.open(life.out) as reader:
            discarded = [row for row in reader.log if isinstance(row, TickDiscarded)]
            lost = sum(row.calls for row in reader.log if isinstance(row, CallsLost))
        assert len(discarded) == len(life.losses)
        assert set(discarded) == life.losses
        again = asked.total() - self.whole.asked.total()
        assert 0 <= again <= lost, "a call that was made again was never charged"
        self.counts.discarded += len(discarded)
        self.counts.allowed += life.allowed
        self.counts.asked_again += again
        self.counts.charged += lost


def is_open(tick: OpenTick, reader: RunReader) -> bool:
    """Say whether a tick of the journal is not in the record yet."""
    head = reader.head(tick.opening.world)
    return head is None or head.tick < tick.opening.tick


def is_kept(call: JournaledCall) -> bool:
    """Say whether a journaled attempt ended its call."""
    return call.settled is not None and is_final(call.settled)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_killed_anywhere_ends_as_if_it_never_was(
    server: WatchingServer, forks: Forks, whole: Whole, tmp_path: Path, part: int
):
    """Same digests; every loss recorded once; nothing asked again but what a kill caught."""
    campaign = Campaign(server, forks, whole, Stream(SEED, part, "kill a run"))
    counts = campaign.counts
    while counts.kills < KILLS:
        campaign.kill_a_run(tmp_path / f"run{counts.runs}", KILLS - counts.kills)
    print(counts)  # noqa: T201 - the figures of the campaign
    assert counts.in_finished >= KILLS * 2 / 3
