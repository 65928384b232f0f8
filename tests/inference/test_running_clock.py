"""That one timer ends what is over its limit, that nothing ends by time in which nobody ran."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.crash.whole.loop import LoopClock, OneOrderLoop

from perdure.inference.running_clock import RunningClock


class ShiftedClock(LoopClock):
    """A loop's clock, moved on by hand: what a process sees that was stopped meanwhile."""

    def __init__(self) -> None:
        self.slept_s = 0.0

    def now_s(self) -> float:
        return super().now_s() + self.slept_s


def run_by_waiting(main: Coroutine[Any, Any, None]) -> None:
    """Run on a loop on which time passes by waiting alone, so that no busy machine adds to it."""
    with asyncio.Runner(loop_factory=OneOrderLoop) as runner:
        runner.run(main)


async def nothing() -> str:
    """Come back at once."""
    await asyncio.sleep(0)
    return "done"


def test_what_is_in_time_is_untouched_and_what_is_not_is_ended() -> None:
    """Of many waits, those over their limit end in TimeoutError, and the others as they would."""

    async def main() -> None:
        clock = RunningClock()
        forever = asyncio.Event()
        assert await clock.within(1.0, nothing()) == "done"
        waits = [clock.within(0.01 if late else 60.0, forever.wait()) for late in (1, 0, 1, 0)]
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        ended, _ = await asyncio.wait({tasks[0], tasks[2]}, timeout=20)
        assert len(ended) == 2
        assert not tasks[1].done()
        forever.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(end) for end in ends] == [TimeoutError, bool, TimeoutError, bool]

    asyncio.run(main())


def test_limits_of_all_lengths_are_each_kept() -> None:
    """A wait that begins later and has less time ends first, and none ends before its limit."""

    async def main() -> None:
        clock = RunningClock(LoopClock())
        ended: list[float] = []

        async def wait(limit_s: float) -> None:
            begun_s = clock.now_s()
            with pytest.raises(TimeoutError):
                await clock.within(limit_s, asyncio.Event().wait())
            assert clock.now_s() - begun_s >= limit_s
            ended.append(limit_s)

        await asyncio.gather(*(wait(limit_s) for limit_s in (0.7, 0.4, 0.0, 0.2)))
        assert ended == [0.0, 0.2, 0.4, 0.7]

    run_by_waiting(main())


def test_a_process_that_was_stopped_finds_no_limit_past() -> None:
    """An hour in which nobody looked ends no wait, and is left out of every reading."""

    async def main() -> None:
        system = ShiftedClock()
        clock = RunningClock(system)
        begun_s = clock.now_s()
        task = asyncio.ensure_future(clock.within(1.0, asyncio.Event().wait()))
        nap = asyncio.ensure_future(clock.sleep(1.0))
        await asyncio.sleep(0.05)
        system.slept_s = 3_600.0
        await asyncio.sleep(0.3)
        assert not task.done()
        assert not nap.done()
        assert clock.now_s() - begun_s < 1.0
        assert 3_599 < clock.skipped_s < 3_600
        with pytest.raises(TimeoutError):
            await task
        await nap
        assert 1.0 <= clock.now_s() - begun_s < 60.0

    run_by_waiting(main())


@pytest.mark.parametrize("is_read_first", [False, True])
def test_what_arrived_while_nobody_ran_is_read_before_anything_ends(is_read_first: bool) -> None:  # noqa: FBT001
    """A wait whose last moments fell into a stop gets what came meanwhile, whoever reads first."""

    async def main() -> None:
        system = ShiftedClock()
        clock = RunningClock(system)
        arrived = asyncio.Event()
        task = asyncio.ensure_future(clock.within(0.15, arrived.wait()))
        await asyncio.sleep(0.01)
        system.slept_s = 10.0
        if is_read_first:
            clock.now_s()
        await asyncio.sleep(0.12)  # the next look has been made, and finds the limit past
        assert clock.now_s() > 0.15
        arrived.set()
        assert await task is True

    run_by_waiting(main())


def test_a_loop_that_is_blocked_ends_nothing_that_has_come() -> None:
    """Work that holds the loop for longer than a limit does not spend the limit."""

    async def main() -> None:
        clock = RunningClock()
        task = asyncio.ensure_future(clock.within(0.5, asyncio.sleep(0.4, "reply")))
        await asyncio.sleep(0.05)
        time.sleep(1.0)  # noqa: ASYNC251, TID251 - blocking the loop is what is tested
        assert await task == "reply"

    asyncio.run(main())


def test_a_busy_loop_still_ends_what_is_over() -> None:
    """However late each look comes, a limit comes to its end."""

    async def main() -> None:
        clock = RunningClock()
        task = asyncio.ensure_future(clock.within(0.5, asyncio.Event().wait()))
        for _ in range(30):
            time.sleep(0.3)  # noqa: ASYNC251, TID251 - blocking the loop is what is tested
            await asyncio.sleep(0)
            if task.done():
                break
        assert isinstance(task.exception(), TimeoutError)

    asyncio.run(main())


def test_a_cancellation_from_outside_stays_one() -> None:
    """Who is cancelled by somebody else is cancelled, even in the instant of its own limit."""

    async def main() -> None:
        for limit_s in (60.0, 0.0):
            clock = RunningClock()
            task = asyncio.ensure_future(clock.within(limit_s, asyncio.Event().wait()))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_an_error_passes_through_and_nothing_is_left_behind() -> None:
    """What the awaited thing raises is raised, and the next wait of the same task is its own."""

    async def broken() -> None:
        raise ValueError("broken")

    async def main() -> None:
        clock = RunningClock()
        with pytest.raises(ValueError, match="broken"):
            await clock.within(0.0, broken())
        assert await clock.within(5.0, asyncio.sleep(0.05, "slow")) == "slow"
        with pytest.raises(TimeoutError):
            await clock.within(0.0, asyncio.Event().wait())
        assert await clock.within(5.0, nothing()) == "done"

    asyncio.run(main())


def test_it_works_on_a_second_event_loop() -> None:
    """A timer that died with its loop is set again on the next one."""
    clock = RunningClock()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await clock.within(0.0, asyncio.Event().wait())

    async def leave_armed() -> None:
        assert await clock.within(5.0, nothing()) == "done"

    asyncio.run(main())
    asyncio.run(leave_armed())
    asyncio.run(main())
