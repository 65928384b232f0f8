"""An attempt of this machine, from its first instant to its end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from perdure.base.clock import SystemClock
from perdure.supervise import processes
from perdure.supervise.attempts import Left
from perdure.supervise.claim import Claim
from perdure.supervise.command import Command
from perdure.supervise.ends import End
from perdure.supervise.escalation import Step
from perdure.supervise.running import Kept, KeptAttempts

TAG = "PERDURE_SUPERVISED_TEST_RUNNING"


def attempts(folder: Path) -> KeptAttempts:
    """Give what begins attempts in a folder."""
    return KeptAttempts(
        folder,
        clock=SystemClock(),
        claim=Claim(None),
        tag=f"{TAG}_{folder.name.upper()}",
        log_bytes=10_000,
        secrets=(),
        leave_s=1.0,
        dump_signal=10,
    )


async def ended(running: Kept) -> None:
    """Wait for the end of an attempt."""
    async with asyncio.timeout(60):
        while not running.has_ended():  # noqa: ASYNC110 - a real process is waited for
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("step", "end"),
    [
        (Step.INT, End(signal=2)),
        (Step.TERM, End(signal=15)),
        (Step.KILL, End(signal=9)),
        (Step.DUMP, End(status=0)),
    ],
)
def test_a_signal_that_comes_before_the_run_waits_for_it(tmp_path: Path, step: Step, end: End):
    """Sent in the very instant of the start: it is the run that gets it, and its end is known."""

    async def live() -> End | None:
        source = attempts(tmp_path)
        seconds = "0.5" if step is Step.DUMP else "600"
        running = await source.begin(1, Command(words=("sleep", seconds), text="sleep"), {})
        running.take_step(step)
        await ended(running)
        return (await source.end_of(1))[0]

    assert asyncio.run(live()) == end


def test_a_keeper_that_hangs_is_abandoned_and_nothing_is_left(tmp_path: Path):
    """The last step of every ladder: the keeper is killed, its run with it, whatever it ignores."""

    async def live() -> tuple[End | None, list[int]]:
        source = attempts(tmp_path)
        deaf = "trap '' INT TERM; sleep 600 & wait; sleep 600"
        running = await source.begin(1, Command(words=("sh", "-c", deaf), text="deaf"), {})
        async with asyncio.timeout(60):
            while (run := running.run()) is None:  # noqa: ASYNC110 - a real process
                await asyncio.sleep(0.02)
        running.take_step(Step.ABANDON)
        await ended(running)
        end = (await source.end_of(1))[0]
        return end, processes.grouped(run.pid)

    assert asyncio.run(live()) == (End(), [])


def test_what_cannot_be_started_says_so(tmp_path: Path):
    """As a shell would: 127 for what is not there, 126 for what is no program."""

    async def live(*words: str) -> Left:
        source = attempts(tmp_path)
        running = await source.begin(1, Command(words=words, text=words[0]), {})
        await ended(running)
        return await source.end_of(1)

    assert asyncio.run(live("no-such-program-at-all")) == Left(
        End(status=127),
        "no-such-program-at-all: there is no such command",
    )
    assert asyncio.run(live(str(tmp_path)))[0] == End(status=126)


def test_nothing_escapes_that_forgets_who_it_belongs_to(tmp_path: Path):
    """No environment, no session, no parent: it is the keeper's, and ends with the run."""
    script = f"env -i setsid sh -c '(setsid sleep 600 & echo $! >> {tmp_path}/left)' &"

    async def attempt(number: int) -> None:
        kept = attempts(tmp_path)
        command = Command(words=("sh", "-c", script), text="sh")
        running = await kept.begin(number, command, {})
        while not running.has_ended():
            await SystemClock().sleep(0.02)
        await kept.end_of(number)

    for number in range(1, 4):
        asyncio.run(attempt(number))
    left = tmp_path / "left"
    pids = [int(line) for line in left.read_text().split()] if left.exists() else []
    assert not any(processes.lives(processes.identified(pid)) for pid in pids)
