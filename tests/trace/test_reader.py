"""Reading a run: live or finished, checked on the way, never written to."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import apsw
import pytest
from tests.support.folders import names_in
from tests.support.runs import NO_LOG, WORLDS, full_batch, header, make_run

from perdure.base.errors import DamagedRecordError
from perdure.records.drive import DRIVE_KIND_OF
from perdure.records.events import KIND_OF, Head, Turn
from perdure.records.registry import RunClosed, RunOpened, WorldState
from perdure.trace.folder_store import FolderStore
from perdure.trace.partition_file import PartitionFile
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify

FIRST, SECOND = WORLDS
EMPTY = Head(seq=-1, chain="", content=0, digest="")


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    """Every kind of event is read back equal to what was appended, in order."""
    heads = make_run(tmp_path)
    with RunReader.open(tmp_path) as reader:
        read = list(reader.events(FIRST))
        first = full_batch(EMPTY)
        assert tuple(read[: len(first.events)]) == first.events
        # The lines of drives have a contract suite of their own.
        kinds = set(KIND_OF.values()) - set(DRIVE_KIND_OF.values())
        assert {KIND_OF[type(event.payload)] for event in read} == kinds
        assert reader.head(FIRST) == heads[FIRST]
        assert reader.header(FIRST) == header()
        for name, data in first.blobs.items():
            assert reader.blob(FIRST, name) == data


def test_kinds_select(tmp_path: Path) -> None:
    """Only the kinds that were asked for are handed out."""
    make_run(tmp_path)
    with RunReader.open(tmp_path) as reader:
        turns = list(reader.events(FIRST, {"turn"}))
        assert len(turns) == 6
        assert all(isinstance(event.payload, Turn) for event in turns)
        assert list(reader.events(FIRST, ())) == []


def test_what_the_registry_says_is_read(tmp_path: Path) -> None:
    """Outcomes, witnesses and the run log are there after the end."""
    heads = make_run(tmp_path)
    with RunReader.open(tmp_path) as reader:
        assert reader.witnesses() == heads
        assert {one.state for one in reader.outcomes.values()} == {WorldState.COMPLETED}
        assert [type(one) for one in (reader.log[0], reader.log[-1])] == [RunOpened, RunClosed]
        kinds = [row.kind for row in reader.run_log()]
        assert kinds == ["opened", *["rung_taken", "rung_lifted"] * 2, "closed"]


def test_a_world_that_has_not_started_reads_as_empty(tmp_path: Path) -> None:
    """A world without a partition has no events, no head, and says that it has not started."""
    make_run(tmp_path, ticks=0, finish=False)
    (tmp_path / "worlds" / f"{SECOND}.db").unlink()
    connection = apsw.Connection(str(tmp_path / "run.db"))
    connection.execute("UPDATE worlds SET witness = NULL, outcome = NULL")
    connection.close()
    with RunReader.open(tmp_path) as reader:
        assert list(reader.events(SECOND)) == []
        assert reader.head(SECOND) is None
        assert reader.outcomes[SECOND].state is WorldState.NOT_STARTED


def test_viewer_cannot_shorten_history(tmp_path: Path) -> None:
    """F4: while a reader opens, reads and closes, the writer goes on and nothing is lost."""
    make_run(tmp_path, ticks=0, horizon=50, finish=False)
    path = tmp_path / "worlds" / f"{FIRST}.db"
    writer = PartitionFile.open(path, 2)
    for tick in range(10):
        writer.append(full_batch(writer.head, 50), epoch=2, log_head=NO_LOG)
        with RunReader.open(tmp_path) as reader:
            events = list(reader.events(FIRST))
            assert events[-1].tick == tick
    writer.close()
    assert PartitionFile.open(path, 3).head.tick == 9


def test_a_reader_sees_whole_ticks_of_a_live_run(tmp_path: Path) -> None:
    """P2: what is appended while events are read is not seen by halves."""
    make_run(tmp_path, ticks=1, horizon=50, finish=False)
    path = tmp_path / "worlds" / f"{FIRST}.db"
    writer = PartitionFile.open(path, 2)
    with RunReader.open(tmp_path) as reader:
        events = reader.events(FIRST)
        seen = [next(events)]
        writer.append(full_batch(writer.head, 50), epoch=2, log_head=NO_LOG)
        seen += events
        assert {event.tick for event in seen} == {0}
        assert {event.tick for event in reader.events(FIRST)} == {0, 1}
    writer.close()


def test_a_run_is_read_where_nobody_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished run on a read-only medium is read and verified."""
    make_run(tmp_path)
    monkeypatch.setattr("perdure.trace.files.is_writable", lambda _: False)
    before = names_in(tmp_path / "worlds")
    assert verify(tmp_path).is_sound
    assert names_in(tmp_path / "worlds") == before


def test_many_worlds_are_read_with_few_open_files(tmp_path: Path) -> None:
    """P11: a reader keeps a bounded number of files open however many worlds there are."""
    make_run(tmp_path)
    with RunReader.open(tmp_path) as reader:
        for place in range(20):
            name = f"{place + 16:012x}"
            PartitionFile.create(tmp_path / "worlds" / f"{name}.db", header(name), 1).close()
            reader.partition(name)
        assert isinstance(reader.store, FolderStore)
        assert len(reader.store._worlds) == 8


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE blobs SET bytes = x'00'", "match their hash"),
        ("DELETE FROM blobs", "missing"),
        ("DELETE FROM header", "0 times"),
    ],
)
def test_damage_is_never_handed_out(tmp_path: Path, statement: str, said: str) -> None:
    """P9: blobs and headers that are not what was written are errors, not values."""
    make_run(tmp_path)
    connection = apsw.Connection(str(tmp_path / "worlds" / f"{FIRST}.db"))
    connection.execute(statement)
    connection.close()
    name = next(iter(full_batch(EMPTY).blobs))
    with RunReader.open(tmp_path) as reader, pytest.raises(DamagedRecordError, match=said):
        reader.blob(FIRST, name) if "blobs" in statement else reader.header(FIRST)


def test_a_name_that_is_no_hash_is_refused(tmp_path: Path) -> None:
    """A citation that is not a hash cites nothing."""
    make_run(tmp_path)
    with RunReader.open(tmp_path) as reader, pytest.raises(DamagedRecordError, match="not a hash"):
        reader.blob(FIRST, "../../etc")


def test_a_folder_without_a_run_is_said(tmp_path: Path) -> None:
    """Reading a folder that holds no run is an error and makes nothing."""
    with pytest.raises(DamagedRecordError, match="no such file"):
        RunReader.open(tmp_path)
    assert names_in(tmp_path) == []


def test_a_registry_that_does_not_decode_is_closed_again(tmp_path: Path) -> None:
    """A reader that cannot be made leaves nothing open."""
    make_run(tmp_path)
    connection = apsw.Connection(str(tmp_path / "run.db"))
    connection.execute("UPDATE run SET entry = x'00'")
    connection.close()
    with pytest.raises(DamagedRecordError):
        RunReader.open(tmp_path)
    shutil.rmtree(tmp_path / "worlds")


def test_reading_beside_an_event_loop(tmp_path: Path) -> None:
    """A reader can be used from a thread beside the loop that writes."""
    make_run(tmp_path)

    async def check() -> int:
        def read() -> int:
            with RunReader.open(tmp_path) as reader:
                return len(list(reader.events(FIRST)))

        return await asyncio.to_thread(read)

    assert asyncio.run(check()) == 65
