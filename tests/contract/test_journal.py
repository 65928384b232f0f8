"""Every call journal keeps the same contract: the one in a file, and the one in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.support.calls import (
    OTHER,
    WORLD,
    called,
    embedded,
    failed,
    intent,
    key,
    opening,
    replied,
)

from perdure.base.errors import InternalError, StaleWriterError
from perdure.records.journal import JournaledCall, OpenTick
from perdure.records.presentation import Plan
from perdure.records.request import Reply
from perdure.trace.journal import Journal
from perdure.trace.journal_memory import MemoryCalls, MemoryJournal
from perdure.trace.journal_port import CallJournal


class Store(NamedTuple):
    """One implementation: how its journal is made, and opened again."""

    create: Callable[[], Awaitable[CallJournal]]
    reopen: Callable[[int], Awaitable[CallJournal]]


def in_memory(_: Path) -> Store:
    """Make the journal in memory."""
    held = MemoryCalls()

    async def reopen(epoch: int) -> CallJournal:
        return MemoryJournal(held, epoch)

    return Store(lambda: reopen(1), reopen)


def in_a_file(folder: Path) -> Store:
    """Make the journal in a file."""
    folder.mkdir()
    return Store(lambda: Journal.create(folder, 1), lambda epoch: Journal.open(folder, epoch))


@pytest.fixture(params=[in_a_file, in_memory], ids=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Give each implementation in turn."""
    made: Store = request.param(tmp_path / "run")
    return made


async def held(journal: CallJournal, tick: int = 0, world: str = WORLD) -> OpenTick:
    """Read a tick that is open."""
    found = await journal.calls(world, tick)
    assert found is not None
    return found


def test_a_call_is_kept_with_all_that_is_known_of_it(store: Store) -> None:
    """P3: openings, intents and outcomes of every kind are there for the next governor."""

    async def check() -> None:
        journal = await store.create()
        assert await journal.open_tick(opening()) == opening()
        outcomes = [replied("ja: \u2603 \x1b[0m null"), embedded(), failed(), None, called()]
        for job, settled in enumerate(outcomes):
            await journal.intend(intent(key(job), amount=None if job == 1 else 900))
            if settled is not None:
                await journal.settle(key(job), 0, settled)
        await journal.close()
        again = await store.reopen(2)
        assert again.epoch == 2
        assert again.open_ticks == (opening(),)
        assert again.is_open(opening().world, opening().tick)
        assert not again.is_open(OTHER, opening().tick)
        found = await held(again)
        assert (found.epoch, found.opening) == (1, opening())
        assert found.calls == tuple(
            JournaledCall(
                epoch=1,
                intent=intent(key(job), amount=None if job == 1 else 900),
                settled=settled,
            )
            for job, settled in enumerate(outcomes)
        )
        await again.close()

    asyncio.run(check())


def test_a_tick_that_is_open_keeps_its_plan(store: Store) -> None:
    """P4: whoever runs a tick again runs it under the plan that it was opened with."""

    async def check() -> None:
        journal = await store.create()
        first = msgspec.structs.replace(opening(), plan=Plan(activation=0.5))
        await journal.open_tick(first)
        assert await journal.open_tick(opening()) == first
        await journal.close()
        again = await store.reopen(2)
        assert await again.open_tick(opening()) == first
        with pytest.raises(InternalError, match="starts from"):
            await again.open_tick(opening(input_hash="1" * 64))
        await again.close()

    asyncio.run(check())


def test_attempts_go_on_under_the_next_epoch(store: Store) -> None:
    """P3: an attempt says under which epoch it was sent; the next epoch adds its own."""

    async def check() -> None:
        journal = await store.create()
        await journal.open_tick(opening())
        await journal.intend(intent(key()))
        await journal.close()
        again = await store.reopen(4)
        await again.intend(intent(key(), attempt=1))
        await again.settle(key(), 1, replied())
        calls = (await held(again)).calls
        assert [(call.epoch, call.intent.attempt) for call in calls] == [(1, 0), (4, 1)]
        assert [call.settled for call in calls] == [None, replied()]
        await again.close()

    asyncio.run(check())


def test_what_was_not_intended_cannot_be_settled(store: Store) -> None:
    """P9: a result without its intent, twice, of another epoch or of no open tick is our bug."""

    async def check() -> None:
        journal = await store.create()
        with pytest.raises(InternalError, match="not open"):
            await journal.intend(intent(key()))
        await journal.open_tick(opening())
        with pytest.raises(InternalError, match="not in flight"):
            await journal.settle(key(), 0, replied())
        await journal.intend(intent(key()))
        await journal.intend(intent(key(1)))
        with pytest.raises(InternalError, match="not in flight"):
            await journal.settle(key(), 1, replied())
        await journal.settle(key(), 0, replied())
        with pytest.raises(InternalError, match="not in flight"):
            await journal.settle(key(), 0, replied())
        with pytest.raises(InternalError, match="cannot be recorded"):
            await journal.settle(key(1), 0, replied("\ud800"))
        await journal.close()
        again = await store.reopen(2)
        with pytest.raises(InternalError, match="not in flight"):
            await again.settle(key(1), 0, replied())
        await again.close_tick(WORLD, 0)
        with pytest.raises(InternalError, match="not open"):
            await again.settle(key(1), 0, replied())
        await again.close()

    asyncio.run(check())


