"""A registry in its file: the run as asked, epochs, the run log, and room for a last word."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.support.runs import HELD_OUT, PERSONAS, WORLDS, entry, world_entry

from perdure.base.errors import (
    DamagedRecordError,
    HeldError,
    StorageError,
    StorageFullError,
)
from perdure.records.events import Head
from perdure.records.registry import RunOpened, RunPaused, TickDiscarded
from perdure.trace import registry_file
from perdure.trace.database import Database
from perdure.trace.partition_file import claim
from perdure.trace.reader import RunReader
from perdure.trace.registry import Registry
from perdure.trace.registry_file import REGISTRY_NAME, RegistryFile
from perdure.trace.registry_rows import held_out_hash, population_hash
from perdure.trace.reserve import RESERVE_BYTES, RESERVE_NAME
from perdure.trace.run_log import INSERT_LOG

PAUSED = RunPaused(cause="the disk is full", exit_status=75)
LEFT_OPEN = RunPaused(cause="the disk is full", exit_status=75, holds_open=True)


def create(folder: Path) -> RegistryFile:
    """Make a registry of two worlds."""
    return RegistryFile.create(
        folder,
        entry=entry(),
        worlds=[world_entry(name) for name in WORLDS],
        personas=PERSONAS,
        held_out=HELD_OUT,
    )


def test_what_was_asked_is_kept(tmp_path: Path) -> None:
    """The run, its worlds, its population and its held-out values are read back as given."""
    create(tmp_path / "a" / "run").close()
    with RunReader.open(tmp_path / "a" / "run") as reader:
        assert reader.entry == entry()
        assert reader.worlds == tuple(world_entry(name) for name in WORLDS)
        assert reader.personas == PERSONAS
        assert reader.held_out == HELD_OUT
        assert reader.log == (RunOpened(epoch=1),)
        assert not reader.has(WORLDS[0])
        assert list(reader.events(WORLDS[0])) == []


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    """P7: a folder that holds a run is refused."""
    create(tmp_path).close()
    before = (tmp_path / REGISTRY_NAME).read_bytes()
    with pytest.raises(HeldError, match="already"):
        create(tmp_path)
    assert (tmp_path / REGISTRY_NAME).read_bytes() == before


def test_every_opening_is_an_epoch(tmp_path: Path) -> None:
    """P7: the epoch and its row in the run log are one transaction."""
    create(tmp_path).close()
    for epoch in (2, 3):
        registry = RegistryFile.open(tmp_path)
        assert registry.epoch == epoch
        registry.close()
    with RunReader.open(tmp_path) as reader:
        assert reader.log == (RunOpened(epoch=1), RunOpened(epoch=2), RunOpened(epoch=3))


def test_hashes_of_inputs_are_pinned() -> None:
    """The population's hash and that of the held-out values are part of the format."""
    assert population_hash(PERSONAS) == (
        "89462a3b351e94b3bb1c31f814a04096f6f861e16fdb0be032e85156fefb0fe5"
    )
    assert held_out_hash(HELD_OUT) == (
        "fe63099dacd4ffabc37d63d2b2da9a53ca913353b23a12ad56fc23aa50f380d8"
    )
    assert held_out_hash({}) == ("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")


