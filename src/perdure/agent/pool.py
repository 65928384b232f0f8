"""A fixed number of workers over many jobs, so that a large tick does not become as many tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def gather_bounded(
    items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], *, workers_max: int
) -> list[Result]:
    """Do the work of every item, `workers_max` at a time; give the results in the items' order.

    The first exception of a piece of work cancels the others and is raised as it is.
    """
    results: dict[int, Result] = {}
    pending = iter(enumerate(items))

    async def pull() -> None:
        for place, item in pending:
            results[place] = await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(workers_max, len(items))):
                group.create_task(pull())
    except ExceptionGroup as group_failed:
        # The caller acts on the kind of the error, which a group would hide from it.
        raise group_failed.exceptions[0] from group_failed
    return [results[place] for place in range(len(items))]
