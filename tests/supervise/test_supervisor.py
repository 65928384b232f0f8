"""What a supervisor does over hours, on a clock that passes by waiting: outages, sleep, odd clocks.

The run is one in memory; everything else is the supervisor itself, with its default settings.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from perdure.supervise.acceptance import Artifact
from perdure.supervise.answers import Answer, Existence, Ran
from perdure.supervise.attempts import Left
from perdure.supervise.book import Book
from perdure.supervise.command import Command
from perdure.supervise.ends import End
from perdure.supervise.escalation import Step
from perdure.supervise.history import History
from perdure.supervise.means import Means
from perdure.supervise.notify import ServiceManager
from perdure.supervise.patience import Allowance
from perdure.supervise.settings import Settings
from perdure.supervise.stored import Process
from perdure.supervise.subject import Look
from perdure.supervise.supervisor import Supervisor
from perdure.supervise.verdict import State, Verdict
from perdure.testing.clock import SkippingClock

MINUTE = 60.0
TARGET = 10


class OddClock(SkippingClock):
    """A clock whose wall time somebody sets, and whose machine may sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.offset_s = 0.0
        self.slept_s = 0.0
        self.at: dict[float, Callable[[], None]] = {}

    def wall_s(self) -> float:
        return super().wall_s() + self.offset_s

    async def sleep(self, seconds: float) -> None:
        for due in [due for due in self.at if due <= self.now_s()]:
            self.at.pop(due)()
        await super().sleep(seconds)


class Runner:
    """A run in memory: `alive_s(attempt)` says how an attempt goes, on the supervisor's clock.

    An attempt makes a unit every `unit_s` while there is a network; without one it fails at once.
    """

    def __init__(self, clock: OddClock, *, unit_s: float = 30.0) -> None:
        self.clock = clock
        self.unit_s = unit_s
        self.units = 0
        self.outages: list[tuple[float, float]] = []
        self.begun: list[float] = []
        self.steps: list[Step] = []
        self.hangs = False
        self.is_polite = False
        self.is_mute = False
        self.free: int | None = None
        self.free_elsewhere: dict[str, int] = {}
        self.dies_at_s = 1e12
        self.counted: set[str] = set()
        self.number = 0
        self._next_s = 0.0
        self._end: End | None = None

    @property
    def text(self) -> str:
        return "a run in memory"

    @property
    def target(self) -> int:
        return TARGET

    async def existence(self) -> tuple[Existence | None, str]:
        return (Existence.USABLE if self.begun else Existence.ABSENT), ""

    def command(self, *, resume: bool) -> Command:
        return Command(words=("run",), text="resume" if resume else "start")

    def asked_again(self) -> Command | None:
        return None

    async def look(self, run: Process | None) -> Look:
        return Look(progress=Answer(value=self.units))

    async def standing(self) -> Look:
        return await self.look(None)

    async def artifact(self, *, is_clean: bool) -> Artifact:
        return Artifact(units=Answer(value=self.units if is_clean else 0))

    async def begin(self, number: int, command: Command, facts: Mapping[str, str]) -> Runner:
        self.number = number
        self.begun.append(self.clock.now_s())
        self._next_s = self.clock.now_s() + self.unit_s
        self._end = None
        return self

    async def found(self, number: int) -> Runner | None:
        return None

    async def end_of(self, number: int) -> Left:
        return Left(None if self.is_mute else self._end, "the last line")

    def log_fault(self) -> str:
        return ""

    def has_ended(self) -> bool:
        now_s = self.clock.now_s()
        if self._end is None and now_s >= self.dies_at_s:
            self.dies_at_s = 1e12
            self._end = End(signal=9)
        if self._end is None and any(start <= now_s < end for start, end in self.outages):
            self._end = End(status=69)
        while self._end is None and not self.hangs and now_s >= self._next_s:
            self.units += 1
            self._next_s += self.unit_s
            if self.units == TARGET:
                self._end = End(status=0)
        return self._end is not None

    def take_step(self, step: Step) -> None:
        self.steps.append(step)
        if step is Step.INT and self.is_polite:
            self._end = End(status=75)
        if step is Step.KILL:
            self._end = End(signal=9)
            self.hangs = False

    def run(self) -> Process | None:
        return None

    def free_bytes(self, place: Path) -> int | None:
        return self.free_elsewhere.get(str(place), self.free)


