"""What lies ahead of a run: the work in hand, the ticks before the round, and the round itself."""

from __future__ import annotations

import pytest
from tests.runner.test_estimates import learned

from perdure.records.budget import Budget, Ladder, Rung
from perdure.records.presentation import Plan
from perdure.records.registry import RungTaken
from perdure.runner.expected import Needs
from perdure.runner.ladder import Outlook, Standing, stand
from perdure.runner.outlook import Ahead, LiveWorld, calls_ahead, outlook
from perdure.study.schedule import REFLECTIONS as REFLECTION
from perdure.study.schedule import TURNS as TURN

BUDGET = Budget(amount=1_000, ladder=Ladder(share=0.5))
WAVE = 4


def needs_of(world_id: str, tick: int) -> Needs:
    """Tell the calls of each world and tick apart by their digits; tick 4 has a wave."""
    size = 10 * (tick + 1) * (100 if world_id == "b" else 1)
    return Needs(
        whole={TURN: 1} if tick == WAVE else {}, thinned={TURN: size}, optional={REFLECTION: 2}
    )


def live(world_id: str, next_tick: int, horizon: int = 9, **fields: object) -> LiveWorld:
    """Make a world that waits to open a tick."""
    return LiveWorld(world_id=world_id, next_tick=next_tick, horizon=horizon, **fields)  # type: ignore[arg-type]


def ahead(*worlds: LiveWorld, tick: int, standing: Standing | None = None) -> Ahead:
    """Look ahead."""
    return calls_ahead(worlds, tick, standing or stand(BUDGET, ()), needs_of)


def test_a_round_is_one_tick_of_every_live_world() -> None:
    """At full rate, with optional work; and thinned, without it and with the wave whole."""
    found = ahead(live("a", 3), live("b", 3), tick=3)
    assert found == Ahead(committed={}, full={TURN: 4_040, REFLECTION: 4}, least={TURN: 2_020})
    wave = ahead(live("a", WAVE), tick=WAVE)
    assert wave == Ahead(committed={}, full={TURN: 51, REFLECTION: 2}, least={TURN: 26})


def test_a_world_at_its_end_has_no_part_in_the_round() -> None:
    """Worlds of different length end at different rounds."""
    found = ahead(live("a", 3), live("b", 3, 3), tick=3)
    assert found.full == {TURN: 40, REFLECTION: 2}


def test_a_world_that_has_opened_the_round_has_no_part_in_it() -> None:
    """Its tick is committed already, and the next one is of a later round."""
    assert ahead(live("a", 4), live("b", 3), tick=3).full == ahead(live("b", 3), tick=3).full


def test_in_depth_order_the_round_is_the_next_tick_of_each_world() -> None:
    """Wherever it stands; nothing lies before it."""
    found = calls_ahead([live("a", 1), live("b", 3)], None, stand(BUDGET, ()), needs_of)
    assert found.committed == {}
    assert found.full == {TURN: 20 + 4_000, REFLECTION: 4}
    assert found.least == {TURN: 10 + 2_000}


def test_what_slower_worlds_run_before_the_round_is_committed() -> None:
    """Under the plans of their ticks, which are settled; up to their horizon and no further."""
    rows = [RungTaken(rung=Rung.FREEZE, tick=1), RungTaken(rung=Rung.SUBSAMPLE, tick=2)]
    found = ahead(live("a", 0), live("b", 3), tick=3, standing=stand(BUDGET, rows))
    assert found.committed == {TURN: 10 + 20 + 15, REFLECTION: 2}
    assert found.full == {TURN: 4_040, REFLECTION: 4}
    ending = ahead(live("a", 1, 2), tick=3)
    assert ending == Ahead(committed={TURN: 20, REFLECTION: 2}, full={}, least={})


def test_worlds_that_need_the_same_are_counted_together() -> None:
    """Worlds that share their needs are no fewer for it, at whatever ticks they stand."""
    shared = [Needs(thinned={TURN: 10 * (tick + 1)}) for tick in range(9)]
    worlds = [live(str(place), 1 + place % 3) for place in range(30)]
    found = calls_ahead(worlds, 3, stand(BUDGET, ()), lambda _, tick: shared[tick])
    assert found == Ahead(
        committed={TURN: 10 * 20 + 20 * 30}, full={TURN: 30 * 40}, least={TURN: 30 * 20}
    )


@pytest.mark.parametrize(
    ("begun", "left"),
    [({}, {TURN: 15, REFLECTION: 0}), ({TURN: 6}, {TURN: 9}), ({TURN: 99}, {TURN: 0})],
)
def test_what_an_open_tick_has_not_begun_is_committed(
    begun: dict[tuple[str, str], int], left: dict[tuple[str, str], int]
) -> None:
    """What it has begun is in the figure already, settled or reserved."""
    plan = Plan(activation=0.5, optional_work=False)
    found = ahead(live("a", 3, plan=plan, begun=begun), tick=3)
    assert {kind: found.committed.get(kind, 0) for kind in left} == left
    assert found.full == {TURN: 40, REFLECTION: 2}


def test_an_outlook_is_priced_by_what_calls_cost() -> None:
    """Calls of which nothing is known are in no sum; they have no price to be held against."""
    found = outlook(
        Ahead(committed={TURN: 2}, full={TURN: 5, REFLECTION: 7}, least={TURN: 3}),
        6,
        spent=100,
        estimates=learned(10),
        beyond="calls",
    )
    assert found == Outlook(tick=6, spent=100, committed=20, full=50, least=30, beyond="calls")
