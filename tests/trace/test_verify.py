"""Verifying a run: sound runs pass, and whatever is wrong is a finding that names its place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import msgspec
import pytest
from tests.support.runs import NO_LOG, WORLDS, full_batch, make_run, number

from perdure.records.events import Batch, PromptPart, Turn
from perdure.records.registry import WorldState
from perdure.trace.partition_file import PartitionFile
from perdure.trace.registry import Registry
from perdure.trace.verify import verify

FIRST, SECOND = WORLDS


def damage(path: Path, statement: str) -> None:
    """Change a database behind the store's back."""
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(("ticks", "finish"), [(3, True), (2, False), (0, False)])
def test_a_sound_run_is_sound(tmp_path: Path, ticks: int, finish: bool) -> None:  # noqa: FBT001
    """Finished, unfinished and hardly begun runs pass, with each world's digest and events."""
    heads = make_run(tmp_path, ticks=ticks, finish=finish)
    report = verify(tmp_path)
    assert report.is_sound
    assert report.every_finding == ()
    assert report.run_id == "abcdef012345"
    for world in report.worlds:
        head = heads[world.world_id]
        assert (world.events, world.tick) == (head.seq + 1, head.tick)
        assert (world.chain, world.digest) == (head.chain, head.digest)


def test_a_partition_ahead_of_its_witness_is_sound(tmp_path: Path) -> None:
    """A run that died between a commit and its witness has lost nothing."""
    make_run(tmp_path, ticks=1, finish=False)
    partition = PartitionFile.open(tmp_path / "worlds" / f"{FIRST}.db", 2)
    partition.append(full_batch(partition.head), epoch=2, log_head=NO_LOG)
    partition.close()
    report = verify(tmp_path)
    assert report.is_sound
    assert report.worlds[0].tick == 1


def test_a_folder_without_a_run_is_a_finding(tmp_path: Path) -> None:
    """Nothing a folder holds makes `verify` fail in another way."""
    report = verify(tmp_path)
    assert not report.is_sound
    assert "no such file" in report.every_finding[0].wrong


def test_a_damaged_run_log_does_not_hide_the_worlds(tmp_path: Path) -> None:
    """P10: what is wrong with one part says nothing of the others."""
    make_run(tmp_path)
    damage(tmp_path / "run.db", "UPDATE log SET kind = 'x' WHERE seq = 1")
    report = verify(tmp_path)
    assert [finding.where.split(": ")[-1] for finding in report.findings] == ["run log 1"]
    assert all(not world.findings for world in report.worlds)


def test_unreadable_worlds_are_a_finding(tmp_path: Path) -> None:
    """A registry whose worlds do not decode is reported, not raised."""
    make_run(tmp_path)
    damage(tmp_path / "run.db", "UPDATE worlds SET entry = x'00'")
    report = verify(tmp_path)
    assert not report.is_sound
    assert report.worlds == ()


def test_the_first_bad_event_is_named_and_the_good_ones_counted(tmp_path: Path) -> None:
    """The report says how far a world is good."""
    make_run(tmp_path)
    damage(
        tmp_path / "worlds" / f"{SECOND}.db",
        "UPDATE events SET payload = x'7b7d' WHERE seq IN (23, 33)",
    )
    world = verify(tmp_path).worlds[1]
    assert [finding.where for finding in world.findings] == [f"{SECOND}:23"]
    assert (world.events, world.tick) == (23, 0)


def append_edited(folder: Path, edit) -> None:
    """Write one more tick whose payloads are changed before they are hashed."""
    partition = PartitionFile.open(folder / "worlds" / f"{FIRST}.db", 2)
    batch = full_batch(partition.head)
    payloads = [(edit(event.payload), event.persona) for event in batch.events]
    events = number(partition.head, partition.head.tick + 1, payloads)
    partition.append(Batch(events=events, blobs=batch.blobs), epoch=2, log_head=NO_LOG)
    partition.close()


def test_an_intact_event_that_breaks_a_rule_is_named(tmp_path: Path) -> None:
    """P9: a writer's own fault is found as well as a disk's."""
    make_run(tmp_path, ticks=1, finish=False)

    def twice(payload):
        return msgspec.structs.replace(payload, job=0) if isinstance(payload, Turn) else payload

    append_edited(tmp_path, twice)
    finding = verify(tmp_path).every_finding[0]
    assert finding.where == f"{FIRST}:42"
    assert "2 outcomes of the job 0" in finding.wrong


@pytest.mark.parametrize("name", ["0" * 64, "nonsense", "A" * 64])
def test_a_blob_that_is_cited_and_not_there_is_named(tmp_path: Path, name: str) -> None:
    """P9: a prompt that cannot be rebuilt is found, and the event that cites it named."""
    make_run(tmp_path, ticks=1, finish=False)
    lost = (PromptPart(role="user", sha256=name),)

    def losing(payload):
        is_turn = isinstance(payload, Turn)
        return msgspec.structs.replace(payload, prompt=lost) if is_turn else payload

    append_edited(tmp_path, losing)
    finding = verify(tmp_path).every_finding[0]
    assert "is missing" in finding.wrong
    assert finding.where == f"{FIRST}:28"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"state": WorldState.COMPLETED}, "says that it is completed"),
        ({"tick": 2}, "says that tick 2 is closed"),
        ({"digest": "0" * 64}, "another digest"),
        ({"turns": 3}, "3 turns"),
    ],
)
def test_a_note_that_the_record_does_not_bear_out_is_named(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    """P9: a registry cannot claim more than the events say."""
    make_run(tmp_path, ticks=1, finish=False)

    async def claim() -> None:
        registry = await Registry.open(tmp_path)
        known = registry.outcomes[FIRST]
        assert known is not None
        await registry.outcome(msgspec.structs.replace(known, **change))
        await registry.close()

    asyncio.run(claim())
    assert said in verify(tmp_path).every_finding[0].wrong
