"""A connection: rare failures that only a stand-in for SQLite can show."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import apsw
import pytest
from tests.support.runs import WORLDS, header

from perdure.base.clock import SystemClock
from perdure.base.errors import DamagedRecordError, InternalError, StorageError, StorageFullError
from perdure.trace import files, paths
from perdure.trace.database import Database, Deadline
from perdure.trace.decoding import decode, decode_event, decode_log
from perdure.trace.opening import open_new, open_reader
from perdure.trace.partition_file import PartitionFile
from perdure.trace.rows import read_head, read_header
from perdure.trace.schema import PARTITION
from perdure.trace.sql_rows import SqlWorld

PATH = Path("/run/world.db")
NAME = f"{WORLDS[0]}.db"


class HandClock(SystemClock):
    """A clock that is moved by hand."""

    now = 100.0

    def now_s(self) -> float:
        return self.now


def test_a_query_has_its_time_however_long_its_process_was_stopped() -> None:
    """An hour in which nobody ran is no time of the query's; the time in which it ran is."""
    clock = HandClock()
    deadline = Deadline(5.0, clock)
    deadline.start()
    clock.now += 3_600.0
    assert not deadline.is_over()
    looks = 0
    while not deadline.is_over():
        clock.now += 0.5
        looks += 1
    assert looks == 9
    deadline.start()
    assert not deadline.is_over()


class StandIn:
    """Says what SQLite would say."""

    system_errno = 0
    in_transaction = True

    def __init__(self, **errors: int) -> None:
        self.errors = errors
        self.asked: list[str] = []

    def _ask(self, name: str) -> None:
        self.asked.append(name)
        if name in self.errors:
            raise apsw.exception_for(self.errors[name])

    def execute(self, sql: str, _: object = ()) -> StandIn:
        self._ask(sql.split(maxsplit=1)[0])
        return self

    def wal_checkpoint(self, mode: int) -> None:
        self._ask("checkpoint")

    def pragma(self, *_: object) -> str:
        self._ask("pragma")
        return "delete"

    def config(self, *_: object) -> None:
        self._ask("config")

    def close(self) -> None:
        self._ask("close")


def stand_in(**errors: int) -> tuple[Database, StandIn]:
    """Give a database whose SQLite fails as told."""
    fake = StandIn(**errors)
    return Database(cast("apsw.Connection", fake), PATH), fake


@pytest.mark.parametrize("code", [apsw.SQLITE_FULL, apsw.SQLITE_BUSY])
def test_a_checkpoint_that_cannot_be_made_now_is_put_off(code: int) -> None:
    """F7: what is committed is durable in the log; no room to copy it is no failure."""
    database, fake = stand_in(checkpoint=code)
    database.note_commit(cast("apsw.Connection", None), "main", 5_000)
    database.checkpoint_if_due()
    database.checkpoint_if_due()
    assert fake.asked == ["checkpoint", "checkpoint"]


def test_leaving_the_log_may_fail_for_good() -> None:
    """P9: a disk that fails is not a reader in the way."""
    database, _ = stand_in(pragma=apsw.SQLITE_IOERR_FSYNC)
    with pytest.raises(StorageError, match="failed sync"):
        database.leave_wal()


@pytest.mark.parametrize("code", [apsw.SQLITE_BUSY, apsw.SQLITE_LOCKED])
def test_leaving_the_log_may_have_to_wait(code: int) -> None:
    """A reader in the way is no failure."""
    assert not stand_in(pragma=code)[0].leave_wal()


def test_leaving_the_log_may_have_to_wait_for_room() -> None:
    """F7: a full disk in the way is no failure: the log is durable, and the next process tries."""
    database, _ = stand_in(pragma=apsw.SQLITE_FULL)
    assert not database.leave_wal()
    database.execute("SELECT")