def test_a_damaged_run_log_is_not_continued(tmp_path: Path) -> None:
    """P2: a governor does not add to a log that is not what was written."""
    create(tmp_path).close()
    connection = apsw.Connection(str(tmp_path / REGISTRY_NAME))
    connection.execute("UPDATE log SET kind = 'paused'")
    connection.close()
    with pytest.raises(DamagedRecordError, match="does not match its hash"):
        RegistryFile.open(tmp_path)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE log SET payload = CAST('{' AS BLOB)", "hash"),
        ("UPDATE worlds SET entry = x'00' WHERE position = 0", "decoded"),
        ("UPDATE worlds SET world_id = 'x' WHERE position = 0", "another world"),
        ("UPDATE worlds SET position = 7 WHERE position = 1", "position 1 is missing"),
        ("UPDATE run SET entry = x'7b7d'", "decoded"),
        ("DELETE FROM run", "0 times"),
        ("UPDATE log SET seq = 4", "missing"),
    ],
)
def test_a_damaged_registry_is_named(tmp_path: Path, statement: str, said: str) -> None:
    """P9: whatever of a registry does not decode, or is out of place, is a damaged record."""
    create(tmp_path).close()
    connection = apsw.Connection(str(tmp_path / REGISTRY_NAME))
    connection.execute(statement)
    connection.close()
    with pytest.raises(DamagedRecordError, match=said):
        RegistryFile.open(tmp_path)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE personas SET payload = x'00'", "decoded"),
        ("UPDATE personas SET id = 'p9' WHERE position = 0", "another persona"),
    ],
)
def test_a_damaged_population_is_named(tmp_path: Path, statement: str, said: str) -> None:
    """P9: a persona that is not what was written is not handed out."""
    create(tmp_path).close()
    connection = apsw.Connection(str(tmp_path / REGISTRY_NAME))
    connection.execute(statement)
    connection.close()
    with RunReader.open(tmp_path) as reader, pytest.raises(DamagedRecordError, match=said):
        _ = reader.personas


def test_room_is_put_aside_and_given_up_for_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F7: on a full disk the run gives up its reserve to write why it paused, and no more."""
    registry = create(tmp_path)
    kept = tmp_path / RESERVE_NAME
    assert kept.stat().st_size == RESERVE_BYTES
    assert kept.stat().st_blocks * 512 >= RESERVE_BYTES
    real = RegistryFile._write

    def full_while_reserved(self: RegistryFile, statements: list[Any]) -> None:
        if kept.exists():
            raise StorageFullError("full")
        real(self, statements)

    monkeypatch.setattr(RegistryFile, "_write", full_while_reserved)
    head = registry.log(PAUSED)
    assert (head.seq, kept.exists()) == (1, False)
    monkeypatch.undo()
    registry.close()
    again = RegistryFile.open(tmp_path)
    assert kept.stat().st_size == RESERVE_BYTES
    again.close()


def test_only_the_last_word_of_a_run_uses_the_room_put_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F7: a row that is not the last one finds no room, so that the last one does."""
    registry = create(tmp_path)
    kept = tmp_path / RESERVE_NAME

    def full(*_: object) -> None:
        raise StorageFullError("full")

    monkeypatch.setattr(RegistryFile, "_write", full)
    for row in (TickDiscarded(world_id="w", tick=0, epoch=1), RunOpened(epoch=2)):
        with pytest.raises(StorageFullError):
            registry.log(row)
        with pytest.raises(StorageFullError):
            registry.log_together([row])
    assert kept.exists()
    with pytest.raises(StorageFullError):
        registry.log(PAUSED)
    assert not kept.exists()
    monkeypatch.undo()
    registry.close()


@pytest.mark.parametrize("left", [None, PAUSED, LEFT_OPEN])
def test_a_run_that_finds_no_room_to_be_opened_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: RunPaused | None
) -> None:
    """F7: taken up on a full disk, a run is paused, and what was open before it stays so."""
    registry = create(tmp_path)
    if left is not None:
        registry.log(left)
    registry.close()
    kept = tmp_path / RESERVE_NAME

    def full_while_reserved(database: Any, epoch: int) -> None:
        if kept.exists():
            raise StorageFullError("The disk is full.")
        claim(database, epoch)

    monkeypatch.setattr(registry_file, "claim", full_while_reserved)
    with pytest.raises(StorageFullError):
        RegistryFile.open(tmp_path)
    monkeypatch.undo()
    with RunReader.open(tmp_path) as reader:
        *_, opened, paused = reader.log
    assert opened == RunOpened(epoch=2)
    assert paused == RunPaused(
        cause="The disk is full.", exit_status=75, holds_open=left is not PAUSED
    )
    again = RegistryFile.open(tmp_path)
    assert again.epoch == 3
    again.close()


