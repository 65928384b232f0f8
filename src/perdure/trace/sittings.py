"""How the sittings of a run ended, by its run log. Pure.

A sitting begins with an `opened` row and ends by itself with a `paused` or `closed` one. One that
only changed the budget does neither work nor harm, and leaves the run as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.records.registry import BudgetChanged, LogPayload, RunClosed, RunOpened, RunPaused


def last_end(log: Sequence[LogPayload]) -> RunPaused | RunClosed | None:
    """Give how the last sitting that did any work ended by itself; None if it did not."""
    rows = list(log)
    while rows and isinstance(rows[-1], BudgetChanged):
        rows.pop()
        if rows and isinstance(rows[-1], RunOpened):
            rows.pop()
    last = rows[-1] if rows else None
    return last if isinstance(last, RunPaused | RunClosed) else None
