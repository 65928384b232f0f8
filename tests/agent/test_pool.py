"""Many jobs are worked on side by side, boundedly, and their results come in the jobs' order."""

from __future__ import annotations

import asyncio

import pytest

from perdure.agent.pool import gather_bounded


def test_results_come_in_order_and_no_more_than_so_many_are_under_way() -> None:
    """P11: whichever ends first, results are in the order of the items; the rest waits."""
    under_way, most = 0, 0

    async def work(item: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001 * (item % 3))
        under_way -= 1
        return item * item

    found = asyncio.run(gather_bounded(range(500), work, workers_max=200))
    assert found == [item * item for item in range(500)]
    assert most == 200


def test_the_first_failure_ends_the_others_and_is_raised_as_it_is() -> None:
    """P9: a failure is not hidden in a group, and nobody works on after it."""
    ended: list[int] = []

    async def work(item: int) -> None:
        if item == 3:
            raise ZeroDivisionError
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(item)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(gather_bounded(range(6), work, workers_max=6))
    assert sorted(ended) == [0, 1, 2, 4, 5]
