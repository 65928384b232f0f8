"""Every store keeps the same contract: SQLite in files, and the one in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.runs import (
    HELD_OUT,
    NO_LOG,
    PERSONAS,
    WORLDS,
    entry,
    full_batch,
    header,
    pause_batch,
    resumed_batch,
    small_batch,
    world_entry,
)

from perdure.base.errors import DamagedRecordError, HeldError, InternalError, StaleWriterError
from perdure.records.budget import Rung
from perdure.records.events import Batch, Head
from perdure.records.registry import (
    JournalLost,
    LogHead,
    LogPayload,
    RungLifted,
    RungTaken,
    RunOpened,
    RunPaused,
    TickDiscarded,
    WorldOutcome,
    WorldsLive,
    WorldState,
)
from perdure.trace.memory import MemoryPartitions, MemoryRegistry
from perdure.trace.partitions import FolderPartitions
from perdure.trace.port import Partition, Partitions, RunRegistry
from perdure.trace.reader import RunReader
from perdure.trace.registry import Registry
from perdure.trace.rungs import PAUSE

FIRST, SECOND = WORLDS
PAUSED = RunPaused(cause="asked", exit_status=75)


class Store(NamedTuple):
    """One implementation: its partitions, and how its registry is made and opened again."""

    partitions: Partitions
    create: Callable[[], Awaitable[RunRegistry]]
    reopen: Callable[[RunRegistry], Awaitable[RunRegistry]]


def in_memory(_: Path) -> Store:
    """Make the store in memory."""

    async def create() -> RunRegistry:
        return await MemoryRegistry.create(
            entry=entry(),
            worlds=[world_entry(name) for name in WORLDS],
            personas=PERSONAS,
            held_out=HELD_OUT,
        )

    async def reopen(registry: RunRegistry) -> RunRegistry:
        assert isinstance(registry, MemoryRegistry)
        return await MemoryRegistry.open(registry.run)

    return Store(MemoryPartitions(), create, reopen)


def in_files(folder: Path) -> Store:
    """Make the store in files."""

    async def create() -> RunRegistry:
        return await Registry.create(
            folder,
            entry=entry(),
            worlds=[world_entry(name) for name in WORLDS],
            personas=PERSONAS,
            held_out=HELD_OUT,
        )

    async def reopen(_: RunRegistry) -> RunRegistry:
        return await Registry.open(folder)

    return Store(FolderPartitions(folder), create, reopen)


@pytest.fixture(params=[in_files, in_memory], ids=["files", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Give each implementation in turn."""
    made: Store = request.param(tmp_path / "run")
    return made


def test_ticks_are_kept_in_order(store: Store) -> None:
    """P2: each append continues the record, and a partition opened again goes on where it ended."""

    async def check() -> None:
        partition = await store.partitions.create(header(), 1)
        assert partition.head.seq == -1
        heads = [partition.head]
        for _ in range(2):
            head = await partition.append(full_batch(heads[-1]), epoch=1, log_head=NO_LOG)
            assert head == partition.head
            heads.append(head)
        assert [head.tick for head in heads] == [-1, 0, 1]
        assert await partition.finish()
        await partition.close()
        again = await store.partitions.open(FIRST, 2, heads[-1])
        assert again.head == heads[-1]
        assert again.epoch == 2
        head = await again.append(full_batch(again.head), epoch=2, log_head=NO_LOG)
        assert head.tick == 2
        await again.close()

    asyncio.run(check())


def test_equal_worlds_have_equal_hashes(tmp_path: Path) -> None:
    """P4: both stores come to the same chain and digest for the same events."""

    async def end(store: Store) -> Head:
        partition = await store.partitions.create(header(), 1)
        await partition.append(full_batch(partition.head), epoch=1, log_head=NO_LOG)
        await partition.close()
        return partition.head

    ends = [asyncio.run(end(make(tmp_path))) for make in (in_files, in_memory)]
    assert ends[0] == ends[1]


def test_a_world_is_born_once(store: Store) -> None:
    """P7: a record is never overwritten, and `has` says whether there is one."""

    async def check() -> None:
        assert not await store.partitions.has(FIRST)
        partition = await store.partitions.create(header(), 1)
        assert await store.partitions.has(FIRST)
        with pytest.raises(HeldError):
            await store.partitions.create(header(), 1)
        await partition.close()

    asyncio.run(check())


def test_a_world_that_is_not_there_cannot_be_opened(store: Store) -> None:
    """P9: a missing record is an error, never an empty one."""

    async def check() -> None:
        with pytest.raises(DamagedRecordError):
            await store.partitions.open(SECOND, 1)

    asyncio.run(check())


