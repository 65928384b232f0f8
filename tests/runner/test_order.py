"""Worlds run in breadth-first or depth order, in groups if they must, to the same end."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import msgspec
import pytest
from tests.runner.test_budget import TICKS, Billing, Copying, campaign, plans, recorded_cost, rungs
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.base.errors import EXIT_DONE, EXIT_PAUSED
from perdure.records.budget import Budget, Rung
from perdure.records.registry import (
    BudgetChanged,
    RungTaken,
    WorldsLive,
    WorldState,
)
from perdure.records.study import Order
from perdure.runner.config import RunConfig
from perdure.runner.ladder import in_effect
from perdure.runner.session import Session
from perdure.study.identity import expand
from perdure.trace.memory import MemoryRegistry
from perdure.trace.rungs import moves_of, unlogged_rung, wrong_rungs
from perdure.world import ChannelWorld

BREADTH, DEPTH = Order.BREADTH, Order.DEPTH
MOMENTS_MAX = 60
SEEDS = (1, 2, 3, 4, 5, 6)
WAYS = [
    {"order": BREADTH, "live": 1},
    {"order": BREADTH, "live": 5},
    {"order": DEPTH},
    {"order": DEPTH, "live": 5},
    {"order": DEPTH, "live": 100},
]


def cells(**changes: Any) -> RunConfig:
    """Make a run of twelve cells."""
    return town(4, seeds=SEEDS, **changes)


class Watched:
    """Follows, by the journal of calls, which worlds have begun and not come to their end."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, int]] = []
        self.at_once = 0
        self._live: set[str] = set()

    async def watch(self, session: Session) -> None:
        """Watch a session from before it begins."""
        host: Any = session.host
        open_tick = host.open_tick
        horizons = {cell.entry.world_id: cell.entry.horizon for cell in session.cells}

        async def opening(asked: Any) -> Any:
            self.opened.append((asked.world, asked.tick))
            self._live.add(asked.world)
            self.at_once = max(self.at_once, len(self._live))
            return await open_tick(asked)

        close_tick = host.close_tick

        async def closing(world: str, tick: int) -> None:
            if tick == horizons[world] - 1:
                self._live.discard(world)
            await close_tick(world, tick)

        host.open_tick, host.close_tick = opening, closing


def log_of(ran: Ran) -> list[Any]:
    """Give the rows of a run log."""
    return [row.payload for row in ran.run.log]


def require_sound(ran: Ran) -> None:
    """Hold every world's rungs against the run log, as `verify` does."""
    assert wrong_rungs(log_of(ran)) is None
    moves = moves_of(log_of(ran))
    for world in ran.result.worlds:
        assert unlogged_rung(world.world_id, world.rungs, moves) is None


def require_plans(ran: Ran) -> None:
    """Hold the plan under which every tick was run against the rungs that its world records."""
    for place, world in enumerate(ran.result.worlds):
        for tick, plan in plans(ran, place).items():
            has = in_effect(world.rungs, tick)
            assert plan.optional_work is (Rung.FREEZE not in has)
            assert (plan.activation < 1) is (Rung.SUBSAMPLE in has)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_order_ends_in_the_same_digests(way: dict[str, Any]) -> None:
    """P4: twelve cells in both orders, as many side by side as may be: identical worlds."""
    ran = run_in_memory(cells(**way))
    assert ran.digests == run_in_memory(cells()).digests
    assert len(set(ran.digests)) > 4


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_no_more_worlds_are_live_than_may_be(way: dict[str, Any]) -> None:
    """Worlds beyond the cap have no file and no state until there is room; the cap is used."""
    watched = Watched()
    ran = run_in_memory(cells(**way), before=watched.watch)
    assert ran.result.exit_status == EXIT_DONE
    assert watched.at_once == min(way.get("live", 1), 12)


def test_in_depth_order_a_cell_ends_before_later_ones_begin() -> None:
    """Cell by cell in the order of the run's cells, each from its first tick to its last."""
    watched = Watched()
    ran = run_in_memory(cells(order=DEPTH), before=watched.watch)
    assert watched.opened == [
        (world.world_id, tick) for world in ran.result.worlds for tick in range(world.tick + 1)
    ]


def test_breadth_first_worlds_are_let_in_by_groups_that_are_on_record() -> None:
    """A group is live until all of it ended; the next is logged before it begins."""
    watched = Watched()
    ran = run_in_memory(cells(live=5), before=watched.watch)
    groups = [row.worlds for row in log_of(ran) if isinstance(row, WorldsLive)]
    names = [world.world_id for world in ran.result.worlds]
    assert groups == [tuple(names[:5]), tuple(names[5:10]), tuple(names[10:])]
    group_of = {name: place for place, group in enumerate(groups) for name in group}
    began = [group_of[world] for world, _ in watched.opened]
    assert began == sorted(began)


