"""The call journal's file: one commit for many, dead rows that go, damage that is named."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from tests.support.calls import OTHER, WORLD, embedded, intent, key, opening, replied

from perdure.base.canonical import encode
from perdure.base.chance import Stream
from perdure.base.errors import DamagedRecordError, HeldError, StorageError, StorageFullError
from perdure.trace import journal_file, journal_rows
from perdure.trace.group import GroupCommit
from perdure.trace.journal import Journal
from perdure.trace.journal_file import (
    JOURNAL_NAME,
    Change,
    Closed,
    Intended,
    JournalFile,
    Opened,
    Resulted,
    Slot,
)
from perdure.trace.journal_reader import read_journal
from perdure.trace.journal_rows import encode_settled

FLIPS = 20_000 if os.environ.get("PERDURE_CRASH") == "full" else 250


def open_slot(file: JournalFile, tick: int = 0, world: str = WORLD) -> Slot:
    """Open a tick."""
    slot = Slot(opening(tick, world), encode(opening(tick, world)))
    file.write([Opened(slot)])
    return slot


def call(file: JournalFile, slot: Slot, jobs: range, text: str = "Yes.") -> None:
    """Make some calls of a tick, a group for the intents and one for the results."""
    tick, world = slot.opening.tick, slot.opening.world
    file.write([Intended(slot, intent(key(job, tick, world))) for job in jobs])
    settle(file, slot, text)


def settle(file: JournalFile, slot: Slot, text: str = "Yes.") -> None:
    """Settle what is in flight."""
    encoded = encode_settled(replied(text))
    changes: list[Change] = [Resulted(slot, row, encoded) for row in slot.in_flight.values()]
    file.write(changes)
    slot.in_flight.clear()


def counts(folder: Path) -> dict[str, int]:
    """Count the rows of each table, from outside."""
    path = f"file:{folder / JOURNAL_NAME}?mode=ro"
    connection = apsw.Connection(path, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    found: dict[str, int] = {}
    for table in ("ticks", "intents", "results"):
        [(count,)] = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
        assert isinstance(count, int)
        found[table] = count
    connection.close()
    return found


def test_a_journal_is_born_once(tmp_path: Path) -> None:
    """P9: a journal is never overwritten, and a missing one is an error, never an empty one."""
    with pytest.raises(DamagedRecordError, match="no such file"):
        JournalFile.open(tmp_path, 1)
    assert not asyncio.run(Journal.has(tmp_path))
    JournalFile.create(tmp_path, 1).close()
    assert asyncio.run(Journal.has(tmp_path))
    with pytest.raises(HeldError):
        JournalFile.create(tmp_path, 1)


def test_a_thousand_calls_at_once_share_their_commits(tmp_path: Path) -> None:
    """A commit is for all who wait: 1,000 calls at once do not cost 1,000 syncs."""
    groups: list[int] = []

    async def check() -> None:
        file = JournalFile.create(tmp_path, 1)
        real = file.write

        def write(changes: Sequence[Change]) -> None:
            groups.append(len(changes))
            real(changes)

        file.write = write  # type: ignore[method-assign]
        journal = Journal(file)
        await journal.open_tick(opening())

        async def one(job: int) -> None:
            await journal.intend(intent(key(job)))
            await journal.settle(key(job), 0, replied())

        await asyncio.gather(*(one(job) for job in range(1_000)))
        found = await journal.calls(WORLD, 0)
        assert found is not None
        assert len(found.calls) == 1_000
        await journal.close()

    asyncio.run(check())
    assert groups == [1, 1_000, 1_000]


def test_a_group_is_written_whole_or_not_at_all() -> None:
    """Of a group that fails, all who wait meet the failure; what nobody waits for goes along."""
    written: list[list[int]] = []
    fail = threading.Event()

    def write(changes: Sequence[int]) -> None:
        if fail.is_set():
            raise StorageFullError("The disk is full.")
        written.append(list(changes))

    async def check() -> None:
        group: GroupCommit[int] = GroupCommit(write)
        fail.set()
        group.later(0)
        waits = [group.durably(number) for number in (1, 2)]
        ends = await asyncio.gather(*waits, return_exceptions=True)
        assert [type(end) for end in ends] == [StorageFullError] * 2
        with pytest.raises(StorageFullError):
            await group.alone(lambda: None)
        fail.clear()
        await group.durably(3)
        assert await group.alone(lambda: list(written)) == [[3, 0]]
        group.later(4)
        await group.alone(lambda: None)
        assert written == [[3, 0], [4]]

    asyncio.run(check())


def test_a_bug_in_writing_reaches_who_waits() -> None:
    """P9: whatever a write raises, nobody waits for ever and nobody believes itself durable."""

    def write(changes: Sequence[int]) -> None:
        raise ZeroDivisionError

    async def check() -> None:
        group: GroupCommit[int] = GroupCommit(write)
        with pytest.raises(ZeroDivisionError):
            await group.durably(1)
        with pytest.raises(ZeroDivisionError):
            await group.durably(2)

    asyncio.run(check())


def test_nobody_waits_for_a_loop_that_is_closed() -> None:
    """P11: who waits when the writer is cancelled is cancelled too."""

    async def check() -> None:
        group: GroupCommit[int] = GroupCommit(lambda changes: None)
        wait = group.durably(1)
        assert group._writer is not None
        group._writer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await wait

    asyncio.run(check())


def test_a_long_queue_is_written_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """P11: no transaction is longer than its limit, and the order is kept."""
    monkeypatch.setattr("perdure.trace.group._GROUP_MAX", 10)
    written: list[list[int]] = []

    async def check() -> None:
        group: GroupCommit[int] = GroupCommit(lambda changes: written.append(list(changes)))
        waits = [group.durably(number) for number in range(25)]
        group.later(99)
        await asyncio.gather(*waits)

    asyncio.run(check())
    assert [len(group) for group in written] == [10, 10, 6]
    assert [number for group in written for number in group] == [*range(25), 99]


def test_the_dead_go_little_by_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of closed ticks are deleted in pieces, faster than new ones come; the live stay."""
    monkeypatch.setattr(journal_file, "_DELETE_MIN", 10)
    file = JournalFile.create(tmp_path, 1)
    kept = open_slot(file, world=OTHER)
    call(file, kept, range(5))
    dead = open_slot(file)
    call(file, dead, range(100))
    file.write([Closed(dead)])
    assert counts(tmp_path) == {"ticks": 2, "intents": 105, "results": 105}
    file.close()
    file = JournalFile.open(tmp_path, 2)
    assert list(file.slots) == [(OTHER, 0)]
    kept = file.slots[OTHER, 0]
    file.write([Intended(kept, intent(key(5, world=OTHER)))])
    assert counts(tmp_path) == {"ticks": 2, "intents": 96, "results": 95}
    file.write([Intended(kept, intent(key(job, world=OTHER))) for job in range(6, 36)])
    assert counts(tmp_path) == {"ticks": 2, "intents": 66, "results": 35}
    for job in range(36, 45):
        file.write([Intended(kept, intent(key(job, world=OTHER)))])
    assert counts(tmp_path) == {"ticks": 1, "intents": 45, "results": 5}
    assert len(file.read(kept).calls) == 45
    file.close()


