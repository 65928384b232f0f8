"""What run log and records say of rungs is sound by itself, and agrees with one another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.support.runs import (
    WORLDS,
    make_run_async,
    outcome_of,
    pause_batch,
    resumed_batch,
)
from tests.trace.test_format_check import run_script

from perdure.records.budget import Rung
from perdure.records.events import Batch, Degraded, Head, Payload, Restored
from perdure.records.registry import (
    LogPayload,
    RungAt,
    RungLifted,
    RungTaken,
    RunPaused,
    WorldsLive,
)
from perdure.trace.export import export
from perdure.trace.partitions import FolderPartitions
from perdure.trace.reader import RunReader
from perdure.trace.registry import Registry
from perdure.trace.rungs import in_force, moves_of, recorded_after, unlogged_rung, wrong_rungs
from perdure.trace.verify import verify

WARN, FREEZE, PAUSE = Rung.WARN, Rung.FREEZE, Rung.PAUSE
FIRST = WORLDS[0]
HORIZON = 4


def taken(rung: Rung, tick: int) -> LogPayload:
    """Say in a run log that a rung is taken."""
    return RungTaken(rung=rung, tick=tick)


def lifted(rung: Rung, tick: int) -> LogPayload:
    """Say in a run log that a rung is lifted."""
    return RungLifted(rung=rung, tick=tick)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ([], None),
        ([taken(WARN, 1), taken(PAUSE, 1), lifted(PAUSE, 1), taken(PAUSE, 1)], None),
        ([taken(WARN, 1), RunPaused(cause="", exit_status=76), lifted(WARN, 3)], None),
        ([taken(WARN, 1), taken(WARN, 2)], "was taken already"),
        ([lifted(WARN, 2)], "was not taken"),
        ([taken(WARN, 2), lifted(WARN, 2), lifted(WARN, 2)], "was not taken"),
    ],
)
def test_a_run_log_takes_each_rung_once(log: list[LogPayload], said: str | None) -> None:
    """P8: a rung is taken once until it is lifted, and lifted only if it was taken."""
    wrong = wrong_rungs(log)
    assert (wrong is None) is (said is None)
    assert said is None or said in str(wrong)


def test_a_record_is_followed_event_by_event() -> None:
    """What is in force is what was taken last and not lifted since."""
    rungs: tuple[RungAt, ...] = ()
    events: list[Payload] = [Degraded(rung=WARN), Degraded(rung=FREEZE), Restored(rung=WARN)]
    for tick, payload in enumerate([*events, events[0]]):
        rungs = recorded_after(rungs, tick, payload)
    assert rungs == (
        RungAt(rung=WARN, tick=0, lifted=2),
        RungAt(rung=FREEZE, tick=1),
        RungAt(rung=WARN, tick=3),
    )
    assert in_force(rungs) == {WARN, FREEZE}


@pytest.mark.parametrize(
    ("rungs", "said"),
    [
        ((), None),
        ((RungAt(rung=WARN, tick=1), RungAt(rung=FREEZE, tick=2, lifted=4)), None),
        ((RungAt(rung=WARN, tick=2),), "the rung warn from tick 2 on"),
        ((RungAt(rung=PAUSE, tick=1),), "the rung pause from tick 1 on"),
        ((RungAt(rung=FREEZE, tick=2, lifted=3),), "rung freeze is lifted at tick 3"),
    ],
)
def test_a_record_has_the_rungs_of_its_run(rungs: tuple[RungAt, ...], said: str | None) -> None:
    """P8: a rung has effect in a world from the tick on from which the run has it, or not."""
    log = [taken(WARN, 1), taken(FREEZE, 2), lifted(FREEZE, 4)]
    wrong = unlogged_rung(FIRST, rungs, moves_of(log))
    assert (wrong is None) is (said is None)
    assert said is None or said in str(wrong)


def live(*worlds: str) -> LogPayload:
    """Say in a run log which worlds are live from now on."""
    return WorldsLive(worlds=worlds)


@pytest.mark.parametrize(
    ("log", "world", "ticks"),
    [
        ([taken(WARN, 3)], "any", [3]),
        ([RungTaken(rung=WARN, tick=0, ticks={"a": 4})], "a", [4]),
        ([RungTaken(rung=WARN, tick=0, ticks={"a": 4})], "b", [0]),
        ([live("a"), taken(WARN, 3)], "a", [3]),
        ([live("a"), taken(WARN, 3), live("b")], "b", [0]),
        ([live("a"), taken(WARN, 3), live("b"), taken(FREEZE, 1)], "b", [0, 1]),
        ([live("a"), taken(WARN, 3), live("b"), taken(FREEZE, 1)], "a", [3, 1]),
        ([taken(WARN, 3), live("a"), taken(FREEZE, 5)], "b", [3, 0]),
    ],
)
def test_where_a_rung_has_effect_follows_from_the_log(
    log: list[LogPayload], world: str, ticks: list[int]
) -> None:
    """P8: at its tick, at the one that is named for a world, or at 0 in one not let in by then."""
    rungs = moves_of(log).in_world(world)
    assert [at.tick for at in rungs] == ticks
    assert unlogged_rung(world, rungs, moves_of(log)) is None
    elsewhere = tuple(RungAt(rung=at.rung, tick=at.tick + 1) for at in rungs)
    assert unlogged_rung(world, elsewhere, moves_of(log)) is not None


def test_a_rung_that_was_lifted_before_a_world_began_never_had_effect_there() -> None:
    """Taken and lifted at its first tick."""
    log = [live("a"), taken(WARN, 3), lifted(WARN, 6), live("b")]
    assert moves_of(log).in_world("a") == (RungAt(rung=WARN, tick=3, lifted=6),)
    assert moves_of(log).in_world("b") == (RungAt(rung=WARN, tick=0, lifted=0),)


def paused_run(
    folder: Path, rows: list[LogPayload], *, resumed: bool = False, noted: bool = True
) -> Head:
    """Write a run of two ticks that is paused before the third, with rows in its run log.

    It is `resumed` by one tick; what is not `noted` has no witness.
    """

    async def write() -> Head:
        await make_run_async(folder, ticks=2, horizon=HORIZON, finish=False)
        registry = await Registry.open(folder)
        for row in rows:
            await registry.log(row)
        partition = await FolderPartitions(folder).open(FIRST, registry.epoch)
        rungs: tuple[RungAt, ...] = (RungAt(rung=WARN, tick=0, lifted=1),)
        makes: list[Callable[[Head], Batch]] = [pause_batch]
        makes += [partial(resumed_batch, horizon=HORIZON)] * resumed
        for make in makes:
            batch = make(partition.head)
            head = await partition.append(batch, epoch=registry.epoch, log_head=registry.log_head)
            for event in batch.events:
                rungs = recorded_after(rungs, event.tick, event.payload)
            if noted:
                outcome = outcome_of(FIRST, head, HORIZON)
                outcome = msgspec.structs.replace(outcome, rungs=rungs)
                await registry.witness(FIRST, head, outcome)
        if not resumed:
            await registry.log(RunPaused(cause="The budget is spent.", exit_status=76))
        await partition.close()
        await registry.close()
        return partition.head

    return asyncio.run(write())


def test_a_paused_run_is_sound(tmp_path: Path) -> None:
    """Verify, the script of the format page, reader and export take a record that ends so."""
    head = paused_run(tmp_path, [taken(PAUSE, 2)])
    report = verify(tmp_path)
    assert report.every_finding == ()
    assert (report.worlds[0].events, report.worlds[0].tick) == (head.seq + 1, 1)
    said = run_script(tmp_path)
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[0].split() == [
        FIRST,
        str(head.seq + 1),
        head.chain,
        head.digest,
    ]
    with RunReader.open(tmp_path) as reader:
        assert [event.tick for event in reader.events(FIRST, {"degraded"})] == [0, 2]
    export(tmp_path)
    rows = pq.read_table(tmp_path / "export" / "events.parquet").to_pylist()
    last = [row for row in rows if row["world"] == FIRST][-1]
    assert (last["tick"], last["kind"], last["payload"]) == (2, "degraded", '{"rung":"pause"}')
    turns = pq.read_table(tmp_path / "export" / "turns.parquet").to_pylist()
    assert len([row for row in turns if row["world"] == FIRST]) == 6


def test_a_run_that_goes_on_after_a_pause_is_sound(tmp_path: Path) -> None:
    """The tick after a pause has the number of the tick that did not open."""
    paused_run(tmp_path, [taken(PAUSE, 2), lifted(PAUSE, 2)], resumed=True)
    report = verify(tmp_path)
    assert report.worlds[0].findings == ()
    assert report.worlds[0].tick == 2
    assert run_script(tmp_path).returncode == 0
    export(tmp_path)
    rows = pq.read_table(tmp_path / "export" / "turns.parquet").to_pylist()
    assert [row["tick"] for row in rows if row["world"] == FIRST] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "the rung pause from tick 2 on, and the run log has not"),
        ([taken(PAUSE, 1)], "the rung pause from tick 2 on, and the run log has not"),
        ([taken(PAUSE, 2), taken(PAUSE, 2)], "was taken already"),
    ],
)
def test_a_pause_that_the_run_did_not_take_is_found(
    tmp_path: Path, rows: list[LogPayload], said: str
) -> None:
    """P8: a world that was degraded by itself is no cell of its run."""
    paused_run(tmp_path, rows)
    assert said in " ".join(finding.wrong for finding in verify(tmp_path).every_finding)


def test_a_note_with_other_rungs_than_the_record_is_found(tmp_path: Path) -> None:
    """P9: what `status` shows of rungs is what the record holds, or `verify` says so."""
    paused_run(tmp_path, [taken(PAUSE, 2)])

    async def forget() -> None:
        registry = await Registry.open(tmp_path)
        noted = registry.outcomes[FIRST]
        assert noted is not None
        await registry.outcome(msgspec.structs.replace(noted, rungs=noted.rungs[:-1]))
        await registry.close()

    asyncio.run(forget())
    assert "other rungs" in verify(tmp_path).worlds[0].findings[0].wrong


def test_a_pause_that_is_not_noted_yet_is_sound(tmp_path: Path) -> None:
    """A run that was killed between the pause and its witness has lost nothing."""
    head = paused_run(tmp_path, [taken(PAUSE, 2)], noted=False)
    report = verify(tmp_path)
    assert report.every_finding == ()
    assert report.worlds[0].events == head.seq + 1