def test_a_run_whose_worlds_all_fit_says_nothing_of_groups() -> None:
    """Its record is what it always was."""
    assert not [row for row in log_of(run_in_memory(cells())) if isinstance(row, WorldsLive)]
    ran = run_in_memory(cells(live=12))
    assert not [row for row in log_of(ran) if isinstance(row, WorldsLive)]


def budgeted(percent: int, **changes: Any) -> tuple[Ran, Billing]:
    """Run six cells that show something at every tick, with so much of what they cost in all."""
    config = campaign(Budget(), seeds=SEEDS, **changes)
    whole = run_in_memory(config, Billing()).result.cost
    amount = whole * percent // 100
    budget = Budget(amount=amount, ceiling=whole * 2)
    asked = msgspec.structs.replace(config.study, budget=budget)
    model = Billing()
    return run_in_memory(RunConfig(**vars(config) | {"study": asked}), model), model


def test_in_depth_order_a_rung_has_effect_at_each_worlds_next_tick() -> None:
    """P8: in worlds under way at their next tick, in later ones from the start.

    The result says of every cell which others it can be compared with.
    """
    ran, model = budgeted(80, order=DEPTH, live=2)
    assert ran.result.exit_status == EXIT_DONE
    assert model.billed == ran.result.cost == recorded_cost(ran)
    require_sound(ran)
    taken = [row for row in log_of(ran) if isinstance(row, RungTaken)]
    assert [row.rung for row in taken] == [Rung.WARN, Rung.FREEZE, Rung.SUBSAMPLE]
    names = [world.world_id for world in ran.result.worlds]
    for row in taken:
        under_way = [names.index(name) for name in row.ticks]
        assert under_way, "no world was under way"
        for place, name in enumerate(names):
            at = row.ticks.get(name, 0 if place > max(under_way) else None)
            # A world that had opened its last tick has no next one.
            wanted = [] if at in {None, TICKS} else [at]
            assert [tick for tick, rung in rungs(ran, place) if rung == row.rung] == wanted
    require_plans(ran)
    found = ran.result.comparability
    assert len(found.groups) > 1
    assert found.unlike
    named = {world.world_id: world.rungs for world in ran.result.worlds}
    restraining = {
        name: tuple(at for at in rungs if at.rung is not Rung.WARN) for name, rungs in named.items()
    }
    for group in found.groups:
        assert {restraining[name] for name in group.worlds} == {group.rungs}
    assert {one.world_id for one in found.unlike} == set(named) - set(found.groups[0].worlds)


def test_breadth_first_every_cell_has_a_rung_at_the_same_tick() -> None:
    """P8: and so all of them can be compared."""
    ran, _ = budgeted(80)
    require_sound(ran)
    assert {rung for _, rung in rungs(ran, 0)} >= {"freeze", "subsample"}
    assert len({tuple(rungs(ran, place)) for place in range(len(SEEDS))}) == 1
    assert not ran.result.comparability.unlike


def test_a_group_that_begins_under_a_rung_records_it_at_its_first_tick() -> None:
    """What the run took while an earlier group was live holds in later ones from the start."""
    ran, model = budgeted(80, live=2)
    assert ran.result.exit_status == EXIT_DONE
    assert model.billed == ran.result.cost
    require_sound(ran)
    groups = [row.worlds for row in log_of(ran) if isinstance(row, WorldsLive)]
    place_of = {world.world_id: place for place, world in enumerate(ran.result.worlds)}
    seen: list[set[tuple[tuple[int, str], ...]]] = []
    for group in groups:
        seen.append({tuple(rungs(ran, place_of[name])) for name in group})
        assert len(seen[-1]) == 1, "a rung is at the same tick in every live cell"
    rows = log_of(ran)
    first = rows.index(next(row for row in rows if isinstance(row, RungTaken)))
    later = [row.worlds for row in rows[first:] if isinstance(row, WorldsLive)]
    assert later, "no group came after a rung"
    for group in later:
        assert rungs(ran, place_of[group[0]])[0] == (0, "warn")
    assert ran.result.comparability.unlike


