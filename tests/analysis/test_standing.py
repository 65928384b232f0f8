"""Where a run stands: never running unless a process holds it."""

import pytest

from perdure.analysis.standing import State, standing
from perdure.records.registry import CallsLost, RunClosed, RunOpened, RunPaused, RunState

OPENED = RunOpened(epoch=1)
PAUSED = RunPaused(cause="The run was asked to stop.", exit_status=75)
CLOSED = RunClosed(state=RunState.PARTIAL, exit_status=1)


@pytest.mark.parametrize(
    ("log", "held", "state"),
    [
        ((OPENED,), True, State.RUNNING),
        ((OPENED,), False, State.INTERRUPTED),
        ((), False, State.INTERRUPTED),
        ((OPENED, PAUSED), False, State.PAUSED),
        ((OPENED, PAUSED, OPENED), False, State.INTERRUPTED),
        ((OPENED, CLOSED), False, State.FAILED),
    ],
)
def test_state_comes_from_the_lock_and_the_last_row(record_of, log, held, state):
    """Only a held lock makes a run running; otherwise its last run-log row decides."""
    record = record_of()
    found = standing(record.entry, record.worlds, record.outcomes, log, held=held)
    assert found.state is state


def test_a_completed_run_is_completed(record_of):
    """Every world at its end is a completed run, and its ticks are counted."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 2, {"p1": "a"})
    found = standing(record.entry, record.worlds, record.outcomes, (OPENED,), held=False)
    assert found.state is State.COMPLETED
    assert (found.ticks_closed, found.ticks) == (3, 3)


def test_what_was_called_outside_closed_ticks_stands_beside(record_of):
    """Unknown cost of a stopped run is never zero: it is in the standing, with its count."""
    record = record_of(seeds=(1,))
    log = (OPENED, CallsLost(world_id="plain-1", tick=0, epoch=1, calls=4, unknown_costs=4), PAUSED)
    found = standing(record.entry, record.worlds, record.outcomes, log, held=False)
    assert (found.calls, found.cost, found.unknown_costs) == (0, 0, 0)
    assert (found.outside.attempts, found.outside.unknown) == (4, 4)
