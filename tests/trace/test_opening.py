"""What is not one of our files is refused, whatever it pretends, without being written to."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest
from tests.support.folders import names_in
from tests.support.runs import WORLDS, header, make_run

from perdure.base.errors import DamagedRecordError, StorageError
from perdure.trace import opening
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
