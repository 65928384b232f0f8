"""The time before a drive, in which its parts are made ready: a stop and the clock end that too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from perdure.agent.drive.ports import Stop
from perdure.base.errors import BudgetReachedError, StopRequestedError
from perdure.inference.reservations import Limit
from perdure.records.drive import EndCause


@asynccontextmanager
async def cut_by(*stops: Coroutine[Any, Any, Stop]) -> AsyncIterator[None]:
    """Cancel what is done in here once one of the stops arrives.

    Raises:
        BudgetReachedError: its time was up.
        StopRequestedError: somebody stopped it.

    """
    working = asyncio.current_task()
    assert working is not None, "it is called in a task"
    cut: list[Stop] = []

    def arrived(one: asyncio.Task[Stop]) -> None:
        if not one.cancelled() and one.exception() is None and not cut:
            cut.append(one.result())
            working.cancel()

    waiting = [asyncio.ensure_future(one) for one in stops]
    for task in waiting:
        task.add_done_callback(arrived)
    try:
        yield
    except asyncio.CancelledError:
        # Cancelled by somebody else as well, it is theirs.
        if not cut or working.uncancel() > 0:
            raise
        raise _error(cut[0]) from None
    finally:
        for task in waiting:
            task.remove_done_callback(arrived)
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _error(stop: Stop) -> BudgetReachedError | StopRequestedError:
    if stop.cause is EndCause.TIME:
        return BudgetReachedError(
            "Its time was up before it was ready, and nothing was begun.",
            limit=Limit.WALL.value,
            remedy="Give more --seconds, or look why its tool servers or its model do not answer.",
        )
    return StopRequestedError("It was stopped before it began.")