def test_rows_that_belong_together_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P2: all of them or none; notes of worlds go with the row that they follow from."""
    registry = create(tmp_path)
    rows = [TickDiscarded(world_id=str(tick), tick=tick, epoch=1) for tick in range(3)]
    real = Database.execute
    left = [3]

    def third_fails(self: Database, sql: str, values: Any = ()) -> None:
        if sql == INSERT_LOG:
            left[0] -= 1
            if not left[0]:
                raise StorageFullError("full")
        real(self, sql, values)

    monkeypatch.setattr(Database, "execute", third_fails)
    with pytest.raises(StorageFullError):
        registry.log_together(rows)
    monkeypatch.undo()
    with RunReader.open(tmp_path) as reader:
        assert len(reader.log) == 1
    assert registry.log_together(rows).seq == 3
    registry.close()
    with RunReader.open(tmp_path) as reader:
        assert list(reader.log[1:]) == rows


def test_without_a_reserve_a_full_disk_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P9: when nothing is left to give up, the failure is the caller's."""
    registry = create(tmp_path)
    (tmp_path / RESERVE_NAME).unlink()

    def full(*_: object) -> None:
        raise StorageFullError("full")

    monkeypatch.setattr(RegistryFile, "_write", full)
    with pytest.raises(StorageFullError):
        registry.log(PAUSED)
    monkeypatch.undo()
    assert registry.log_head.seq == 0
    assert registry.log(PAUSED).seq == 1
    registry.close()


def test_a_reserve_that_cannot_be_made_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F7: a run does not start on a disk that has no room to say that it is full."""
    create(tmp_path).close()
    (tmp_path / RESERVE_NAME).unlink()

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", refuse)
    with pytest.raises(StorageFullError):
        RegistryFile.open(tmp_path)
    assert not (tmp_path / RESERVE_NAME).exists()


def test_notes_that_wait_together_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Speed: many worlds that close a tick at once cost one transaction, not one each."""
    written: list[int] = []
    real = registry_file.RegistryFile.witness

    def counting(self: RegistryFile, heads: dict[str, Head], outcomes: Any = ()) -> None:
        written.append(len(heads))
        real(self, heads, outcomes)

    monkeypatch.setattr(registry_file.RegistryFile, "witness", counting)

    async def check() -> None:
        registry = await Registry.create(
            tmp_path,
            entry=entry(),
            worlds=[world_entry(f"{place:012x}") for place in range(20)],
            personas=PERSONAS,
            held_out=HELD_OUT,
        )
        head = Head(seq=1, chain="a" * 64, content=0, digest="b" * 64, tick=0)
        await asyncio.gather(*(registry.witness(world.world_id, head) for world in registry.worlds))
        assert set(registry.witnesses.values()) == {head}
        await registry.close()

    asyncio.run(check())
    assert sum(written) == 20
    assert len(written) <= 3


def test_each_of_those_that_wait_together_meets_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P9: a note that could not be written is not taken for written by those who waited."""

    def fail(*_: object) -> None:
        raise StorageError("the disk is gone")

    async def check() -> None:
        registry = await Registry.create(
            tmp_path,
            entry=entry(),
            worlds=[world_entry(name) for name in WORLDS],
            personas=PERSONAS,
            held_out=HELD_OUT,
        )
        head = Head(seq=1, chain="a" * 64, content=0, digest="b" * 64, tick=0)
        with monkeypatch.context() as patch:
            patch.setattr(RegistryFile, "witness", fail)
            ended = await asyncio.gather(
                *(registry.witness(name, head) for name in WORLDS), return_exceptions=True
            )
        assert [type(one) for one in ended] == [StorageError, StorageError]
        assert set(registry.witnesses.values()) == {None}
        await registry.close()

    asyncio.run(check())