def test_a_file_that_finds_no_inode_finds_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F7: SQLite only says that it cannot open a file; the disk says that it can hold no other."""
    monkeypatch.setattr(files, "can_hold_another", lambda _: False)
    with pytest.raises(StorageFullError):
        stand_in(INSERT=apsw.SQLITE_CANTOPEN)[0].execute("INSERT")
    with pytest.raises(StorageFullError):
        open_new(tmp_path / "nowhere" / "x.db")
    monkeypatch.setattr(files, "can_hold_another", lambda _: True)
    with pytest.raises(StorageError, match="cannot be opened"):
        open_new(tmp_path / "nowhere" / "x.db")


def test_a_close_that_fails_is_ours() -> None:
    """P9: closing can fail, and says so."""
    with pytest.raises(StorageError):
        stand_in(close=apsw.SQLITE_IOERR_CLOSE)[0].close()


def test_a_roll_back_that_fails_ends_the_connection() -> None:
    """P9: the first failure is the news; a connection in doubt is not used again."""
    database, fake = stand_in(INSERT=apsw.SQLITE_FULL, ROLLBACK=apsw.SQLITE_IOERR)
    with pytest.raises(StorageError, match="full"), database.transaction():
        database.execute("INSERT")
    with pytest.raises(StorageError, match="not used again"):
        database.execute("SELECT")
    assert fake.asked == ["BEGIN", "INSERT", "ROLLBACK"]


def test_text_that_is_no_text_is_damage(tmp_path: Path) -> None:
    """F6: bytes that SQLite hands on and Python cannot decode are a damaged record."""
    PartitionFile.create(tmp_path / NAME, header(), 1).close()
    reader = open_reader(tmp_path / NAME, PARTITION)
    with pytest.raises(DamagedRecordError, match="cannot be decoded"):
        reader.fetch("SELECT CAST(x'ff' AS TEXT)")
    reader.close()


def test_a_file_system_without_a_log_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1: where SQLite cannot keep a log, a run is refused rather than kept less safely."""
    real = Database.fetch_one

    def without(self: Database, sql: str, values: Any = ()) -> tuple[Any, ...]:
        return ("delete",) if "journal_mode" in sql else real(self, sql, values)

    monkeypatch.setattr(Database, "fetch_one", without)
    with pytest.raises(StorageError, match="cannot keep a log"):
        open_new(tmp_path / "new.db")


TEXT_HEAD = """
    DROP TABLE head;
    CREATE TABLE head (id, seq, chain, content, digest, tick, log_seq, log_chain);
    INSERT INTO head VALUES (1, -1, 'text', 0, x'', -1, -1, x'')
"""
TEXT_HEADER = """
    DROP TABLE header;
    CREATE TABLE header (id, payload);
    INSERT INTO header VALUES (1, 'x')
"""


@pytest.mark.parametrize("statement", ["UPDATE head SET seq = 5", TEXT_HEAD, TEXT_HEADER])
def test_single_rows_are_checked(tmp_path: Path, statement: str) -> None:
    """P9: a head or header that is not what it should be is never used."""
    PartitionFile.create(tmp_path / NAME, header(), 1).close()
    connection = apsw.Connection(str(tmp_path / NAME))
    connection.execute(statement)
    database = Database(connection, tmp_path / NAME)
    with pytest.raises(DamagedRecordError):
        read_header(SqlWorld(database)) if "header" in statement else read_head(SqlWorld(database))
    database.close()


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"x":1}', b"\xff", "text", None, 4])
def test_what_does_not_decode_is_damage(data: object) -> None:
    """P9: whatever is stored in a payload's place, decoding it gives a record or our error."""
    for attempt in (
        lambda: decode(data, type(header()), "here"),
        lambda: decode_event("turn", data, "w", 1),
        lambda: decode_log("opened", data, "here"),
    ):
        with pytest.raises(DamagedRecordError) as caught:
            attempt()
        assert caught.value.where in {"here", "w:1"}


def test_an_unknown_kind_is_never_guessed() -> None:
    """P9: a kind that this version does not know is an error."""
    with pytest.raises(DamagedRecordError, match="kind 'dream'"):
        decode_event("dream", b"{}", "w", 1)
    with pytest.raises(DamagedRecordError, match="kind 'dream'"):
        decode_log("dream", b"{}", "run log 1")


def test_a_world_is_a_plain_name(tmp_path: Path) -> None:
    """P12: no id of a world leads out of the folder."""
    for name in ("../etc", "a/b", "", "."):
        with pytest.raises(InternalError, match="name of a file"):
            paths.partition_path(tmp_path, name)
