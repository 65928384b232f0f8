"""What is counted for a lost call journal: every tick that may have been open, once, at a mean."""

from __future__ import annotations

import msgspec
import pytest
from tests.support.town import town

from perdure.inference.reservations import NOTHING, Amounts
from perdure.records.events import Head
from perdure.records.registry import (
    JournalLost,
    LogPayload,
    RunOpened,
    RunPaused,
    TickDiscarded,
    WorldEntry,
    WorldOutcome,
)
from perdure.records.scenario import ModelPin
from perdure.records.study import ModelSpec, Study
from perdure.records.usage import Price
from perdure.runner.ledger import spent_outside
from perdure.runner.losses import discarded, is_unnoted, next_tick_costs

OPENED = RunOpened(epoch=1)
PAUSED = RunPaused(cause="asked", exit_status=75)
AGAIN = RunOpened(epoch=2)


def head(tick: int) -> Head:
    """Say where a record ends."""
    return Head(seq=tick, chain="", content=0, digest="", tick=tick)


def worlds(count: int = 4, horizon: int = 3) -> tuple[WorldEntry, ...]:
    """List worlds of the town's first scenario."""
    return tuple(
        WorldEntry(
            world_id=str(number),
            scenario="s0",
            variant="v1",
            replicate_seed=number,
            world_seed="",
            horizon=horizon,
        )
        for number in range(count)
    )


def priced(price: Price | None) -> Study:
    """Make the town's study with a model over HTTP."""
    study = town().study
    spec = ModelSpec(pin=ModelPin(provider="http", model="m"), price=price)
    return msgspec.structs.replace(study, models=dict.fromkeys(study.models, spec))


HEADS = {"0": None, "1": head(-1), "2": head(1), "3": head(2)}


@pytest.mark.parametrize(
    ("log", "since", "kept", "unnoted"),
    [
        # The journal that the run began with.
        ((OPENED, AGAIN), 1, False, False),
        ((OPENED,), 2, False, True),
        ((OPENED, AGAIN), 2, False, True),
        ((OPENED, AGAIN, JournalLost(epoch=2)), 2, True, False),
        ((OPENED, PAUSED), 2, False, False),
        ((OPENED, PAUSED), 2, True, True),
        ((OPENED, JournalLost(epoch=2), AGAIN), 3, False, True),
        # What came after the new journal was begun is no loss of the old one.
        ((OPENED, PAUSED, AGAIN, RunOpened(epoch=3)), 2, False, False),
    ],
)
def test_a_loss_is_recorded_once_and_only_if_it_is_one(
    log: tuple[LogPayload, ...], since: int, *, kept: bool, unnoted: bool
) -> None:
    """Missing after a clean pause is no loss; whatever was set aside is worth a word."""
    assert is_unnoted(log, since, kept=kept) is unnoted


def test_every_tick_that_may_have_been_open_is_counted() -> None:
    """A world that has begun and is not at its end may have had its next tick open."""
    costs = dict.fromkeys("0123", 7)
    found = discarded(worlds(), HEADS, costs, (OPENED,), 2)
    assert found == tuple(
        TickDiscarded(world_id=world, tick=tick, epoch=1, journal_lost=True, estimate=7)
        for world, tick in (("1", 0), ("2", 2))
    )
    assert discarded(worlds(), HEADS, costs, (OPENED, PAUSED), 2) == ()
    assert spent_outside(found) == Amounts(money=14)
    unknown = discarded(worlds(), HEADS, dict.fromkeys("0123"), (OPENED,), 2)
    assert spent_outside(unknown) == Amounts(unknown=2)
    kept = TickDiscarded(world_id="1", tick=0, epoch=1, kept=9)
    assert spent_outside([kept]) == NOTHING, "its calls are in the journal, and counted there"


def test_a_lost_tick_costs_what_a_closed_one_did() -> None:
    """The mean over all closed ticks, rounded up; unknown if any part of it is."""
    known = (
        WorldOutcome(world_id="2", tick=1, cost=100),
        WorldOutcome(world_id="3", tick=2, cost=1),
        WorldOutcome(world_id="1"),
    )
    study = town().study
    assert next_tick_costs(study, 6, worlds(), HEADS, known) == dict.fromkeys("0123", 21)
    some = (*known, WorldOutcome(world_id="0", tick=0, cost=1, unknown_costs=1))
    assert next_tick_costs(study, 6, worlds(), HEADS, some) == dict.fromkeys("0123")


def test_before_any_tick_closed_it_costs_what_is_forecast() -> None:
    """A survey wave asks everybody; without a price nothing is known."""
    heads = dict.fromkeys("0123", head(-1))
    costs = next_tick_costs(priced(Price(input_fresh=0, output=1_000_000)), 6, worlds(), heads, ())
    study = town().study
    assert set(costs.values()) == {6 * (study.agent.answer_tokens_max // 2)}
    unknown = next_tick_costs(priced(None), 6, worlds(), heads, ())
    assert unknown == dict.fromkeys("0123")
