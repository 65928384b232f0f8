"""The ladder: which rungs are taken or lifted, from which tick on, and what a world records."""

from __future__ import annotations

import msgspec
import pytest

from perdure.base.money import nano
from perdure.records.budget import Budget, Ladder, Rung
from perdure.records.events import Degraded, Event, Restored
from perdure.records.presentation import Plan
from perdure.records.registry import (
    BudgetChanged,
    LogPayload,
    RungAt,
    RungLifted,
    RungTaken,
    RunOpened,
    RunPaused,
    WorldsLive,
)
from perdure.records.study import Order
from perdure.runner.ladder import (
    NOTHING_DUE,
    Due,
    Outlook,
    Standing,
    after,
    beyond,
    decide,
    due,
    gives_more,
    in_effect,
    is_paused,
    least_plan,
    plan_at,
    spread,
    stand,
)
from perdure.trace.rungs import Moves, Rungs, moves_of, recorded_after

WARN, FREEZE, SUBSAMPLE, PAUSE = Rung
BUDGET = Budget(amount=1_000)
WHOLE = Budget(amount=1_000, ladder=Ladder(share=1.0))


def taken(*rungs: Rung, tick: int = 5) -> tuple[LogPayload, ...]:
    """Say that rungs are taken."""
    return tuple(RungTaken(rung=rung, tick=tick) for rung in rungs)


def lifted(*rungs: Rung, tick: int = 5) -> tuple[LogPayload, ...]:
    """Say that rungs are lifted."""
    return tuple(RungLifted(rung=rung, tick=tick) for rung in rungs)


def raised(amount: int = 10_000) -> BudgetChanged:
    """Give the run more room."""
    return BudgetChanged(budget=Budget(amount=amount))


def look(full: int, least: int = 0, *, spent: int = 0, beyond: str = "") -> Outlook:
    """Look ahead of tick 5."""
    return Outlook(tick=5, spent=spent, full=full, least=least, beyond=beyond)


@pytest.mark.parametrize(
    ("full", "rungs"),
    [
        (0, ()),
        (799, ()),
        (800, (WARN,)),
        (949, (WARN,)),
        (950, (WARN, FREEZE)),
        (999, (WARN, FREEZE)),
        (1_000, (WARN, FREEZE, SUBSAMPLE)),
        (1_001, (WARN, FREEZE, SUBSAMPLE)),
    ],
)
def test_a_rung_is_taken_at_its_fraction(full: int, rungs: tuple[Rung, ...]) -> None:
    """A jump takes each rung in between, in order, all from the same tick on."""
    assert decide(stand(BUDGET, ()), look(full)) == taken(*rungs)


@pytest.mark.parametrize("amount", [nano("5.00"), nano("0.1") * 3, 10**15 + 20, 3 * 10**17 + 60])
def test_a_fraction_means_what_is_written(amount: int) -> None:
    """0.95 of a budget is exactly that, however large the amount; one nano-unit less is less."""
    standing = stand(Budget(amount=amount), ())
    at = amount * 19 // 20
    assert amount * 19 % 20 == 0
    assert decide(standing, look(at)) == taken(WARN, FREEZE)
    assert decide(standing, look(at - 1)) == taken(WARN)


def test_what_is_spent_and_what_is_committed_counts_with_the_round() -> None:
    """The figure, the work in hand and the next round are held against the budget together."""
    outlook = Outlook(tick=5, spent=500, committed=200, full=100)
    assert decide(stand(BUDGET, ()), outlook) == taken(WARN)
    for part in ("spent", "committed", "full"):
        more = msgspec.structs.replace(outlook, **{part: getattr(outlook, part) + 150})
        assert decide(stand(BUDGET, ()), more) == taken(WARN, FREEZE)
        less = msgspec.structs.replace(outlook, **{part: getattr(outlook, part) - 1})
        assert decide(stand(BUDGET, ()), less) == ()


