"""A moment of a run is computed over all its sittings, as what it counts is."""

from __future__ import annotations

import pytest
from tests.support.town import town

from perdure.inference.reservations import NOTHING
from perdure.records.registry import WorldOutcome, WorldState
from perdure.records.result import Progress
from perdure.runner.meter import progress
from perdure.study.identity import expand


def seen(*, closed: int, turns: int, worked_s: float) -> Progress:
    """Look at a run of one world, half a second after it was taken up again."""
    config = town(seeds=(1,), scenarios=({"horizon": 10},))
    (world,) = [cell.entry for cell in expand(config.study, config.population)]
    outcome = WorldOutcome(
        world_id=world.world_id, state=WorldState.PARTIAL, tick=closed - 1, turns=turns
    )
    return progress(
        [world],
        [outcome],
        spent=NOTHING,
        calls=0,
        in_flight=0,
        retries=0,
        currency="USD",
        elapsed_s=0.5,
        worked_s=worked_s,
    )


def test_a_run_that_was_taken_up_again_is_no_faster_than_it_was() -> None:
    """Turns of earlier sittings are not counted as made in this one; nor are their ticks."""
    now = seen(closed=4, turns=300, worked_s=60.0)
    assert now.turns_per_s == pytest.approx(5.0)
    assert now.left_s == pytest.approx(90.0)
    assert seen(closed=0, turns=0, worked_s=0.0).left_s is None
