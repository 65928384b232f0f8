"""That one timer ends what is over its limit, and leaves everything else alone."""

from __future__ import annotations

import asyncio

import pytest

from perdure.inference.overdue import Overdue


async def nothing() -> str:
    """Come back at once."""
    await asyncio.sleep(0)
    return "done"


def test_what_is_in_time_is_untouched_and_what_is_not_is_ended() -> None:
    """Of many waits, those over their limit end in TimeoutError, and the others as they would."""

    async def main() -> None:
        overdue = Overdue(every_s=0.01)
        forever = asyncio.Event()
        assert await overdue.within(1.0, nothing()) == "done"
        waits = [overdue.within(0.01 if late else 60.0, forever.wait()) for late in (1, 0, 1, 0)]
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        ended, _ = await asyncio.wait({tasks[0], tasks[2]}, timeout=20)
        assert len(ended) == 2
        assert not tasks[1].done()
        forever.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(end) for end in ends] == [TimeoutError, bool, TimeoutError, bool]

    asyncio.run(main())


def test_a_cancellation_from_outside_stays_one() -> None:
    """Who is cancelled by somebody else is cancelled, even in the instant of its own limit."""

    async def main() -> None:
        for limit_s in (60.0, 0.0):
            overdue = Overdue(every_s=0.0)
            task = asyncio.ensure_future(overdue.within(limit_s, asyncio.Event().wait()))
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
        overdue = Overdue(every_s=0.01)
        with pytest.raises(ValueError, match="broken"):
            await overdue.within(0.0, broken())
        assert await overdue.within(5.0, asyncio.sleep(0.05, "slow")) == "slow"
        with pytest.raises(TimeoutError):
            await overdue.within(0.0, asyncio.Event().wait())
        assert await overdue.within(5.0, nothing()) == "done"

    asyncio.run(main())


def test_it_works_on_a_second_event_loop() -> None:
    """A timer that died with its loop is set again on the next one."""
    overdue = Overdue(every_s=0.01)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await overdue.within(0.0, asyncio.Event().wait())

    async def leave_armed() -> None:
        assert await overdue.within(5.0, nothing()) == "done"

    asyncio.run(main())
    asyncio.run(leave_armed())
    asyncio.run(main())