@pytest.mark.parametrize(
    ("budget", "outlook", "rungs"),
    [
        # The thinned round fits exactly, and does not.
        (BUDGET, look(300, 200, spent=800), (WARN, FREEZE, SUBSAMPLE)),
        (BUDGET, look(300, 201, spent=800), (WARN, FREEZE, SUBSAMPLE, PAUSE)),
        # A ceiling above the amount leaves room for the thinned round, and no more than it says.
        (Budget(amount=1_000, ceiling=1_200), look(900, 400, spent=800), tuple(Rung)[:3]),
        (Budget(amount=1_000, ceiling=1_200), look(900, 401, spent=800), tuple(Rung)),
        # Without subsampling there is nothing between freezing and pausing.
        (WHOLE, look(300, 200, spent=800), (WARN, FREEZE)),
        (WHOLE, look(300, 201, spent=800), (WARN, FREEZE, PAUSE)),
        (WHOLE, look(200, 200, spent=800), (WARN, FREEZE)),
        # A round with a wave is not thinned: `least` has it whole.
        (BUDGET, look(201, 201, spent=800), tuple(Rung)),
        # What does not fit under the ceiling is degraded even before its fraction is reached.
        (
            Budget(amount=1_000, ladder=Ladder(warn=2, freeze=3, subsample=4)),
            look(300, 200, spent=800),
            (WARN, FREEZE, SUBSAMPLE),
        ),
    ],
)
def test_what_does_not_fit_under_the_ceiling_pauses(
    budget: Budget, outlook: Outlook, rungs: tuple[Rung, ...]
) -> None:
    """The subset is taken only if it fits; else the run pauses, which is a rung like any other."""
    assert decide(stand(budget, ()), outlook) == taken(*rungs)


@pytest.mark.parametrize(
    ("budget", "outlook", "rungs"),
    [
        (Budget(), look(10**18, 10**18), ()),
        (Budget(ceiling=1_000), look(1_000, 400), ()),
        (Budget(ceiling=1_000), look(1_001, 400), (PAUSE,)),
        (Budget(calls=9), look(10**18, beyond="calls"), (PAUSE,)),
        (Budget(amount=1_000, calls=9), look(1, beyond="calls"), (PAUSE,)),
        (Budget(amount=1_000, calls=9), look(850, beyond="calls"), (WARN, PAUSE)),
        (Budget(amount=0), look(0), ()),
    ],
)
def test_without_an_amount_the_ladder_never_acts(
    budget: Budget, outlook: Outlook, rungs: tuple[Rung, ...]
) -> None:
    """Other ceilings still pause; and nothing spent of nothing is no fraction."""
    assert decide(stand(budget, ()), outlook) == taken(*rungs)


def test_rungs_only_escalate() -> None:
    """A cheaper round lifts nothing, and what is taken is not taken again."""
    log = taken(WARN, FREEZE, tick=2)
    assert decide(stand(BUDGET, log), look(10)) == ()
    assert decide(stand(BUDGET, log), look(960)) == ()
    assert decide(stand(BUDGET, log), look(1_000)) == taken(SUBSAMPLE)
    half = taken(WARN)
    assert decide(stand(BUDGET, half), look(1_000)) == taken(FREEZE, SUBSAMPLE)


def test_a_paused_run_stays_as_it_is() -> None:
    """Run again under the same budget, or under less, nothing new is recorded."""
    log = (*taken(*Rung), RunPaused(cause="spent", exit_status=76), RunOpened(epoch=2))
    less = BudgetChanged(budget=Budget(amount=500))
    for rows in (log, (*log, less), (*log, less, BudgetChanged(budget=BUDGET))):
        assert decide(stand(BUDGET, rows), look(10)) == ()
        assert decide(stand(BUDGET, rows), look(10**9, 10**9, beyond="calls")) == ()
    alone = taken(PAUSE)
    assert decide(stand(BUDGET, alone), look(900)) == ()


