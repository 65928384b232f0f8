"""That each loss of an open tick is recorded once, whoever was killed and however often."""

from __future__ import annotations

import pytest
from tests.support.calls import WORLD, failed, intent, key, opening, replied

from perdure.records.journal import JournaledCall, OpenTick, Settled
from perdure.records.registry import (
    LogPayload,
    RunClosed,
    RunOpened,
    RunPaused,
    RunState,
    TickDiscarded,
)
from perdure.records.request import FailureCause
from perdure.runner.reconcile import losses_of

PAUSED = RunPaused(cause="asked", exit_status=75)
CLOSED = RunClosed(state=RunState.PARTIAL, exit_status=1)


def call(epoch: int, job: int, settled: Settled | None = None) -> JournaledCall:
    """Make one attempt under an epoch."""
    return JournaledCall(epoch=epoch, intent=intent(key(job)), settled=settled)


def tick(epoch: int, *calls: JournaledCall) -> OpenTick:
    """Open a tick under an epoch."""
    return OpenTick(epoch=epoch, opening=opening(), calls=calls)


def loss(epoch: int, kept: int = 0) -> TickDiscarded:
    """Record the loss of that tick."""
    return TickDiscarded(world_id=WORLD, tick=0, epoch=epoch, kept=kept)


def sittings(*epochs: int) -> list[LogPayload]:
    """Log that sittings began."""
    return [RunOpened(epoch=epoch) for epoch in epochs]


def test_a_killed_sitting_loses_the_tick_that_it_opened() -> None:
    """The tick is discarded under the sitting's epoch, and says how many calls are kept."""
    kept = [call(1, 0, replied()), call(1, 1, failed()), call(1, 2)]
    assert losses_of(tick(1), sittings(1)) == (loss(1),)
    assert losses_of(tick(1, *kept), sittings(1)) == (loss(1, kept=1),)


def test_a_refused_call_is_kept_and_a_failed_one_is_not() -> None:
    """What ended a call for ever counts as kept, whether or not it is an answer."""
    ends = [call(1, 0, failed(FailureCause.REJECTED)), call(1, 1, failed(FailureCause.CONNECT))]
    assert losses_of(tick(1, *ends), sittings(1)) == (loss(1, kept=1),)


@pytest.mark.parametrize("later", [(2,), (2, 3), (2, 3, 4, 5)])
def test_a_loss_is_recorded_though_later_sittings_were_killed_too(
    later: tuple[int, ...],
) -> None:
    """A resume that is killed before it records anything leaves that to the one after it."""
    found = losses_of(tick(1, call(1, 0, replied())), sittings(1, *later))
    assert found == (loss(1, kept=1),)


def test_a_loss_is_recorded_once() -> None:
    """What the log has is left out; a further sitting's own loss is a further one."""
    log = [*sittings(1, 2), loss(1), *sittings(3)]
    assert losses_of(tick(1, call(1, 0)), log) == ()
    assert losses_of(tick(1, call(1, 0), call(2, 1, replied())), log) == (loss(2, kept=1),)


def test_the_loss_of_another_tick_is_no_loss_of_this_one() -> None:
    """World, tick and epoch together name a loss."""
    other = TickDiscarded(world_id=WORLD, tick=1, epoch=1)
    assert losses_of(tick(1), [*sittings(1), other]) == (loss(1),)


@pytest.mark.parametrize("end", [PAUSED, CLOSED])
def test_a_sitting_that_ended_by_itself_lost_nothing(end: LogPayload) -> None:
    """A pause is no loss, even when the sitting after it is killed before it does anything."""
    assert losses_of(tick(1, call(1, 0)), [*sittings(1), end]) == ()
    assert losses_of(tick(1, call(1, 0)), [*sittings(1), end, *sittings(2)]) == ()
    mixed = tick(1, call(1, 0, replied()), call(2, 1))
    assert losses_of(mixed, [*sittings(1), end, *sittings(2)]) == (loss(2, kept=1),)