def test_a_stale_writer_is_refused(store: Store) -> None:
    """P7: once a later epoch has claimed a partition, an earlier one can neither write nor open."""

    async def check() -> None:
        old = await store.partitions.create(header(), 1)
        new = await store.partitions.open(FIRST, 2)
        with pytest.raises(StaleWriterError):
            await old.append(small_batch(old.head), epoch=1, log_head=NO_LOG)
        with pytest.raises(StaleWriterError):
            await store.partitions.open(FIRST, 1)
        head = await new.append(small_batch(new.head), epoch=2, log_head=NO_LOG)
        assert head.tick == 0
        await old.close()
        await new.close()

    asyncio.run(check())


def test_half_a_tick_is_refused_and_nothing_of_it_stays(store: Store) -> None:
    """P2: a batch that does not end its tick is our bug; the record is as it was."""

    async def check() -> None:
        partition = await store.partitions.create(header(), 1)
        whole = small_batch(partition.head)
        with pytest.raises(InternalError):
            await partition.append(Batch(events=whole.events[:1]), epoch=1, log_head=NO_LOG)
        assert partition.head.seq == -1
        head = await partition.append(whole, epoch=1, log_head=NO_LOG)
        assert head.seq == 1
        with pytest.raises(InternalError):
            await partition.append(whole, epoch=1, log_head=NO_LOG)
        await partition.close()

    asyncio.run(check())


def test_a_pause_is_kept_between_ticks(store: Store) -> None:
    """P2: it closes no tick, survives being opened again, and the tick it stands before follows."""

    async def check() -> None:
        registry = await store.create()
        partition = await store.partitions.create(header(), 1)
        assert (await append(partition, pause_batch)).tick == -1
        assert (await append(partition, resumed_batch)).tick == 0
        before = await append(partition, full_batch)
        paused = await append(partition, pause_batch)
        assert (paused.seq, paused.tick, paused.digest) == (before.seq + 1, 1, before.digest)
        await partition.close()
        again = await store.partitions.open(FIRST, 2, paused)
        assert again.head == paused
        with pytest.raises(InternalError):
            await append(again, lambda head: Batch(events=pause_batch(head).events * 2))
        assert (await append(again, resumed_batch)).tick == 2
        await again.close()
        reading = store.partitions.read()
        pauses = [event for event in reading.events(FIRST) if event.payload == PAUSE]
        assert [event.tick for event in pauses] == [0, 2]
        reading.close()
        await registry.close()

    asyncio.run(check())


async def append(partition: Partition, make: Callable[[Head], Batch]) -> Head:
    """Append a batch that follows the head."""
    return await partition.append(make(partition.head), epoch=partition.epoch, log_head=NO_LOG)


def test_a_record_shorter_than_its_witness_is_refused(store: Store) -> None:
    """P2: a record that lost what was acknowledged is rolled back, and is not opened."""

    async def check() -> None:
        partition = await store.partitions.create(header(), 1)
        head = await partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
        await partition.close()
        ahead = Head(seq=head.seq + 2, chain="0" * 64, content=2, digest="0" * 64, tick=1)
        with pytest.raises(DamagedRecordError, match="rolled back"):
            await store.partitions.open(FIRST, 2, ahead)
        other = Head(seq=head.seq, chain="0" * 64, content=1, digest="0" * 64, tick=0)
        with pytest.raises(DamagedRecordError, match="Another event"):
            await store.partitions.open(FIRST, 2, other)

    asyncio.run(check())


def test_a_registry_counts_its_governors(store: Store) -> None:
    """P7: each opening is a new epoch, recorded in the run log; the epoch before may not write."""

    async def check() -> None:
        first = await store.create()
        assert (first.epoch, first.log_head.seq) == (1, 0)
        second = await store.reopen(first)
        assert (second.epoch, second.log_head.seq) == (2, 1)
        with pytest.raises(StaleWriterError):
            await first.log(PAUSED)
        with pytest.raises(StaleWriterError):
            await first.outcome(WorldOutcome(world_id=FIRST))
        head = await second.log(PAUSED)
        assert head.seq == 2
        assert second.log_head == head
        assert second.entry == entry()
        await first.close()
        await second.close()

    asyncio.run(check())


def test_the_run_log_is_chained(store: Store) -> None:
    """The same rows give the same chain; another row another one."""

    async def check() -> None:
        registry = await store.create()
        before = registry.log_head
        one = await registry.log(RunOpened(epoch=1))
        two = await registry.log(RunOpened(epoch=1))
        assert len({before.chain, one.chain, two.chain}) == 3
        await registry.close()

    asyncio.run(check())


