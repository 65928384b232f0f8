"""P2 for a damaged run: whatever is flipped, moved or put back, `verify` names it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.crash.telling import tell
from tests.crash.test_log_damage import flipped
from tests.support.runs import WORLDS, make_run

from perdure.base.chance import Stream
from perdure.base.errors import DamagedRecordError
from perdure.records.registry import RunPaused
from perdure.trace import walk
from perdure.trace.chain import chain_step
from perdure.trace.reader import RunReader
from perdure.trace.registry import Registry
from perdure.trace.verify import verify

FULL = os.environ.get("PERDURE_CRASH") == "full"
FLIPS = 20_000 if FULL else 400
FIRST, SECOND = WORLDS

pytestmark = pytest.mark.timeout(3_600 if FULL else 300)

Edit = Callable[[apsw.Connection], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a sound run once."""
    folder = tmp_path_factory.mktemp("sound") / "run"
    make_run(folder, padding=700)
    return folder


@pytest.fixture
def run(sound: Path) -> Iterator[Path]:
    """Give a copy of the sound run, to damage."""
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else sound.parent
    folder = base / f"perdure-run-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    yield folder
    shutil.rmtree(folder)


def world_path(run: Path, world: str = FIRST) -> Path:
    """Give the path of a world's partition."""
    return run / "worlds" / f"{world}.db"


def edit(path: Path, change: Edit) -> None:
    """Change a database behind the store's back."""
    connection = apsw.Connection(str(path))
    change(connection)
    connection.close()


def first_finding(run: Path) -> tuple[str, str]:
    """Give where and what the first finding is."""
    report = verify(run)
    assert not report.is_sound
    finding = report.every_finding[0]
    return finding.where, finding.wrong


def contents(run: Path) -> list[Any]:
    """Read everything that a record holds, as a user of it would."""
    with RunReader.open(run) as reader:
        read: list[Any] = [reader.entry, reader.worlds, reader.personas, reader.held_out]
        read += [reader.log, reader.witnesses()]
        for world in WORLDS:
            read += [reader.header(world), list(reader.events(world))]
    return read


def outcome_of_flips(run: Path, name: str, flips: int) -> tuple[int, int, int]:
    """Flip bits in one file, one at a time: count harmless, found, and undetected ones."""
    path = run / name
    before, wanted = path.read_bytes(), contents(run)
    stream = Stream("0" * 16, 0, f"flips in {name}")
    harmless = found = silent = 0
    for _ in range(flips):
        path.write_bytes(flipped(before, stream))
        report = verify(run)
        for side in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + side).unlink(missing_ok=True)
        if not report.is_sound:
            assert all(one.where and one.wrong for one in report.every_finding)
            found += 1
        elif _reads_as(run, wanted):
            harmless += 1
        else:
            silent += 1
    path.write_bytes(before)
    return harmless, found, silent


def _reads_as(run: Path, wanted: list[Any]) -> bool:
    try:
        return contents(run) == wanted
    except DamagedRecordError:
        return False