def test_a_closed_tick_is_gone_and_may_be_opened_afresh(store: Store) -> None:
    """The record wins: nothing of a closed tick is ever given again; other ticks stay."""

    async def check() -> None:
        journal = await store.create()
        for world in (WORLD, OTHER):
            await journal.open_tick(opening(world=world))
            await journal.intend(intent(key(world=world)))
            await journal.settle(key(world=world), 0, replied())
        await journal.close_tick(WORLD, 0)
        await journal.close_tick(WORLD, 7)
        assert await journal.calls(WORLD, 0) is None
        assert journal.open_ticks == (opening(world=OTHER),)
        await journal.open_tick(opening(input_hash="1" * 64))
        assert (await held(journal)).calls == ()
        await journal.close()
        again = await store.reopen(2)
        assert (await held(again)).calls == ()
        assert (await held(again)).opening.input_hash == "1" * 64
        assert len((await held(again, world=OTHER)).calls) == 1
        await again.close()

    asyncio.run(check())


def test_a_stale_governor_is_refused(store: Store) -> None:
    """P7: once a later epoch has claimed the journal, an earlier one can neither write nor open."""

    async def check() -> None:
        old = await store.create()
        await old.open_tick(opening())
        await old.intend(intent(key()))
        new = await store.reopen(2)
        with pytest.raises(StaleWriterError):
            await old.settle(key(), 0, replied())
        with pytest.raises(StaleWriterError):
            await old.intend(intent(key(1)))
        with pytest.raises(StaleWriterError):
            await old.open_tick(opening(1))
        with pytest.raises(StaleWriterError):
            await store.reopen(1)
        assert [call.settled for call in (await held(new)).calls] == [None]
        await old.close()
        await new.close()

    asyncio.run(check())


def test_a_tick_whose_opening_is_cancelled_is_open_once(store: Store) -> None:
    """P3: it is written all the same; whoever opens it next has to find it."""

    async def check() -> None:
        journal = await store.create()
        for _ in range(3):
            opening_it = asyncio.ensure_future(journal.open_tick(opening()))
            await asyncio.sleep(0)
            opening_it.cancel()
            await asyncio.wait({opening_it})
        await journal.open_tick(opening())
        await journal.intend(intent(key()))
        await journal.settle(key(), 0, replied())
        await journal.close()
        again = await store.reopen(2)
        assert [one.tick for one in again.open_ticks] == [opening().tick]
        assert [call.settled for call in (await held(again)).calls] == [replied()]
        await again.close()

    asyncio.run(check())


def test_who_is_cancelled_has_its_result_journaled(store: Store) -> None:
    """P3: a reply that came is kept, even if whoever asked is cancelled before it is durable."""

    async def check() -> None:
        journal = await store.create()
        await journal.open_tick(opening())
        await journal.intend(intent(key()))
        settling = asyncio.ensure_future(journal.settle(key(), 0, replied()))
        await asyncio.sleep(0)
        settling.cancel()
        await asyncio.wait({settling})
        assert [call.settled for call in (await held(journal)).calls] == [replied()]
        await journal.close()

    asyncio.run(check())


def test_many_calls_at_once_are_kept(store: Store) -> None:
    """Whatever is asked for at the same time, each caller has its own kept."""

    async def check() -> None:
        journal = await store.create()
        await asyncio.gather(*(journal.open_tick(opening(tick)) for tick in range(3)))

        async def call(tick: int, job: int) -> None:
            await journal.intend(intent(key(job, tick)))
            await asyncio.sleep(0)
            await journal.settle(key(job, tick), 0, replied(f"{tick}/{job}"))

        await asyncio.gather(*(call(tick, job) for job in range(100) for tick in range(3)))
        for tick in range(3):
            calls = (await held(journal, tick)).calls
            assert sorted(call.intent.key.job for call in calls) == list(range(100))
            for one in calls:
                assert one.settled is not None
                assert isinstance(one.settled.outcome, Reply)
                assert one.settled.outcome.text == f"{tick}/{one.intent.key.job}"
        assert await journal.finish()
        await journal.close()
        again = await store.reopen(2)
        assert len((await held(again, 2)).calls) == 100
        await again.close()

    asyncio.run(check())
