"""The figure that a budget is held against: closed, settled, reserved, lost, orphaned, unpriced."""

from __future__ import annotations

import pytest
from tests.runner.test_estimates import learned
from tests.support.budget_figure import (
    Bill,
    Figure,
    Reserved,
    bill_of,
    discarded_estimate,
    figure_of,
)
from tests.support.learning import learn_tick

from perdure.records.events import Cost
from perdure.records.registry import (
    CallsLost,
    CallsOrphaned,
    LogPayload,
    RunOpened,
    TickDiscarded,
)
from perdure.records.usage import CostSource
from perdure.runner.estimates import Estimates

NOTHING = Estimates({})


def figure(
    *,
    closed: Bill | None = None,
    settled: Bill | None = None,
    reserved: tuple[Reserved, ...] = (),
    log: tuple[LogPayload, ...] = (),
    estimates: Estimates = NOTHING,
) -> Figure:
    """Add up what is given and nothing else."""
    return figure_of(
        closed=closed or Bill(),
        settled=settled or Bill(),
        reserved=reserved,
        log=log,
        estimates=estimates,
    )


def cost(amount: int | None, model: str = "m", role: str = "tier_a") -> Cost:
    """Make a recorded cost."""
    return Cost(
        job=0,
        purpose="turn",
        ordinal=0,
        attempt=0,
        role=role,
        model=model,
        source=CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE,
        amount=amount,
    )


def lost(amount: int, unknown: int = 0, tick: int = 0) -> CallsLost:
    """Charge lost calls."""
    return CallsLost(world_id="w", tick=tick, epoch=1, calls=1, cost=amount, unknown_costs=unknown)


def orphaned(amount: int, unknown: int = 0) -> CallsOrphaned:
    """Charge orphaned calls."""
    return CallsOrphaned(world_id="w", tick=0, epoch=1, calls=1, cost=amount, unknown_costs=unknown)


def discarded(estimate: int | None) -> TickDiscarded:
    """Discard a tick."""
    return TickDiscarded(world_id="w", tick=0, epoch=1, estimate=estimate)


def test_every_part_is_in_the_figure_once() -> None:
    """Each part stands for itself; what is in flight counts at its estimate, and at its worst."""
    found = figure(
        closed=Bill(known=1),
        settled=Bill(known=20),
        reserved=(Reserved(role="tier_a", purpose="turn", worst=900),),
        log=(RunOpened(epoch=1), lost(300), lost(5_000, tick=1), orphaned(70_000), discarded(8)),
        estimates=learned(400),
    )
    assert found == Figure(
        closed=1,
        settled=20,
        reserved=400,
        reserved_worst=900,
        lost=5_300,
        orphaned=70_000,
        discarded=8,
    )
    assert found.charged == 1 + 20 + 5_300 + 70_000 + 8
    assert found.expected == found.charged + 400
    assert found.worst == found.charged + 900


def test_a_discarded_tick_whose_calls_are_journaled_has_no_estimate() -> None:
    """Its calls are charged as what they are, so an estimate would count them twice."""
    assert figure(log=(discarded(None), discarded(7), discarded(7))).discarded == 14


@pytest.mark.parametrize(
    ("closed", "ticks", "forecast", "estimate"),
    [(0, 0, None, None), (0, 0, 50, 50), (100, 3, 50, 34), (99, 3, None, 33), (0, 2, 50, 0)],
)
def test_an_unknown_tick_costs_what_a_closed_one_did(
    closed: int, ticks: int, forecast: int | None, estimate: int | None
) -> None:
    """On average, rounded up; before any is closed, what was forecast."""
    assert discarded_estimate(closed, ticks, forecast) == estimate


def test_a_bill_keeps_known_and_unknown_apart() -> None:
    """Attempts without an amount are counted by model and role, and bills add up."""
    bill = bill_of([cost(5), cost(None), cost(None, "n"), cost(0), cost(None)])
    assert bill == Bill(known=5, unpriced={("m", "tier_a"): 2, ("n", "tier_a"): 1})
    more = bill + bill_of([cost(None, "n"), cost(2)])
    assert more == Bill(known=7, unpriced={("m", "tier_a"): 2, ("n", "tier_a"): 2})
    assert bill_of([]) == Bill() == Bill() + Bill()


def test_unpriced_calls_cost_the_mean_of_their_kind() -> None:
    """Closed and open ones alike, rounded up once; a kind without a mean stays unknown."""
    estimates = learned(10, 11)
    closed = bill_of([cost(None), cost(None, "n"), cost(None, role="tier_b")])
    found = figure(closed=closed, settled=bill_of([cost(None), cost(None)]), estimates=estimates)
    assert (found.unpriced, found.unknown) == (32, 2)
    assert found.charged == 32
    nothing_known = figure(closed=closed, settled=bill_of([cost(None)]))
    assert (nothing_known.unpriced, nothing_known.unknown) == (0, 4)


def test_lost_calls_without_an_amount_cost_the_dearest_mean() -> None:
    """The run log does not name their model, so nothing cheaper would be safe."""
    estimates = learned(10)
    learn_tick(estimates, [])
    log = (lost(5, unknown=2), orphaned(0, unknown=1))
    found = figure(log=log, estimates=estimates)
    assert (found.lost, found.unpriced, found.unknown) == (5, 30, 0)
    assert figure(log=log).unknown == 3


@pytest.mark.parametrize(
    ("estimate", "worst", "counted"),
    [
        (400, 900, (400, 900, 0)),
        (400, 300, (300, 300, 0)),
        (None, 900, (900, 900, 0)),
        (400, None, (400, 0, 0)),
        (None, None, (0, 0, 1)),
    ],
)
def test_an_attempt_in_flight_is_never_more_than_its_worst(
    estimate: int | None, worst: int | None, counted: tuple[int, int, int]
) -> None:
    """The ladder goes by the estimate, the ceiling by the worst case; neither is made up."""
    reserved = (Reserved(role="tier_a", purpose="turn", worst=worst),)
    found = figure(reserved=reserved, estimates=Estimates({("tier_a", "turn"): estimate}))
    assert (found.reserved, found.reserved_worst, found.unknown) == counted
