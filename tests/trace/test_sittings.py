"""What a run log says of its sittings: which were killed, what they left open, what was lost."""

from __future__ import annotations

import pytest

from perdure.records.registry import (
    JournalLost,
    LogPayload,
    RunClosed,
    RunOpened,
    RunPaused,
    RunState,
    TickDiscarded,
)
from perdure.trace.sittings import (
    JournalLoss,
    before,
    journal_losses,
    killed_epochs,
    may_hold_open,
)

PAUSED = RunPaused(cause="asked", exit_status=75)
LEFT_OPEN = RunPaused(cause="full", exit_status=75, holds_open=True)
CLOSED = RunClosed(state=RunState.PARTIAL, exit_status=1)
FAILED = RunClosed(state=RunState.PARTIAL, exit_status=1, holds_open=True)


def opened(epoch: int) -> RunOpened:
    """Begin a sitting."""
    return RunOpened(epoch=epoch)


@pytest.mark.parametrize(
    ("log", "killed", "is_open"),
    [
        ((), (), False),
        ((opened(1),), (1,), True),
        ((opened(1), PAUSED), (), False),
        ((opened(1), CLOSED), (), False),
        ((opened(1), LEFT_OPEN), (), True),
        ((opened(1), FAILED), (), True),
        ((opened(1), opened(2)), (1, 2), True),
        # The sitting that ended by itself had everything closed again.
        ((opened(1), opened(2), PAUSED), (1,), False),
        ((opened(1), LEFT_OPEN, opened(2), PAUSED, opened(3)), (3,), True),
        ((opened(1), opened(2), LEFT_OPEN, opened(3), PAUSED), (1,), False),
        ((opened(1), PAUSED, opened(2), CLOSED), (), False),
    ],
)
def test_a_sitting_without_an_end_was_killed(
    log: tuple[LogPayload, ...], killed: tuple[int, ...], *, is_open: bool
) -> None:
    """Only a sitting that ended by itself, and left nothing open, has lost nothing."""
    assert killed_epochs(log) == frozenset(killed)
    assert may_hold_open(log) is is_open


def test_the_log_before_an_epoch_ends_where_it_began() -> None:
    """What was known when an epoch began; all there is, if it has not begun."""
    log = (opened(1), PAUSED, opened(2), CLOSED)
    assert before(log, 2) == log[:2]
    assert before(log, 3) == log


def test_a_lost_journal_has_the_ticks_that_were_recorded_with_it() -> None:
    """Estimates are summed, unknown ones counted; what a kill discarded is another thing."""
    log = (
        opened(1),
        TickDiscarded(world_id="a", tick=1, epoch=1, kept=3),
        JournalLost(epoch=2),
        TickDiscarded(world_id="a", tick=2, epoch=1, journal_lost=True, estimate=40),
        TickDiscarded(world_id="b", tick=2, epoch=1, journal_lost=True, estimate=2),
        JournalLost(epoch=5, file="calls.db.damaged-5", why="It is damaged."),
        TickDiscarded(world_id="a", tick=3, epoch=4, journal_lost=True),
    )
    assert journal_losses(log) == (
        JournalLoss(lost=JournalLost(epoch=2), ticks=2, amount=42, unknown=0),
        JournalLoss(
            lost=JournalLost(epoch=5, file="calls.db.damaged-5", why="It is damaged."),
            ticks=1,
            amount=0,
            unknown=1,
        ),
    )