@pytest.mark.parametrize("name", [f"worlds/{FIRST}.db", "run.db"])
def test_a_flipped_bit_is_found_or_harmless(run: Path, name: str, record_property) -> None:
    """P2: a flipped bit in a file changes nothing that is read, or is found; never neither."""
    harmless, found, silent = outcome_of_flips(run, name, FLIPS // 2)
    tell(f"flips in {name}: {FLIPS // 2}, harmless {harmless}, found {found}, undetected: {silent}")
    record_property("flips", FLIPS // 2)
    assert silent == 0
    assert found > 0


def test_without_the_chain_flips_go_undetected(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: with the chain's check skipped, the same flips change what is read unseen."""

    class Trusting(bytes):
        def __ne__(self, other: object) -> bool:
            return False

    monkeypatch.setattr("perdure.trace.walk.chain_step", lambda *step: Trusting(chain_step(*step)))
    monkeypatch.setattr(walk.Walker, "finish", lambda *_: None)
    monkeypatch.setattr(walk.Walker, "check_witness", lambda *_: None)
    monkeypatch.setattr("perdure.trace.verify_world._wrong_outcome", lambda *_: None)
    _, _, silent = outcome_of_flips(run, f"worlds/{FIRST}.db", 60)
    assert silent > 0


def swap_payloads(connection: apsw.Connection) -> None:
    """Exchange what two events say."""
    connection.execute(
        "UPDATE events SET payload = (SELECT payload FROM events AS other"
        " WHERE other.seq = 17 - events.seq) WHERE seq IN (8, 9)"
    )


def swap_rows(connection: apsw.Connection) -> None:
    """Exchange two events as a whole."""
    connection.execute("UPDATE events SET seq = -1 WHERE seq = 20")
    connection.execute("UPDATE events SET seq = 20 WHERE seq = 21")
    connection.execute("UPDATE events SET seq = 21 WHERE seq = -1")


def duplicate_row(connection: apsw.Connection) -> None:
    """Append a copy of an event."""
    connection.execute(
        "INSERT INTO events SELECT (SELECT max(seq) + 1 FROM events), tick, kind, persona,"
        " content, payload, hash FROM events WHERE seq = 5"
    )


def roll_back(connection: apsw.Connection) -> None:
    """Take back the last tick, with a head that agrees: what an older copy looks like."""
    ((seq, tick, chain),) = connection.execute(
        "SELECT seq, tick, hash FROM events WHERE kind = 'tick_closed'"
        " ORDER BY seq LIMIT 1 OFFSET 1"
    ).fetchall()
    connection.execute("DELETE FROM events WHERE seq > ?", (seq,))
    ((content,),) = connection.execute("SELECT count(content) FROM events").fetchall()
    connection.execute(
        "UPDATE head SET seq = ?, tick = ?, chain = ?, content = ?", (seq, tick, chain, content)
    )


def sql(statement: str) -> Edit:
    """Make an edit of one statement."""
    return lambda connection: [*connection.execute(statement)].clear()


EDITS: dict[str, tuple[Edit, str, str]] = {
    "payloads swapped": (swap_payloads, f"{FIRST}:8", "hash"),
    "rows swapped": (swap_rows, f"{FIRST}:20", ""),
    "row duplicated": (duplicate_row, f"{FIRST}:65", "ends at"),
    "row deleted": (sql("DELETE FROM events WHERE seq = 7"), f"{FIRST}:7", "missing"),
    "last row deleted": (sql("DELETE FROM events WHERE seq = 64"), f"{FIRST}:64", "end"),
    "tick changed": (sql("UPDATE events SET tick = 1 WHERE seq = 3"), f"{FIRST}:3", "tick"),
    "persona changed": (
        sql("UPDATE events SET persona = 'p2' WHERE seq = 7"),
        f"{FIRST}:7",
        "hash",
    ),
    "kind changed": (sql("UPDATE events SET kind = 'cost' WHERE seq = 7"), f"{FIRST}:7", ""),
    "kind unknown": (sql("UPDATE events SET kind = 'dream' WHERE seq = 7"), f"{FIRST}:7", "kind"),
    "content changed": (
        sql("UPDATE events SET content = content + 1 WHERE seq = 7"),
        f"{FIRST}:7",
        "content",
    ),
    "payload changed": (
        sql("UPDATE events SET payload = CAST(payload || ' ' AS BLOB) WHERE seq = 30"),
        f"{FIRST}:30",
        "hash",
    ),
    "hash changed": (sql("UPDATE events SET hash = x'00' WHERE seq = 30"), f"{FIRST}:30", "hash"),
    "rolled back": (roll_back, f"{FIRST}:", ""),
    "blob changed": (
        sql("UPDATE blobs SET bytes = x'00' WHERE rowid = 1"),
        FIRST,
        "match",
    ),
    "blob deleted": (sql("DELETE FROM blobs WHERE rowid = 2"), f"{FIRST}:", "missing"),
    "header deleted": (sql("DELETE FROM header"), "", "once"),
    "header changed": (
        sql("UPDATE header SET payload = CAST(replace(payload, 'calm', 'loud') AS BLOB)"),
        FIRST,
        "another world",
    ),
    "head changed": (sql("UPDATE head SET digest = zeroblob(32)"), f"{FIRST}:65", "ends"),
    "table added": (sql("CREATE TABLE extra (x)"), "", "tables"),
    "view for a table": (
        sql("DROP TABLE blobs; CREATE VIEW blobs AS SELECT x'' AS sha256, x'' AS bytes"),
        "",
        "tables",
    ),
    "trigger added": (
        sql("CREATE TRIGGER t AFTER UPDATE ON lease BEGIN DELETE FROM events; END"),
        "",
        "tables",
    ),
    "newer format": (sql("PRAGMA user_version = 99"), "", "format is 99"),
    "another program's": (sql("PRAGMA application_id = 1"), "", "not a partition"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_partition_is_found(run: Path, name: str) -> None:
    """P2: rows swapped, doubled, deleted, re-dated or rewritten are named by their event."""
    change, place, said = EDITS[name]
    edit(world_path(run), change)
    where, wrong = first_finding(run)
    assert place in where or FIRST in where
    assert where.startswith(place) or not place.startswith(FIRST)
    assert said in wrong
    assert not verify(run).worlds[1].findings, "the other world is as it was"


REGISTRY_EDITS: dict[str, tuple[Edit, str]] = {
    "persona changed": (
        sql("UPDATE personas SET payload = CAST(replace(payload, '41', '42') AS BLOB)"),
        "population",
    ),
    "persona deleted": (sql("DELETE FROM personas WHERE position = 2"), "population"),
    "held-out changed": (sql("UPDATE held_out SET value = 'no'"), "held-out"),
    "log row changed": (
        sql("UPDATE log SET payload = CAST('{\"epoch\":2}' AS BLOB) WHERE seq = 0"),
        "hash",
    ),
    "log row deleted": (sql("DELETE FROM log WHERE seq = 0"), "missing"),
    "entry changed": (
        sql("UPDATE run SET entry = CAST(replace(entry, 'USD', 'EUR') AS BLOB)"),
        "hash",
    ),
    "witness changed": (
        sql(
            "UPDATE worlds SET witness = CAST(replace(witness, '\"seq\":64', '\"seq\":65') AS BLOB)"
        ),
        "rolled back",
    ),
    "outcome's digest changed": (
        sql(
            "UPDATE worlds SET outcome ="
            ' CAST(replace(outcome, \'"digest":"\', \'"digest":"0\') AS BLOB)'
        ),
        "digest",
    ),
    "outcome's cost changed": (
        sql("UPDATE worlds SET outcome = CAST(replace(outcome, '4500', '4501') AS BLOB)"),
        "cost",
    ),
    "world's seed changed": (
        sql("UPDATE worlds SET entry = CAST(replace(entry, ':7', ':8') AS BLOB)"),
        "another world",
    ),
}


@pytest.mark.parametrize("name", REGISTRY_EDITS)
def test_an_edited_registry_is_found(run: Path, name: str) -> None:
    """P2: the population, held-out values, run log, notes and witnesses are checked too."""
    change, said = REGISTRY_EDITS[name]
    edit(run / "run.db", change)
    wrongs = [finding.wrong for finding in verify(run).every_finding]
    assert any(said in wrong for wrong in wrongs), wrongs


def test_partitions_that_change_places_are_found(run: Path) -> None:
    """P2: a world's file under another world's name is not taken for it."""
    first, second = world_path(run, FIRST), world_path(run, SECOND)
    aside = run / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    assert [len(world.findings) for world in verify(run).worlds] == [1, 1]


def test_a_partition_that_is_gone_is_found(run: Path) -> None:
    """P2: a world whose events were acknowledged does not read as one that never started."""
    world_path(run).unlink()
    where, wrong = first_finding(run)
    assert where == FIRST
    assert "missing" in wrong
    with RunReader.open(run) as reader, pytest.raises(DamagedRecordError):
        list(reader.events(FIRST))


def test_an_older_copy_of_a_partition_is_found(tmp_path: Path) -> None:
    """P2: a partition put back from before the last tick is rolled back, and says so."""
    make_run(tmp_path / "old", ticks=2, horizon=3)
    make_run(tmp_path / "new", ticks=3, horizon=3)
    shutil.copyfile(world_path(tmp_path / "old"), world_path(tmp_path / "new"))
    where, wrong = first_finding(tmp_path / "new")
    assert where == f"{FIRST}:43"
    assert "rolled back" in wrong


def test_an_older_copy_of_the_registry_is_found(tmp_path: Path) -> None:
    """P2: a registry put back from before a partition's last tick is seen by the partition."""
    run = tmp_path / "run"
    make_run(run, ticks=1, horizon=3, finish=False)
    older = (run / "run.db").read_bytes()

    async def go_on() -> None:
        from tests.support.runs import full_batch  # noqa: PLC0415

        from perdure.trace.partitions import FolderPartitions  # noqa: PLC0415

        registry = await Registry.open(run)
        await registry.log(RunPaused(cause="asked", exit_status=75))
        partition = await FolderPartitions(run).open(FIRST, registry.epoch)
        batch = full_batch(partition.head)
        await partition.append(batch, epoch=registry.epoch, log_head=registry.log_head)
        await partition.close()
        await registry.close()

    asyncio.run(go_on())
    (run / "run.db").write_bytes(older)
    _, wrong = first_finding(run)
    assert "the run log had a row" in wrong