def supervised(runner: Runner, folder: Path, **settings: Any) -> tuple[Verdict, list[Any]]:
    """Supervise a run in memory to its end; give what came of it, and its history."""
    clock = runner.clock

    async def nothing(*_: object) -> Ran:
        return Ran(status=0)

    means = Means(
        subject=runner,
        # Looked at less often than by default, which is all that these hours cost.
        settings=Settings(folder=folder, **{"look_s": 4.0, "poll_s": 20.0, **settings}),
        attempts=runner,
        clock=clock,
        run=nothing,
        hook=nothing,
        book=Book(folder, tell=lambda _: None),
        history=History(folder, (), wall_s=clock.wall_s, tell=lambda _: None),
        manager=ServiceManager({}),
        tell=lambda _: None,
        suspended_s=lambda: clock.slept_s,
        free_bytes=runner.free_bytes,
    )
    found = asyncio.run(Supervisor(means).supervise())
    lines = (folder / "history.jsonl").read_text().splitlines()
    return found, [json.loads(line) for line in lines]


@pytest.fixture
def runner() -> Runner:
    """Give a run that nothing is wrong with."""
    return Runner(OddClock())


def test_a_ten_minute_outage_is_survived_with_the_defaults(runner: Runner, tmp_path: Path):
    """Every attempt within it fails at once; the run goes on when the network is back."""
    runner.outages = [(100, 100 + 10 * MINUTE)]
    found, _ = supervised(runner, tmp_path)
    assert found.state is State.DONE
    # It was tried more often than patience has attempts, and not all the time.
    assert 4 <= len(runner.begun) <= 20


def test_an_outage_before_the_first_unit_is_survived_too(runner: Runner, tmp_path: Path):
    """It is down when everybody goes home."""
    runner.outages = [(0, 10 * MINUTE)]
    assert supervised(runner, tmp_path)[0].state is State.DONE


def test_an_outage_without_end_is_given_up_after_half_an_hour(runner: Runner, tmp_path: Path):
    """Not before, and not much later: the longest wait comes on top."""
    runner.outages = [(100, 1e9)]
    found, _ = supervised(runner, tmp_path)
    assert (found.state, found.code) == (State.GAVE_UP, 3)
    gone_s = runner.begun[-1] - 100
    assert 25 * MINUTE <= gone_s <= 36 * MINUTE


def test_with_time_0_three_attempts_are_enough(runner: Runner, tmp_path: Path):
    """The seed's rule: three in a row that advance nothing."""
    runner.outages = [(100, 1e9)]
    allowance = Allowance(attempts=3, seconds=0, before_first=3)
    found, _ = supervised(runner, tmp_path, allowance=allowance)
    assert found.state is State.GAVE_UP
    assert len(runner.begun) == 1 + 3


def test_waits_grow_and_start_anew_after_progress(runner: Runner, tmp_path: Path):
    """The attempt after one that advanced follows at once."""
    runner.outages = [(100, 100 + 5 * MINUTE), (700, 705)]
    _, history = supervised(runner, tmp_path)
    waits = [event["seconds"] for event in history if event["event"] == "waiting"]
    assert waits[0] == 0
    assert 5 <= waits[1] <= 10
    assert waits[3] > waits[1]


def test_a_machine_that_sleeps_is_forgiven(runner: Runner, tmp_path: Path):
    """Neither the stall's time nor patience is spent, and one failure after it is free."""
    clock = runner.clock

    def sleep() -> None:
        # All connections are gone when it wakes.
        clock.slept_s += 8 * 60 * MINUTE
        runner.outages = [(clock.now_s(), clock.now_s() + 6)]

    clock.at[100] = sleep
    allowance = Allowance(attempts=1, seconds=0, before_first=1)
    runner.unit_s = 200
    found, history = supervised(runner, tmp_path, allowance=allowance)
    slept = [event["seconds"] for event in history if event["event"] == "machine-slept"]
    assert slept == [8 * 60 * MINUTE]
    assert found.state is State.DONE


def test_a_sleep_starts_the_time_of_a_stall_anew(runner: Runner, tmp_path: Path):
    """Almost an hour without progress, a night's sleep, and then it comes."""
    clock, runner.unit_s = runner.clock, 3700
    clock.at = {
        3500: lambda: setattr(clock, "slept_s", 8 * 60 * MINUTE),
        3650: lambda: setattr(runner, "unit_s", 30),
    }
    assert supervised(runner, tmp_path)[0].state is State.DONE
    assert runner.steps == []


def test_a_wall_clock_that_is_set_decides_nothing(runner: Runner, tmp_path: Path):
    """A day back, a year ahead: no stall, no patience spent, nothing waited for."""
    clock = runner.clock

    def set_clock(by_s: float) -> Callable[[], None]:
        return lambda: setattr(clock, "offset_s", by_s)

    clock.at = {50: set_clock(-86_400), 120: set_clock(365 * 86_400)}
    found, history = supervised(runner, tmp_path)
    assert found.state is State.DONE
    assert len(runner.begun) == 1
    assert not [event for event in history if event["event"] == "ending"]