@pytest.mark.parametrize(
    ("full", "rows"),
    [
        (10, lifted(PAUSE, SUBSAMPLE, FREEZE, WARN)),
        (8_000, lifted(PAUSE, SUBSAMPLE, FREEZE)),
        (9_999, lifted(PAUSE, SUBSAMPLE)),
        (10_000, lifted(PAUSE)),
        (10_010, lifted(PAUSE)),
        (30_000, ()),
    ],
)
def test_a_raised_budget_lifts_what_is_not_warranted(
    full: int, rows: tuple[LogPayload, ...]
) -> None:
    """The pause first, then the others, down to what the new amount still calls for."""
    outlook = look(full, full // 2)
    assert decide(stand(BUDGET, (*taken(*Rung, tick=3), raised())), outlook) == rows


def test_what_is_lifted_may_be_taken_again() -> None:
    """After a rung is taken under the new budget, rungs only escalate again."""
    log = (*taken(WARN, FREEZE, tick=2), raised(), *lifted(FREEZE, tick=3))
    assert decide(stand(BUDGET, log), look(9_500)) == taken(FREEZE)
    again = (*log, *taken(FREEZE))
    assert decide(stand(BUDGET, again), look(10)) == ()
    assert stand(BUDGET, again).rungs == (
        RungAt(rung=WARN, tick=2),
        RungAt(rung=FREEZE, tick=2, lifted=3),
        RungAt(rung=FREEZE, tick=5),
    )


@pytest.mark.parametrize("kept", range(5))
def test_a_decision_that_was_cut_short_is_finished(kept: int) -> None:
    """Killed between the rows of a decision, a run decides the rest of it, and nothing twice."""
    for log, outlook in (
        ((), look(2_000, 2_000)),
        ((*taken(*Rung, tick=3), raised()), look(10)),
    ):
        whole = decide(stand(BUDGET, log), outlook)
        assert len(whole) == 4
        assert decide(stand(BUDGET, (*log, *whole[:kept])), outlook) == whole[kept:]


def test_a_lowered_budget_escalates_at_once() -> None:
    """What was 80 % of the old budget may be all of the new one."""
    log = (*taken(WARN, tick=2), BudgetChanged(budget=Budget(amount=800)))
    assert decide(stand(BUDGET, log), look(810, 100)) == taken(FREEZE, SUBSAMPLE)


@pytest.mark.parametrize(
    ("new", "old", "more"),
    [
        (Budget(amount=2), Budget(amount=1), True),
        (Budget(amount=1), Budget(amount=1), False),
        (Budget(amount=1), Budget(amount=2), False),
        (Budget(), Budget(amount=2), True),
        (Budget(amount=2), Budget(), False),
        (Budget(amount=1, ceiling=3), Budget(amount=1), True),
        (Budget(amount=2, ceiling=3), Budget(amount=1, ceiling=3), True),
        (Budget(calls=4), Budget(calls=3), True),
        (Budget(tokens=4), Budget(tokens=3), True),
        (Budget(wall_s=4.5), Budget(wall_s=4), True),
        (Budget(calls=3, tokens=2), Budget(calls=3, tokens=2), False),
        (Budget(calls=3), Budget(calls=3, tokens=2), True),
    ],
)
def test_a_budget_is_raised_if_any_limit_gives_way(new: Budget, old: Budget, more: bool) -> None:  # noqa: FBT001
    """An absent limit is the largest there is."""
    assert gives_more(new, old) is more


@pytest.mark.parametrize(
    ("used", "name"),
    [
        ({"calls": 3, "tokens": 5, "wall_s": 1.5}, ""),
        ({"calls": 4}, "calls"),
        ({"tokens": 6}, "tokens"),
        ({"wall_s": 1.6}, "time"),
        ({"calls": 4, "tokens": 6}, "calls"),
    ],
)
def test_other_ceilings_are_named(used: dict[str, int], name: str) -> None:
    """A limit may be reached, and not crossed."""
    assert beyond(Budget(calls=3, tokens=5, wall_s=1.5), **used) == name
    assert beyond(Budget(), **used) == ""


def test_the_study_s_ladder_holds_whatever_the_budget_becomes() -> None:
    """One tick has one plan in all worlds, so a changed budget cannot bring another share."""
    changed = BudgetChanged(budget=Budget(amount=2, ladder=Ladder(share=0.9)))
    standing = stand(BUDGET, (*taken(*Rung), changed))
    assert standing.budget == Budget(amount=2)
    assert plan_at(standing, 5).activation == 0.4


def test_plans_follow_the_rungs_of_their_tick() -> None:
    """A warning changes nothing; the others have effect from their tick on, until lifted."""
    log = (
        *taken(WARN, tick=1),
        *taken(FREEZE, tick=2),
        *taken(SUBSAMPLE, tick=4),
        *lifted(SUBSAMPLE, tick=6),
        *lifted(FREEZE, tick=7),
    )
    standing = stand(BUDGET, log)
    frozen, thin = Plan(optional_work=False), Plan(activation=0.4, optional_work=False)
    plans = [plan_at(standing, tick) for tick in range(9)]
    assert plans == [Plan()] * 2 + [frozen] * 2 + [thin] * 2 + [frozen] + [Plan()] * 2
    assert least_plan(standing) == thin


def test_a_pause_has_effect_from_its_tick_on() -> None:
    """Worlds that are behind still run up to it, under the plan that they would have had."""
    standing = stand(BUDGET, taken(*Rung))
    assert [is_paused(standing, tick) for tick in (4, 5, 6)] == [False, True, True]
    assert plan_at(standing, 4) == Plan()
    assert in_effect(standing.rungs, 4) == frozenset()


def test_a_world_records_what_it_has_not_recorded() -> None:
    """In the order of the ladder, once, at the tick at which it has effect or starts under it."""
    standing = stand(BUDGET, (*taken(WARN, tick=0), *taken(FREEZE, tick=3)))
    assert due(standing, 0, ()) == Due(degraded=(WARN,))
    has = (RungAt(rung=WARN, tick=0),)
    assert due(standing, 1, has) == NOTHING_DUE
    assert due(standing, 3, has) == Due(degraded=(FREEZE,))
    assert due(standing, 4, (*has, RungAt(rung=FREEZE, tick=3))) == NOTHING_DUE
    jumped = stand(BUDGET, taken(WARN, FREEZE, SUBSAMPLE))
    assert due(jumped, 5, ()) == Due(degraded=(WARN, FREEZE, SUBSAMPLE))


def test_a_paused_world_records_the_pause_and_no_more() -> None:
    """What was taken with it has effect only at a tick that opens, and is recorded there."""
    standing = stand(BUDGET, taken(*Rung))
    assert due(standing, 4, ()) == NOTHING_DUE
    assert due(standing, 5, ()) == Due(degraded=(PAUSE,))
    paused = (RungAt(rung=PAUSE, tick=5),)
    assert due(standing, 5, paused) == NOTHING_DUE
    for row in (raised(1_050), *lifted(PAUSE, SUBSAMPLE)):
        standing = after(standing, row)
    assert due(standing, 5, paused) == Due(restored=(PAUSE,), degraded=(WARN, FREEZE))
    assert due(standing, 5, ()) == Due(degraded=(WARN, FREEZE)), "it never came to the pause"


def test_rungs_are_lifted_in_the_record_too() -> None:
    """From the top of the ladder down; a rung lifted before it had effect is not recorded."""
    log = (*taken(WARN, FREEZE, SUBSAMPLE, tick=2), raised(), *lifted(SUBSAMPLE, FREEZE, WARN))
    standing = stand(BUDGET, log)
    has = tuple(RungAt(rung=rung, tick=2) for rung in (WARN, FREEZE, SUBSAMPLE))
    assert due(standing, 4, has) == NOTHING_DUE
    assert due(standing, 5, has) == Due(restored=(SUBSAMPLE, FREEZE, WARN))
    same_tick = stand(BUDGET, (*taken(WARN), raised(), *lifted(WARN)))
    assert [due(same_tick, tick, ()) for tick in (4, 5, 6)] == [NOTHING_DUE] * 3


def test_what_is_recorded_is_what_was_due() -> None:
    """A record that follows what is due tick by tick has each rung once, at the run's own tick."""
    log = (*taken(WARN, tick=1), *taken(FREEZE, tick=2), raised(), *lifted(FREEZE, tick=4))
    standing = stand(BUDGET, log)
    record: Rungs = ()
    for tick in range(6):
        found = due(standing, tick, record)
        for rung in found.restored:
            record = recorded_after(record, tick, Restored(rung=rung))
        for rung in found.degraded:
            record = recorded_after(record, tick, Degraded(rung=rung))
    assert record == standing.rungs


def test_where_a_run_stands_is_in_its_log_alone() -> None:
    """Rows that are not about budget or rungs move nothing; the others move it one by one."""
    log = (RunOpened(epoch=1), *taken(WARN, tick=1), raised(), *lifted(WARN, tick=2))
    standing = stand(BUDGET, log)
    assert standing == Standing(
        budget=Budget(amount=10_000),
        rungs=(RungAt(rung=WARN, tick=1, lifted=2),),
        judged=BUDGET,
        moves=moves_of(log),
    )
    assert after(standing, RunPaused(cause="asked", exit_status=75)) == standing
    assert standing.taken == frozenset()
    assert standing.may_lift
    assert not stand(BUDGET, (raised(),)).may_lift, "nothing was taken"


def test_events_carry_no_more_than_the_rung() -> None:
    """A record says that a rung has effect, and never how much was spent."""
    event = Event(seq=0, tick=3, payload=Degraded(rung=WARN))
    assert msgspec.to_builtins(event.payload) == {"rung": "warn"}


@pytest.mark.parametrize(
    ("order", "row", "nexts", "ticks"),
    [
        (Order.BREADTH, RungTaken(rung=WARN, tick=7), {"a": 7, "b": 4}, {}),
        (Order.BREADTH, RungTaken(rung=WARN, tick=7), {"a": 7, "b": 9}, {"b": 9}),
        (Order.DEPTH, RungTaken(rung=WARN, tick=0), {"a": 7, "b": 4}, {"a": 7, "b": 4}),
    ],
)
def test_no_rung_reaches_a_tick_that_was_opened_before_it(
    order: Order, row: RungTaken, nexts: dict[str, int], ticks: dict[str, int]
) -> None:
    """P8: breadth-first all go by its tick; in depth order each by its own, and the row says so."""
    spread_out = spread(row, nexts, Moves(), order)
    assert spread_out == RungTaken(rung=WARN, tick=row.tick, ticks=ticks)
    standing = after(stand(BUDGET, ()), spread_out)
    for world, tick in nexts.items():
        at = ticks.get(world, row.tick)
        assert at >= tick or order is Order.BREADTH
        assert due(standing.of(world), at, ()) == Due(degraded=(WARN,))
        assert at == 0 or due(standing.of(world), at - 1, ()) == Due()


def test_a_world_that_was_not_let_in_has_a_rung_from_its_start() -> None:
    """P8: in its own group later ones take effect where that one stands."""
    log: list[LogPayload] = [
        WorldsLive(worlds=("a",)),
        RungTaken(rung=WARN, tick=7),
        WorldsLive(worlds=("b",)),
        RungTaken(rung=SUBSAMPLE, tick=2),
    ]
    standing = stand(BUDGET, log)
    assert due(standing.of("b"), 0, ()) == Due(degraded=(WARN,))
    assert due(standing.of("c"), 0, ()) == Due(degraded=(WARN, SUBSAMPLE))
    assert plan_at(standing.of("b"), 1) == Plan()
    assert plan_at(standing.of("b"), 2).activation == BUDGET.ladder.share
    assert due(standing.of("a"), 6, ()) == Due(degraded=(SUBSAMPLE,))