def test_the_file_stays_as_large_as_its_open_ticks(tmp_path: Path) -> None:
    """P11: a journal does not grow with the run, and a finished run leaves a small one."""
    file = JournalFile.create(tmp_path, 1)
    sizes = []
    for tick in range(60):
        slot = open_slot(file, tick)
        call(file, slot, range(200), "x" * 2_000)
        file.write([Closed(slot)])
        sizes.append((tmp_path / JOURNAL_NAME).stat().st_size)
    assert max(sizes[30:]) <= max(sizes[:30])
    assert max(sizes) < 4_000_000
    assert file.finish()
    file.close()
    assert (tmp_path / JOURNAL_NAME).stat().st_size < 40_000
    assert counts(tmp_path) == {"ticks": 0, "intents": 0, "results": 0}


def test_a_large_and_empty_file_shrinks_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Free space is given back, and what is live is as it was."""
    file = JournalFile.create(tmp_path, 1)
    dead, kept = open_slot(file), open_slot(file, world=OTHER)
    call(file, kept, range(3))
    call(file, dead, range(300), "x" * 4_000)
    file.write([Closed(dead)])
    for job in range(3, 6):
        file.write([Intended(kept, intent(key(job, world=OTHER)))])
    file.close()
    before = (tmp_path / JOURNAL_NAME).stat().st_size
    monkeypatch.setattr(journal_file, "_FREE_BYTES_MAX", 100_000)
    file = JournalFile.open(tmp_path, 2)
    found = file.read(file.slots[OTHER, 0])
    file.close()
    assert len(found.calls) == 6
    assert (tmp_path / JOURNAL_NAME).stat().st_size < before // 4


def test_a_reply_that_is_too_large_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no value can hold fails for its own caller, before it is in any group."""
    monkeypatch.setattr(journal_rows, "VALUE_BYTES_MAX", 1_000)
    with pytest.raises(StorageError, match="larger"):
        encode_settled(replied("x" * 2_000))