def test_who_is_live_and_where_a_rung_has_effect_is_logged_alike(tmp_path: Path) -> None:
    """P8: both registries come to the same chain, and say the same of groups and single worlds."""
    rows: list[LogPayload] = [
        WorldsLive(worlds=(FIRST,)),
        RungTaken(rung=Rung.WARN, tick=3, ticks={FIRST: 5}),
        RungLifted(rung=Rung.WARN, tick=6),
    ]

    async def log(store: Store) -> LogHead:
        registry = await store.create()
        for row in rows:
            await registry.log(row)
        await registry.close()
        if isinstance(registry, MemoryRegistry):
            assert [row.payload for row in registry.run.log[1:]] == rows
        else:
            with RunReader.open(tmp_path / "run") as reader:
                assert list(reader.log[1:]) == rows
        return registry.log_head

    ends = [asyncio.run(log(make(tmp_path / "run"))) for make in (in_files, in_memory)]
    assert ends[0] == ends[1]


def test_a_record_that_was_let_go_of_can_be_read_again(store: Store) -> None:
    """One reading serves many worlds; of each nothing stays open but while it is read."""

    async def check() -> None:
        registry = await store.create()
        partition = await store.partitions.create(header(), 1)
        await partition.append(full_batch(partition.head), epoch=1, log_head=NO_LOG)
        reading = store.partitions.read()
        before = list(reading.events(FIRST))
        reading.let_go(FIRST)
        reading.let_go(SECOND)
        assert await partition.finish(), "nobody has it open any more"
        assert list(reading.events(FIRST)) == before
        reading.close()
        await partition.close()
        await registry.close()

    asyncio.run(check())


def test_rows_are_logged_with_what_follows_from_them(store: Store) -> None:
    """A last row goes with the notes of all worlds; rows that belong together go together."""

    async def check() -> None:
        registry = await store.create()
        lost = JournalLost(epoch=2)
        gone = TickDiscarded(world_id=FIRST, tick=1, epoch=1, journal_lost=True)
        head = await registry.log_together([lost, gone])
        assert (head.seq, registry.log_head) == (2, head)
        noted = Head(seq=3, chain="a" * 64, content=0, digest="b" * 64, tick=0)
        outcome = WorldOutcome(world_id=FIRST, state=WorldState.PARTIAL, tick=0)
        await registry.log(PAUSED, {FIRST: noted}, [outcome])
        again = await store.reopen(registry)
        assert again.log_head.seq == 4
        assert dict(again.witnesses) == {FIRST: noted, SECOND: None}
        assert dict(again.outcomes) == {FIRST: outcome, SECOND: None}
        with pytest.raises(StaleWriterError):
            await registry.log_together([lost])
        with pytest.raises(InternalError, match="no world"):
            await again.log(PAUSED, {"f" * 12: noted})
        await registry.close()
        await again.close()

    asyncio.run(check())


def test_witnesses_and_outcomes_are_kept(store: Store) -> None:
    """What is noted of a world is there for the next governor."""

    async def check() -> None:
        registry = await store.create()
        assert [world.world_id for world in registry.worlds] == list(WORLDS)
        assert dict(registry.witnesses) == dict.fromkeys(WORLDS)
        heads = [
            Head(seq=seq, chain="a" * 64, content=0, digest="b" * 64, tick=0) for seq in (1, 3)
        ]
        noted = WorldOutcome(world_id=FIRST, state=WorldState.PARTIAL, tick=0)
        await asyncio.gather(
            registry.witness(FIRST, heads[1], noted), registry.witness(SECOND, heads[0])
        )
        failed = WorldOutcome(world_id=SECOND, state=WorldState.FAILED, cause="it broke")
        await registry.outcome(failed)
        assert await registry.finish()
        again = await store.reopen(registry)
        assert dict(again.witnesses) == {FIRST: heads[1], SECOND: heads[0]}
        assert dict(again.outcomes) == {FIRST: noted, SECOND: failed}
        await registry.close()
        await again.close()

    asyncio.run(check())


def test_a_witness_never_goes_back(store: Store) -> None:
    """P2: a witness that would shorten what is acknowledged is our bug, and is refused."""

    async def check() -> None:
        registry = await store.create()
        later = Head(seq=5, chain="a" * 64, content=0, digest="b" * 64, tick=1)
        earlier = Head(seq=4, chain="a" * 64, content=0, digest="b" * 64, tick=0)
        await registry.witness(FIRST, later)
        with pytest.raises(InternalError, match="go back"):
            await registry.witness(FIRST, earlier)
        assert registry.witnesses[FIRST] == later
        await registry.close()

    asyncio.run(check())


def test_a_world_that_the_run_does_not_have_is_refused(store: Store) -> None:
    """P9: nothing is noted of a world that nobody asked for."""

    async def check() -> None:
        registry = await store.create()
        head = Head(seq=1, chain="a" * 64, content=0, digest="b" * 64, tick=0)
        with pytest.raises(InternalError, match="no world"):
            await registry.witness("f" * 12, head)
        with pytest.raises(InternalError, match="no world"):
            await registry.outcome(WorldOutcome(world_id="f" * 12))
        await registry.witness(FIRST, head)
        await registry.close()

    asyncio.run(check())
