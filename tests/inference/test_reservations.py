"""That reservations keep a ceiling at every instant, and throttle, in order, before they stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.base.clock import SystemClock
from perdure.inference.reservations import (
    NOTHING,
    Amounts,
    Ceilings,
    Limit,
    Reservation,
    Reservations,
    exceeded,
)
from perdure.testing import SkippingClock

KIND = ("tier_a", "turn")
UNIT = 1_000_000_000


def treasury(ceilings: Ceilings, spent: Amounts = NOTHING) -> Reservations:
    """Make reservations on the machine's clock."""
    return Reservations(ceilings, spent, SystemClock())


async def given_by(reservations: Reservations, money: int, tick: int = 0) -> Reservation | None:
    """Reserve an amount of money for one call."""
    return await reservations.reserve(("w", tick), KIND, Amounts(money=money, calls=1))


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        (Amounts(money=1), Limit.MONEY),
        (Amounts(calls=1), Limit.CALLS),
        (Amounts(tokens=1), Limit.TOKENS),
        (NOTHING, None),
    ],
)
def test_each_ceiling_is_named(more: Amounts, limit: Limit | None):
    """What is exactly at its ceiling fits, and one more does not."""
    full = Amounts(money=5, calls=6, tokens=7)
    ceilings = Ceilings(money=5, calls=6, tokens=7)
    assert exceeded(ceilings, full, more) is limit
    assert exceeded(Ceilings(), full, more) is None


async def _spend(
    reservations: Reservations, calls: Sequence[tuple[int, int, int]], refused: list[int]
) -> None:
    """Make calls side by side: each has a worst case, a cost, and how many turns it takes."""
    ceiling = reservations.ceilings.money
    assert ceiling is not None

    async def one(worst: int, cost: int, turns: int, tick: int) -> None:
        reservation = await given_by(reservations, worst, tick)
        assert reservations.settled.money + reservations.reserved.money <= ceiling
        if reservation is None:
            refused.append(worst)
            return
        for _ in range(turns):
            await asyncio.sleep(0)
        reservation.settle(Amounts(money=cost, calls=1))
        assert reservations.settled.money + reservations.reserved.money <= ceiling

    async with asyncio.TaskGroup() as group:
        for tick, (worst, cost, turns) in enumerate(calls):
            group.create_task(one(worst, cost, turns, tick))


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 5)).map(
            lambda call: (max(call[0], call[1]), min(call[0], call[1]), call[2])
        ),
        max_size=40,
    ),
    st.integers(0, 300),
)
def test_settled_and_reserved_never_exceed_the_ceiling(
    calls: list[tuple[int, int, int]], ceiling: int
):
    """At every instant; and what was refused would not have fitted with nothing open."""
    reservations = treasury(Ceilings(money=ceiling))
    refused: list[int] = []
    asyncio.run(asyncio.wait_for(_spend(reservations, calls, refused), 30))
    assert reservations.reserved == NOTHING
    assert not reservations.open
    assert len(reservations.refused) == len(refused)
    assert all(reservations.settled.money + worst > ceiling for worst in refused)


def test_worst_cases_throttle_and_do_not_stop():
    """With 5.00 to spend, 400 calls of 0.01 finish, though each of 64 at work may cost 0.50."""
    reservations = treasury(Ceilings(money=5 * UNIT))
    gate = asyncio.Semaphore(64)
    widest = 0

    async def one() -> None:
        nonlocal widest
        async with gate:
            reservation = await given_by(reservations, UNIT // 2)
            assert reservation is not None
            widest = max(widest, reservations.open[KIND])
            await asyncio.sleep(0)
            reservation.settle(Amounts(money=UNIT // 100, calls=1))

    async def many() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(400):
                group.create_task(one())

    asyncio.run(many())
    assert reservations.settled == Amounts(money=4 * UNIT, calls=400)
    assert widest == 10


def test_waiting_is_in_order():
    """A small call does not overtake a large one that came before it."""

    async def main() -> list[str]:
        reservations = treasury(Ceilings(money=10))
        first = await given_by(reservations, 8)
        assert first is not None
        told: list[str] = []

        async def one(name: str, worst: int) -> None:
            reservation = await given_by(reservations, worst)
            assert reservation is not None
            told.append(name)
            reservation.settle(Amounts(money=1))

        large = asyncio.create_task(one("large", 6))
        await asyncio.sleep(0)
        small = asyncio.create_task(one("small", 1))
        await asyncio.sleep(0)
        assert told == []
        first.settle(Amounts(money=2))
        await asyncio.gather(large, small)
        return told

    assert asyncio.run(main()) == ["large", "small"]


def test_a_refused_tick_stays_refused():
    """Whatever its later calls would cost; another tick may go on with what is left."""

    async def main() -> None:
        reservations = treasury(Ceilings(money=10))
        assert await given_by(reservations, 11, tick=3) is None
        assert reservations.refused == {("w", 3): Limit.MONEY}
        assert await given_by(reservations, 1, tick=3) is None
        assert await given_by(reservations, 10, tick=4) is not None

    asyncio.run(main())


def test_an_end_counts_once():
    """A reservation that was settled is not given back again by whoever cleans up after it."""

    async def main() -> None:
        reservations = treasury(Ceilings(money=10))
        reservation = await given_by(reservations, 6)
        assert reservation is not None
        reservation.settle(Amounts(money=4, calls=1))
        reservation.abandon()
        reservation.release()
        assert reservations.settled == Amounts(money=4, calls=1)
        assert reservations.reserved == NOTHING

    asyncio.run(main())


@pytest.mark.parametrize("granted", [True, False])
def test_who_is_cancelled_while_waiting_holds_nothing(*, granted: bool):
    """Cancelled before or after the reservation was given to him: the next in line gets it."""

    async def main() -> None:
        reservations = treasury(Ceilings(money=10))
        first = await given_by(reservations, 10)
        assert first is not None
        waiting = asyncio.create_task(given_by(reservations, 10))
        next_one = asyncio.create_task(given_by(reservations, 3))
        await asyncio.sleep(0)
        if granted:
            first.release()
        waiting.cancel()
        if not granted:
            first.release()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        got = await next_one
        assert got is not None
        assert reservations.reserved.money == 3

    asyncio.run(main())


def test_time_is_a_ceiling_too():
    """When the time is up nothing more is reserved, though something is open."""

    async def main() -> None:
        clock = SkippingClock()
        reservations = Reservations(Ceilings(wall_s=60), NOTHING, clock)
        assert await given_by(reservations, 1, tick=0) is not None
        await clock.sleep(59)
        assert await given_by(reservations, 1, tick=0) is not None
        await clock.sleep(1)
        assert await given_by(reservations, 1, tick=1) is None
        assert reservations.refused == {("w", 1): Limit.WALL}

    asyncio.run(main())