def filled(folder: Path) -> None:
    """Make a journal with two open ticks, results of both kinds and calls in flight."""
    file = JournalFile.create(folder, 1)
    for world in (WORLD, OTHER):
        slot = open_slot(file, world=world)
        call(file, slot, range(40), "A reply of some length, " * 8)
        file.write([Intended(slot, intent(key(job, world=world))) for job in range(40, 44)])
        row = next(iter(slot.in_flight.values()))
        file.write([Resulted(slot, row, encode_settled(embedded()))])
    assert file.finish()
    file.close()


def read_all(folder: Path, epoch: int = 2) -> list[object]:
    """Open a journal and read all of its open ticks."""
    file = JournalFile.open(folder, epoch)
    try:
        return [file.read(slot) for slot in file.slots.values()]
    finally:
        file.close()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE results SET payload = CAST(payload || ' ' AS BLOB) WHERE id = (1 << 32) + 3",
            "row 3",
        ),
        ("UPDATE results SET vectors = x'00' WHERE id = (1 << 32) + 40", "row 40"),
        ("UPDATE results SET id = id + 1 WHERE id = (1 << 32) + 40", "row 41"),
        ("UPDATE results SET id = id + 100 WHERE id = (1 << 32) + 40", "44 calls and 41 results"),
        ("DELETE FROM results WHERE id = (2 << 32)", "44 calls and 40 results"),
        ("DELETE FROM intents WHERE id = (1 << 32) + 43", "43 calls and 41 results"),
        ("DELETE FROM intents WHERE id = (1 << 32) + 2", "row 2"),
        ("UPDATE intents SET epoch = 9 WHERE id = (1 << 32) + 5", "row 5"),
        ("UPDATE ticks SET closed = 1 WHERE id = 1", "tick row 1"),
        ("UPDATE ticks SET results = 40 WHERE id = 1", "tick row 1"),
        ("DELETE FROM ticks WHERE id = 2", "calls of no tick"),
        ("DELETE FROM lease", "must be there once"),
        ("UPDATE lease SET epoch = 9", "head: A row of the call journal does not match its sum"),
        ("UPDATE head SET writes = 1", "head: A row of the call journal does not match its sum"),
        ("UPDATE head SET run = 'x'", "head: A row of the call journal does not match its sum"),
        ("DELETE FROM head", "must be there once"),
        ("PRAGMA application_id = 7", "not a call journal"),
        ("PRAGMA user_version = 9", "formats up to"),
        ("CREATE TABLE more (x)", "tables are not"),
    ],
)
def test_damage_is_named(tmp_path: Path, statement: str, said: str) -> None:
    """P9: a row that is not as it was written is an error that says where, never an answer."""
    filled(tmp_path)
    with apsw.Connection(str(tmp_path / JOURNAL_NAME)) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(DamagedRecordError, match=said):
        read_all(tmp_path)


