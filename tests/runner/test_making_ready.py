"""What is not ready yet can be ended: by the time that a drive may take, and by a stop."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.alone import alone, asked_of, left_behind

from perdure.agent.drive.ports import Stop
from perdure.base.clock import SystemClock
from perdure.base.errors import BudgetReachedError, StopRequestedError
from perdure.records.alone import Bounds, Furnishing
from perdure.records.drive import EndCause
from perdure.runner.alone import begin
from perdure.runner.attended import Attended
from perdure.runner.making_ready import cut_by
from perdure.testing import MisbehavingServer

ROOT = Path(__file__).resolve().parents[2]
MUTE = Furnishing(servers={"mute": f"{sys.executable} {ROOT}/tests/support/rough_server.py mute"})


async def never() -> Stop:
    """Wait for a stop that never comes."""
    await asyncio.Event().wait()
    raise AssertionError


async def now(cause: EndCause) -> Stop:
    """Stop at once."""
    return Stop(cause=cause, by="test")


def test_the_time_of_a_drive_is_up_before_a_server_answers(tmp_path: Path) -> None:
    """A server that never answers its first request costs no more than `--seconds`."""
    clock = SystemClock()
    begun = clock.now_s()
    with MisbehavingServer() as server:
        asked = asked_of(server, tools=MUTE, bounds=Bounds(seconds=1.5))
        with pytest.raises(BudgetReachedError, match="was up before it was ready") as up:
            asyncio.run(begin(tmp_path / "drive", asked, alone(tmp_path / "drive")))
    assert up.value.limit == "wall"
    assert clock.now_s() - begun < 20
    assert not (tmp_path / "drive" / "drive.db").exists()
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("halts", [False, True])
def test_a_stop_ends_what_is_made_ready(tmp_path: Path, *, halts: bool) -> None:
    """There is no safe point to wait for yet, so the first word of it is enough."""
    folder = tmp_path / "drive"
    person = Attended(folder)

    async def go() -> None:
        with MisbehavingServer() as server:
            company = replace(alone(folder), interrupts=person)
            driving = asyncio.ensure_future(begin(folder, asked_of(server, tools=MUTE), company))
            while not left_behind(tmp_path):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)
            (person.halt if halts else person.stop)()
            with pytest.raises(StopRequestedError, match="stopped before it began"):
                await driving

    asyncio.run(go())
    assert not person.is_heard
    assert left_behind(tmp_path) == []


def test_what_is_done_in_time_is_left_alone() -> None:
    """Whoever is ready first goes on, and nobody is left waiting."""

    async def go() -> int:
        async with cut_by(never(), never()):
            await asyncio.sleep(0)
        current = asyncio.current_task()
        assert current is not None
        assert len(asyncio.all_tasks()) == 1
        return current.cancelling()

    assert asyncio.run(go()) == 0


def test_a_cancellation_by_somebody_else_is_theirs() -> None:
    """A stop and a cancellation at once are a cancellation."""

    async def work() -> None:
        async with cut_by(now(EndCause.HALT)):
            await asyncio.sleep(60)

    async def go() -> None:
        with pytest.raises(StopRequestedError):
            await work()
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises((asyncio.CancelledError, StopRequestedError)):
            await task

    asyncio.run(go())
