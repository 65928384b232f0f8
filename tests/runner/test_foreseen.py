"""Proves that a forecast is held against a budget by the ladder that a run will take."""

from __future__ import annotations

import pytest

from perdure.records.budget import Budget, Ladder, Rung
from perdure.runner.foreseen import Foreseen, foresee
from perdure.study.forecast import CallForecast, Forecast, TickForecast

EACH = CallForecast(
    purpose="turn",
    role="tier_a",
    model="m",
    calls=100,
    calls_worst=100,
    input_tokens=40,
    output_tokens=10,
    input_tokens_worst=90,
    output_tokens_worst=20,
    typical_cost=1,
    worst_cost=5,
)


def found(*ticks: tuple[int, int, int], cost: int | None = 100) -> Forecast:
    """Make a forecast of ticks, each with its costs: of a wave, of the active, optional."""
    return Forecast(
        personas=10,
        worlds=(),
        calls=(EACH,),
        calls_total=100,
        calls_worst=100,
        attempts_worst=600,
        tokens=5_000,
        tokens_worst=66_000,
        widest_tick=10,
        currency="USD",
        ticks=tuple(
            TickForecast(
                tick=tick,
                is_wave=wave > 0,
                turns=float(wave + active),
                reflections=float(optional),
                calls_worst=10,
                wave=wave if cost is not None else None,
                active=active,
                optional=optional,
            )
            for tick, (wave, active, optional) in enumerate(ticks)
        ),
        cost=cost,
        cost_worst=None if cost is None else 5 * cost,
        seconds=50.0,
        seconds_worst=None,
    )


EVEN = found(*[(0, 8, 2)] * 10)


def rungs(budget: Budget, forecast: Forecast = EVEN) -> list[tuple[str, int]]:
    """List the rungs to expect."""
    return [(str(one.rung), one.tick) for one in foresee(budget, forecast).rungs]


def test_a_rung_is_expected_at_the_first_tick_that_would_reach_it() -> None:
    """Ten ticks of ten: 80 with the eighth, 95 and 100 with the tenth, which then is thinner."""
    assert rungs(Budget(amount=100)) == [("warn", 7), ("freeze", 9), ("subsample", 9)]
    assert rungs(Budget(amount=126)) == []
    assert rungs(Budget(amount=125)) == [("warn", 9)]


def test_what_a_rung_saves_puts_off_the_next() -> None:
    """Without optional work a tick costs 8, at a share of a half 4: the pause comes later."""
    ladder = Ladder(warn=0.2, freeze=0.4, subsample=0.5, share=0.5)
    # 10, then frozen at tick 1 with 20 of 50 ahead: 18, thinned at tick 2 with 28 ahead: 22, 26,
    # 30, 34, 38, 42, 46, 50.
    steps = [("warn", 0), ("freeze", 1), ("subsample", 2)]
    assert rungs(Budget(amount=50, ladder=ladder)) == steps
    # One less, and the last tick does not fit.
    assert rungs(Budget(amount=49, ladder=ladder)) == [*steps, ("pause", 9)]


def test_a_ceiling_above_the_amount_leaves_room_beyond_it() -> None:
    """The ladder is measured by the amount, and a run pauses at the ceiling."""
    whole = Ladder(share=1.0)
    assert rungs(Budget(amount=50, ladder=whole))[-1] == ("pause", 5)
    assert rungs(Budget(amount=50, ceiling=100, ladder=whole))[-1] == ("freeze", 4)


def test_a_share_of_one_leaves_subsampling_out() -> None:
    """Then what does not fit pauses the run at once."""
    taken = rungs(Budget(amount=30, ladder=Ladder(share=1.0)))
    assert ("subsample", 2) not in taken
    assert taken[-1][0] == "pause"


def test_a_wave_is_never_thinned() -> None:
    """What a wave costs it costs: if it does not fit, the run pauses before it."""
    waves = found((40, 0, 0), (0, 10, 0), (40, 0, 0))
    assert rungs(Budget(amount=60), waves)[-1] == ("pause", 2)
    assert foresee(Budget(amount=39), waves).starts is False


@pytest.mark.parametrize(
    ("budget", "starts"),
    [
        (Budget(amount=10), True),
        (Budget(amount=4), False),  # one call may cost 5
        (Budget(amount=7, ladder=Ladder(share=1.0)), False),  # frozen, the first tick costs 8
        (Budget(calls=10), True),
        (Budget(calls=9), False),
        (Budget(tokens=500), True),
        (Budget(tokens=499), False),
        (Budget(wall_s=1.0), True),
        (Budget(), True),
    ],
)
def test_a_run_that_cannot_open_its_first_tick_is_told_so(budget: Budget, *, starts: bool) -> None:
    """By what the tick is expected to cost, by its calls and tokens, or by the dearest call."""
    assert foresee(budget, EVEN).starts is starts


def test_each_limit_stands_beside_what_is_expected_and_the_worst() -> None:
    """What is expected is held against the amount, the worst case against the ceiling."""
    budget = Budget(amount=90, ceiling=500, calls=300, tokens=5_000, wall_s=50.0)
    limits = {one.what: one for one in foresee(budget, EVEN).limits}
    fits = {what: (one.expected_fits, one.worst_fits) for what, one in limits.items()}
    assert fits == {
        "money": (False, True),
        "calls": (True, False),
        "tokens": (True, False),
        "seconds": (True, None),
    }
    assert foresee(Budget(), EVEN) == Foreseen()


def test_what_is_not_known_does_not_fit_or_fail() -> None:
    """Without a price nothing is said of money, and no rung is expected."""
    held = foresee(Budget(amount=100), found((5, 5, 0), cost=None))
    assert held.rungs == ()
    assert (held.limits[0].expected_fits, held.limits[0].worst_fits) == (None, None)


def test_rungs_come_in_order_whatever_is_jumped() -> None:
    """A first tick above everything takes every rung at once, in the order of the ladder."""
    taken = [rung for rung, _ in rungs(Budget(amount=9), found((0, 10, 0)))]
    assert taken == [str(rung) for rung in (Rung.WARN, Rung.FREEZE, Rung.SUBSAMPLE)]


def test_where_worlds_do_not_go_on_together_no_tick_is_foreseen() -> None:
    """Each has its rungs at its own tick: nothing is said rather than something that is wrong."""
    together = foresee(Budget(amount=60, ceiling=1_000), EVEN)
    apart = foresee(Budget(amount=60, ceiling=1_000), EVEN, together=False)
    assert together.rungs
    assert (apart.rungs, apart.together, apart.starts) == ((), False, True)
    assert apart.limits == together.limits
    assert foresee(Budget(amount=0), EVEN, together=False).starts is False, "no call fits"