@pytest.mark.parametrize(
    "way", [{"order": DEPTH}, {"order": DEPTH, "live": 3}, {"live": 2}], ids=str
)
def test_a_paused_run_goes_on_in_its_order(way: dict[str, Any]) -> None:
    """Worlds that were not let in stay without a record; with more to spend all come to the end."""
    config = campaign(Budget(), seeds=SEEDS, **way)
    whole = run_in_memory(config, Billing()).result.cost
    asked = msgspec.structs.replace(config.study, budget=Budget(amount=whole * 40 // 100))
    config = RunConfig(**vars(config) | {"study": asked})
    model = Billing()
    ran = run_in_memory(config, model)
    assert ran.result.exit_status == EXIT_PAUSED
    states = [world.state for world in ran.result.worlds]
    assert states[-1] is WorldState.NOT_STARTED
    assert ran.result.worlds[-1].world_id not in ran.partitions.worlds
    require_sound(ran)
    begun = set(ran.partitions.worlds)
    billed, again = model.billed, run_in_memory(config, model, after=ran)
    assert again.result.exit_status == EXIT_PAUSED
    assert model.billed == billed, "a run that is paused spends nothing"
    assert again.digests == ran.digests
    assert set(again.partitions.worlds) == begun, "nobody else was let in"

    async def raise_it(row: BudgetChanged) -> None:
        registry = await MemoryRegistry.open(ran.run)
        await registry.log(row)

    asyncio.run(raise_it(BudgetChanged(budget=Budget(amount=whole * 3))))
    done = run_in_memory(config, model, after=ran)
    assert done.result.exit_status == EXIT_DONE
    assert model.billed == done.result.cost
    require_sound(done)


class Unwitnessed(Copying):
    """Also keeps what a kill leaves between a tick's commit and its witness."""

    async def watch(self, session: Session) -> None:
        await super().watch(session)
        registry: Any = session.registry
        witness = registry.witness

        async def witnessing(*told: Any) -> None:
            if len(self.moments) < MOMENTS_MAX:
                self.moments.append((copy.deepcopy(self._durable), self.billed))  # type: ignore[arg-type]
            await witness(*told)

        registry.witness = witnessing


@pytest.mark.parametrize(
    "way", [{}, {"order": DEPTH}, {"order": DEPTH, "live": 3}, {"live": 2}], ids=str
)
@pytest.mark.parametrize("percent", [80, 300])
def test_a_run_that_is_killed_anywhere_goes_on_in_its_order(
    way: dict[str, Any], percent: int
) -> None:
    """P3, P4, P5: at replies and between commit and witness; every resume is itself sound.

    Without a rung it is the run that was never killed; with rungs it is within its budget, and the
    run log and the worlds agree on where each rung has effect.
    """
    config = campaign(Budget(), seeds=SEEDS[:4], **way)
    undisturbed = run_in_memory(config, Billing())
    amount = undisturbed.result.cost * percent // 100
    budget = Budget(amount=amount, ceiling=amount * 2)
    config = RunConfig(
        **vars(config) | {"study": msgspec.structs.replace(config.study, budget=budget)}
    )
    whole = Unwitnessed(every=13)
    run_in_memory(config, whole, before=whole.watch, calls=whole.calls)
    assert len(whole.moments) > 20
    for killed, billed in whole.moments[:: len(whole.moments) // 12]:
        model, watched = Billing(), Watched()
        ran = run_in_memory(config, model, after=killed, before=watched.watch)
        assert ran.result.exit_status == EXIT_DONE
        assert billed + model.billed <= ran.result.cost <= 2 * amount
        assert watched.at_once <= way.get("live", 1 if way else 4)
        require_sound(ran)
        require_plans(ran)
        groups = [row.worlds for row in log_of(ran) if isinstance(row, WorldsLive)]
        assert len(set(groups)) == len(groups), "a group is on record once"
        if percent > 100:
            assert ran.digests == undisturbed.digests


class FailsAtTwo(ChannelWorld):
    """A world whose code has a fault at its third tick."""

    def step(self, tick: int, *given: Any) -> Any:
        if tick == 2:
            raise ValueError("This world has a fault.")
        return super().step(tick, *given)


@pytest.mark.parametrize("order", Order)
def test_what_was_live_at_a_kill_goes_on_before_a_world_that_failed_earlier(order: Order) -> None:
    """P5: what a record holds beyond its note is read before anything new is decided."""
    config = campaign(Budget(), seeds=SEEDS[:3], order=order, live=1)
    first, second, _ = (cell.entry.world_id for cell in expand(config.study, config.population))
    parts = OwnParts(
        config, world=lambda h: FailsAtTwo() if h.world_id == first else ChannelWorld()
    )
    model = Unwitnessed(every=10_000)
    run_in_memory(config, model, parts=parts, before=model.watch, calls=model.calls)
    alive = [
        killed
        for killed, _ in model.moments
        if killed.partitions.worlds.get(second) and killed.partitions.worlds[second].head.tick >= 0
    ]
    again, watched = Billing(), Watched()
    ran = run_in_memory(config, again, after=alive[0], before=watched.watch)
    assert ran.result.exit_status == EXIT_DONE
    begun = list(dict.fromkeys(world for world, _ in watched.opened))
    assert begun[:2] == [second, first], "the one that failed is tried again after it"