@pytest.mark.timeout(1_800)
def test_a_flipped_bit_changes_no_answer(tmp_path: Path) -> None:
    """P9: with one bit flipped, all is read as it was written, or the file is refused."""
    filled(tmp_path)
    path = tmp_path / JOURNAL_NAME
    whole = path.read_bytes()
    asked = read_all(tmp_path)
    whole = path.read_bytes() if path.stat().st_size == len(whole) else whole
    refused = 0
    places = Stream("0" * 16, 0, "flip", "calls")
    for _ in range(FLIPS):
        data = bytearray(whole)
        place = places.below(len(data) * 8)
        data[place // 8] ^= 1 << place % 8
        for side in tmp_path.iterdir():
            side.unlink()
        path.write_bytes(data)
        try:
            assert read_all(tmp_path, 99) == asked, place
        except StorageError:
            refused += 1
    assert refused > FLIPS // 3


def test_a_reader_sees_one_moment_and_disturbs_nobody(tmp_path: Path) -> None:
    """What is open can be read beside its writer; a run without a journal has nothing open."""
    assert read_journal(tmp_path) == ()
    file = JournalFile.create(tmp_path, 1)
    dead, slot = open_slot(file), open_slot(file, world=OTHER)
    call(file, dead, range(2))
    call(file, slot, range(3))
    file.write([Closed(dead)])
    [seen] = read_journal(tmp_path)
    assert seen == file.read(slot)
    assert len(seen.calls) == 3
    call(file, slot, range(3, 5))
    assert len(read_journal(tmp_path)[0].calls) == 5
    file.close()


def test_the_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    """P9: calls of another run may have the same names, and are not this run's."""
    JournalFile.create(tmp_path, 1, run="one").close()
    with pytest.raises(DamagedRecordError, match="of another run"):
        JournalFile.open(tmp_path, 2, run="two")
    with pytest.raises(DamagedRecordError, match="of another run"):
        read_journal(tmp_path, "two")
    JournalFile.open(tmp_path, 2, run="one").close()


def test_a_journal_that_lost_its_end_is_refused_and_kept(tmp_path: Path) -> None:
    """F5: a log without its end is a sound journal to SQLite; the note beside it knows better."""
    file = JournalFile.create(tmp_path, 1)
    slot = open_slot(file)
    call(file, slot, range(3))
    file._database.close(keep_log=True)
    log = tmp_path / f"{JOURNAL_NAME}-wal"
    for size in (0, 40, log.stat().st_size // 2):
        folder = tmp_path / str(size)
        folder.mkdir()
        for path in tmp_path.glob(f"{JOURNAL_NAME}*"):
            shutil.copy(path, folder)
        os.truncate(folder / log.name, size)
        with pytest.raises(DamagedRecordError, match="has lost its end"):
            read_journal(folder)
        with pytest.raises(DamagedRecordError, match="has lost its end"):
            JournalFile.open(folder, 2)
        assert (folder / log.name).stat().st_size == size, "left as it was found"


def test_a_page_that_nothing_uses_is_checked_too(tmp_path: Path) -> None:
    """Damage is found when a journal is taken up, not when it is written on later."""
    filled(tmp_path)
    path = tmp_path / JOURNAL_NAME
    data = bytearray(path.read_bytes())
    # The first page of a table with rows: its count of cells.
    place = next(
        start for start in range(4_096, len(data), 4_096) if data[start] == 0x0D and data[start + 4]
    )
    data[place + 4] -= 1
    path.write_bytes(data)
    with pytest.raises(DamagedRecordError):
        JournalFile.open(tmp_path, 2)


def test_a_journal_says_since_when_it_holds_every_call(tmp_path: Path) -> None:
    """What came before it is not in it, however often it is opened."""
    JournalFile.create(tmp_path, 4, since=4).close()
    file = JournalFile.open(tmp_path, 5)
    assert (file.since, file.epoch) == (4, 5)
    file.close()
