"""What a run log says of the sittings of its run: how each ended, and what was lost. Pure.

A sitting is the time of one governor, from its `opened` to its `paused` or `closed`; one that has
neither was killed. One that only changed the budget, or noted that answers were scored again, does
neither work nor harm, and leaves the run as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.records.record import Record
from perdure.records.registry import (
    ENDED,
    AnswersRescored,
    BudgetChanged,
    JournalLost,
    LogPayload,
    RunClosed,
    RunForced,
    RunOpened,
    RunPaused,
    TickDiscarded,
)


class JournalLoss(Record):
    """A call journal that was lost, with the ticks that may have been open then.

    `amount` is the sum of their estimated costs in nano-units; `unknown` of them have none.
    """

    lost: JournalLost
    ticks: int
    amount: int
    unknown: int


_BESIDE = (BudgetChanged, AnswersRescored)


def working(log: Sequence[LogPayload]) -> Sequence[LogPayload]:
    """Leave out the sittings that did nothing but change the budget, or note new scores."""
    rows: list[LogPayload] = []
    for row in log:
        if isinstance(row, _BESIDE) and rows and isinstance(rows[-1], RunOpened):
            rows.pop()
        elif not isinstance(row, _BESIDE):
            rows.append(row)
    return rows


def last_end(log: Sequence[LogPayload]) -> RunPaused | RunClosed | None:
    """Give how the last sitting that did any work ended by itself; None if it did not."""
    rows = working(log)
    last = rows[-1] if rows else None
    return last if isinstance(last, RunPaused | RunClosed) else None


def killed_epochs(log: Iterable[LogPayload]) -> frozenset[int]:
    """Name the epochs whose sittings did not end by themselves. `log` ends with such a sitting."""
    killed = set()
    sitting = None
    for row in working(tuple(log)):
        if isinstance(row, RunOpened):
            if sitting is not None:
                killed.add(sitting)
            sitting = row.epoch
        elif isinstance(row, ENDED):
            sitting = None
    return frozenset(killed if sitting is None else killed | {sitting})


def forced_epoch(log: Iterable[LogPayload]) -> int:
    """Name the last sitting in a run log that went on past what had moved; -1 if none did.

    It gave up what was open before it, even if it was killed before the journal knew of that.
    """
    forced = epoch = -1
    for row in log:
        if isinstance(row, RunOpened):
            epoch = row.epoch
        elif isinstance(row, RunForced):
            forced = epoch
    return forced


def may_hold_open(log: Iterable[LogPayload]) -> bool:
    """Say whether ticks may have been open at the end of a log: killed, or left open by a pause."""
    held = sitting = False
    for row in working(tuple(log)):
        match row:
            case RunOpened():
                held, sitting = held or sitting, True
            case RunPaused(holds_open=left) | RunClosed(holds_open=left):
                held, sitting = left, False
            case _:
                pass
    return held or sitting


def before(log: Sequence[LogPayload], epoch: int) -> Sequence[LogPayload]:
    """Give the part of a log that was there when an epoch began."""
    for place, row in enumerate(log):
        if isinstance(row, RunOpened) and row.epoch == epoch:
            return log[:place]
    return log


def journal_losses(log: Sequence[LogPayload]) -> tuple[JournalLoss, ...]:
    """List the call journals that a run lost, in order."""
    return tuple(_loss(row, log) for row in log if isinstance(row, JournalLost))


def _loss(lost: JournalLost, log: Iterable[LogPayload]) -> JournalLoss:
    estimates = [
        row.estimate
        for row in log
        if isinstance(row, TickDiscarded) and row.journal_lost and row.epoch == lost.epoch - 1
    ]
    return JournalLoss(
        lost=lost,
        ticks=len(estimates),
        amount=sum(estimate for estimate in estimates if estimate is not None),
        unknown=estimates.count(None),
    )
