"""What a sitting that was killed lost is found out from the run log and the journal, whenever."""

from __future__ import annotations

from tests.support.calls import WORLD, intent, key, opening, replied

from perdure.records.journal import JournaledCall, OpenTick
from perdure.records.registry import (
    LogPayload,
    RunClosed,
    RunForced,
    RunOpened,
    RunPaused,
    RunState,
    TickDiscarded,
)
from perdure.runner.reconcile import losses_of
from perdure.trace.sittings import forced_epoch, killed_epochs

PAUSED = RunPaused(cause="asked", exit_status=75)
CLOSED = RunClosed(state=RunState.PARTIAL, exit_status=1)


def open_tick(*calls: tuple[int, bool], epoch: int = 1) -> OpenTick:
    """Make tick 1, opened under an epoch, with calls: under which epoch, and whether answered."""
    return OpenTick(
        epoch=epoch,
        opening=opening(1),
        calls=tuple(
            JournaledCall(
                epoch=made,
                intent=intent(key(job, 1)),
                settled=replied("Yes.") if answered else None,
            )
            for job, (made, answered) in enumerate(calls)
        ),
    )


def lost(epoch: int, kept: int = 0) -> TickDiscarded:
    """Make the record of a loss of tick 1."""
    return TickDiscarded(world_id=WORLD, tick=1, epoch=epoch, kept=kept)


def test_a_sitting_was_killed_unless_its_last_word_is_in_the_log():
    """Paused and closed are last words; opened by the next is not."""
    log: list[LogPayload] = [RunOpened(epoch=1), PAUSED, RunOpened(epoch=2), RunOpened(epoch=3)]
    assert killed_epochs(log) == {2, 3}
    assert killed_epochs([*log, CLOSED]) == {2}
    assert killed_epochs([]) == set()


def test_a_loss_is_recorded_once_with_what_is_kept():
    """The sitting that opened the tick lost it, and its answered call is kept."""
    log: list[LogPayload] = [RunOpened(epoch=1)]
    tick = open_tick((1, True), (1, False))
    assert losses_of(tick, log) == (lost(1, kept=1),)
    assert losses_of(tick, [*log, RunOpened(epoch=2), lost(1, kept=1)]) == ()


def test_a_loss_outlives_a_resume_that_was_killed_before_it_could_record_it():
    """The sitting between did nothing with the tick: the loss is that of the one before."""
    log: list[LogPayload] = [RunOpened(epoch=1), RunOpened(epoch=2)]
    assert losses_of(open_tick((1, True)), log) == (lost(1, kept=1),)


def test_every_sitting_that_worked_on_a_tick_loses_it():
    """A second run of a tick is a second loss; a sitting that ended by itself lost nothing."""
    log: list[LogPayload] = [RunOpened(epoch=1), RunOpened(epoch=2), lost(1), RunOpened(epoch=3)]
    assert losses_of(open_tick((1, False), (3, False)), log) == (lost(3),)
    assert losses_of(open_tick((1, False), (3, False)), [*log, PAUSED]) == ()


def test_what_was_forced_is_known_by_its_sitting():
    """The last one counts."""
    forced = RunForced(moved=())
    log: list[LogPayload] = [RunOpened(epoch=1), PAUSED, RunOpened(epoch=2), forced]
    assert forced_epoch(log[:3]) == -1
    assert forced_epoch([*log, RunOpened(epoch=3)]) == 2
