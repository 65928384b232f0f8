"""What is not one of our files is refused, whatever it pretends, without being written to."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import apsw
import pytest
from tests.support.folders import names_in
from tests.support.runs import WORLDS, header, make_run

from perdure.base.errors import DamagedRecordError, HeldError, StorageError
from perdure.trace import copying, opening
from perdure.trace.opening import open_reader, open_writer
from perdure.trace.partition_file import PartitionFile
from perdure.trace.schema import PARTITION, REGISTRY

NAME = f"{WORLDS[0]}.db"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the path of a sound partition."""
    PartitionFile.create(tmp_path / NAME, header(), 1).close()
    return tmp_path / NAME


@pytest.mark.parametrize("opener", [open_reader, open_writer])
def test_a_link_is_refused(path: Path, opener) -> None:
    """P12: a record is a plain file; a link could lead anywhere."""
    link = path.with_name("link.db")
    link.symlink_to(path)
    with pytest.raises(DamagedRecordError, match="not a plain file"):
        opener(link, PARTITION)


@pytest.mark.parametrize("opener", [open_reader, open_writer])
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_pipe_is_refused(tmp_path: Path, opener, suffix: str) -> None:
    """P11: nobody waits for a pipe that stands in for a file or for its log."""
    if suffix:
        PartitionFile.create(tmp_path / NAME, header(), 1).close()
    os.mkfifo(tmp_path / f"{NAME}{suffix}")
    with pytest.raises(DamagedRecordError, match="not a plain file"):
        opener(tmp_path / NAME, PARTITION)


@pytest.mark.parametrize("opener", [open_reader, open_writer])
def test_what_is_not_there_is_named(tmp_path: Path, opener) -> None:
    """A missing file is one of our errors, and is not created."""
    with pytest.raises(DamagedRecordError, match="no such file"):
        opener(tmp_path / NAME, PARTITION)
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\x00", b"\x00" * 5_000, b"text" * 2_000])
@pytest.mark.parametrize("opener", [open_reader, open_writer])
def test_bytes_that_are_no_database_are_refused(tmp_path: Path, data: bytes, opener) -> None:
    """P9: empty, short and foreign files are damaged records, never empty ones."""
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(DamagedRecordError):
        opener(tmp_path / NAME, PARTITION)


def test_a_registry_is_not_a_partition(tmp_path: Path) -> None:
    """The mark in the file says which of the two it is."""
    make_run(tmp_path / "run")
    with pytest.raises(DamagedRecordError, match="not a partition"):
        open_reader(tmp_path / "run" / "run.db", PARTITION)
    with pytest.raises(DamagedRecordError, match="not a registry"):
        open_reader(tmp_path / "run" / "worlds" / NAME, REGISTRY)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("PRAGMA user_version = 2", "format is 2"),
        ("PRAGMA user_version = 0", "tables"),
        ("PRAGMA application_id = 7", "not a partition"),
        ("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END", "tables"),
        ("CREATE VIEW v AS SELECT 1", "tables"),
        ("CREATE VIRTUAL TABLE v USING fts5(x)", "tables"),
        ("DROP TABLE blobs", "tables"),
    ],
)
def test_a_foreign_schema_is_refused(path: Path, statement: str, said: str) -> None:
    """P12: nothing that a file brings along is ever run: only our own tables are let in."""
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()
    for opener in (open_reader, open_writer):
        with pytest.raises(DamagedRecordError, match=said):
            opener(path, PARTITION)


def test_a_reader_cannot_write(path: Path) -> None:
    """Readers are read-only whatever they are asked."""
    reader = open_reader(path, PARTITION)
    with pytest.raises(StorageError, match="cannot be opened or written"):
        reader.execute("UPDATE lease SET epoch = 9")
    reader.close()


def test_a_query_has_its_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P11: a query that would run for ever is ended."""
    monkeypatch.setattr(opening, "_QUERY_S_MAX", 0.0)
    monkeypatch.setattr(opening, "_STEPS_BETWEEN_LOOKS", 1_000)
    reader = open_reader(path, PARTITION)
    endless = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    )
    with pytest.raises(StorageError, match="longer than its limit"):
        reader.fetch(endless)
    reader.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    """An unwritable folder is a storage fault in one sentence."""
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="cannot be opened or written"):
        PartitionFile.create(tmp_path / NAME, header(), 1)
    tmp_path.chmod(0o700)


def test_a_finished_file_is_read_where_nobody_may_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record on a read-only medium is read without a side file being made."""
    monkeypatch.setattr("perdure.trace.files.is_writable", lambda _: False)
    before = names_in(path.parent)
    reader = open_reader(path, PARTITION)
    assert reader.fetch("SELECT count(*) FROM events") == [(0,)]
    assert names_in(path.parent) == before
    reader.close()