def test_a_supervisor_that_was_stopped_blames_nobody(runner: Runner, tmp_path: Path):
    """SIGSTOP and SIGCONT, or a machine that swaps: what it did not see is no stall."""
    clock = runner.clock
    runner.unit_s = 3700
    clock.at[100] = lambda: setattr(clock, "_now_s", clock._now_s + 3590)
    clock.at[3650] = lambda: setattr(runner, "unit_s", 30)
    found, history = supervised(runner, tmp_path)
    assert found.state is State.DONE
    assert runner.steps == []
    assert [event for event in history if event["event"] == "supervisor-was-away"]


def test_a_run_that_hangs_is_ended_after_its_stall(runner: Runner, tmp_path: Path):
    """An hour without progress, then each step after its grace, then it goes on."""
    runner.hangs = True
    found, history = supervised(runner, tmp_path)
    assert found.state is State.DONE
    assert runner.steps == [Step.DUMP, Step.INT, Step.TERM, Step.KILL]
    at_s = {event["step"]: event["at"] for event in history if event["event"] == "signal"}
    assert at_s["ask for stacks"] - history[0]["at"] == pytest.approx(3600, abs=30)
    assert at_s["KILL"] - at_s["INT"] == pytest.approx(120, abs=10)


def test_what_an_earlier_supervisor_left_may_be_unreadable(runner: Runner, tmp_path: Path):
    """It is told, patience starts anew, and the run is supervised all the same."""
    (tmp_path / "supervisor.json").write_text("{half")
    found, history = supervised(runner, tmp_path)
    assert found.state is State.DONE
    assert "state-lost" in [event["event"] for event in history]


def test_a_disk_that_fills_up_is_a_pause_and_spends_nothing(runner: Runner, tmp_path: Path):
    """The run is asked to end; nothing is begun before there is a quarter more than the floor."""
    clock, runner.is_polite, runner.free = runner.clock, True, 1000

    def leaves(free: int) -> Callable[[], None]:
        return lambda: setattr(runner, "free", free)

    clock.at = {100: leaves(99), 4000: leaves(110), 9000: leaves(125)}
    allowance = Allowance(attempts=1, seconds=0, before_first=1)
    found, history = supervised(runner, tmp_path, disk_floor=100, allowance=allowance)
    assert found.state is State.DONE
    assert runner.steps == [Step.INT]
    assert runner.begun[0] < 100
    assert runner.begun[1] >= 9000
    assert [event["why"] for event in history if event["event"] == "paused"] == ["disk"]


def test_any_disk_that_fills_up_is_a_pause_and_named(runner: Runner, tmp_path: Path):
    """One that was never short needs no quarter more; each that was, does."""
    clock, runner.is_polite, runner.free = runner.clock, True, 110

    def leaves(free: int, place: str) -> Callable[[], None]:
        return lambda: runner.free_elsewhere.update({place: free})

    clock.at = {
        100: leaves(99, "/artifact"),
        4000: leaves(124, "/artifact"),
        6000: leaves(98, "/logs"),
        9000: leaves(125, "/artifact"),
        12000: leaves(125, "/logs"),
    }
    places = (Path("/run"), Path("/artifact"), Path("/logs"))
    found, history = supervised(runner, tmp_path, disk_floor=100, watched=places)
    assert found.state is State.DONE
    assert runner.begun[1] >= 12000
    assert [event["place"] for event in history if event["event"] == "disk-short"] == ["/artifact"]
    (paused,) = (event for event in history if event["event"] == "paused")
    assert (paused["place"], paused["free"]) == ("/artifact", 99)


def test_room_that_will_not_do_is_told_long_before(runner: Runner, tmp_path: Path):
    """From what each unit took, and how many are left."""
    clock, runner.free = runner.clock, 1000
    clock.at = {at: lambda: setattr(runner, "free", (runner.free or 0) - 300) for at in (35, 65)}
    _, history = supervised(runner, tmp_path, disk_floor=1)
    assert [event for event in history if event["event"] == "disk-will-not-do"]


def test_a_want_of_memory_is_recognised(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The system ended a process for it while the attempt ran, and the attempt died of KILL."""
    counted = iter([5, 6, 6, 6])
    monkeypatch.setattr("perdure.supervise.watch.oom_kills", lambda: next(counted))
    runner.dies_at_s = 100
    found, history = supervised(runner, tmp_path)
    assert found.state is State.DONE
    ends = [event["told"] for event in history if event["event"] == "attempt-ended"]
    assert ends == [
        "killed by SIGKILL; the system ended a process for want of memory",
        "exit status 0",
    ]


def test_an_attempt_that_never_says_a_word_is_an_attempt(runner: Runner, tmp_path: Path):
    """Whatever keeps it from that, it spends patience: nothing is begun for ever."""
    runner.is_mute, runner.outages = True, [(0, 1e9)]
    allowance = Allowance(attempts=3, seconds=0, before_first=3)
    found, _ = supervised(runner, tmp_path, allowance=allowance)
    assert found.state is State.GAVE_UP
    assert len(runner.begun) == 3