def test_names_with_signs_are_opened(tmp_path: Path) -> None:
    """A folder may be called what it likes."""
    folder = tmp_path / "50 % ? & #1"
    folder.mkdir()
    PartitionFile.create(folder / NAME, header(), 1).close()
    assert names_in(folder) == [NAME]
    open_reader(folder / NAME, PARTITION).close()


def leave_hot(path: Path) -> bytes:
    """Leave a file as a kill does that strikes before its first page's old bytes are given up."""
    kept = path.with_name("kept")
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "DELETE")
    connection.execute("BEGIN IMMEDIATE; UPDATE lease SET epoch = 9; PRAGMA cache_spill = 1")
    connection.cache_flush()
    shutil.copyfile(path, kept)
    journal = path.with_name(f"{path.name}-journal").read_bytes()
    connection.execute("ROLLBACK")
    connection.close()
    kept.replace(path)
    path.with_name(f"{path.name}-journal").write_bytes(journal)
    return journal


def test_what_waits_for_a_rollback_is_read_as_it_was_before(path: Path) -> None:
    """P2: half a transaction is never read, in a folder that may be written or may not."""
    leave_hot(path)
    before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
    reader = open_reader(path, PARTITION)
    assert reader.fetch("SELECT epoch FROM lease") == [(1,)]
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == before
    reader.close()
    writer = open_writer(path, PARTITION)
    assert writer.fetch("SELECT epoch FROM lease") == [(1,)]
    writer.close()
    assert names_in(path.parent) == [NAME]


def test_a_journal_is_not_overlooked_where_nobody_may_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P2: a file that waits for a rollback is not taken for one that never changes."""
    leave_hot(path)
    monkeypatch.setattr("perdure.trace.files.is_writable", lambda _: False)
    reader = open_reader(path, PARTITION)
    assert reader.fetch("SELECT epoch FROM lease") == [(1,)]
    reader.close()


@pytest.mark.parametrize("opener", [open_reader, open_writer])
def test_a_journal_that_names_another_file_is_refused(path: Path, opener) -> None:
    """P9: recovery never goes where a file says: no journal of a run names another one."""
    name = str(path.with_name("victim")).encode()
    Path(os.fsdecode(name)).write_bytes(b"")
    journal = leave_hot(path)
    tail = struct.pack(">II8s", len(name), sum(name), bytes.fromhex("d9d505f920a163d7"))
    lock_page = (1 << 30) // 4096 + 1
    path.with_name(f"{NAME}-journal").write_bytes(
        journal + struct.pack(">I", lock_page) + name + tail
    )
    with pytest.raises(DamagedRecordError, match="names another file"):
        opener(path, PARTITION)
    assert path.with_name("victim").exists()


def test_a_copy_has_a_largest_size(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P10: what is too large to be copied is named, and says what helps."""
    leave_hot(path)
    monkeypatch.setattr(copying, "_BYTES_MAX", 1_000)
    with pytest.raises(StorageError, match="can only be read from a copy") as caught:
        open_reader(path, PARTITION)
    assert "Continue the run" in str(caught.value)


def test_a_file_that_never_stands_still_is_in_use(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P10: after a few attempts a reader gives up on a file that changes under each copy."""
    leave_hot(path)
    readings = iter(range(100))
    monkeypatch.setattr(copying, "_read", lambda *_: {"": bytes([next(readings)])})
    with pytest.raises(HeldError, match="changes the file while"):
        open_reader(path, PARTITION)
    assert next(readings) == 10


def test_the_next_folder_is_tried_and_none_is_left_behind(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that cannot be used is passed over; and of the copy no name is left."""
    leave_hot(path)
    good = tmp_path / "good"
    good.mkdir()
    monkeypatch.setattr(copying, "places", lambda _: [tmp_path / "absent", good])
    reader = open_reader(path, PARTITION)
    assert names_in(good) == []
    assert reader.fetch("SELECT epoch FROM lease") == [(1,)]
    reader.close()


def test_the_own_folder_of_a_file_is_no_place_for_copies(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader never makes its copy inside the folder that it reads."""
    monkeypatch.setenv("TMPDIR", str(path.parent))
    assert path.parent.resolve() not in copying.places(path)
    monkeypatch.setenv("TMPDIR", str(path.parent.parent))
    assert copying.places(path)[0] == path.parent.parent.resolve()
