"""That a drive's ledger in a file is durable, refuses damage by the line, and is read live."""

from __future__ import annotations

import asyncio
import hashlib
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.support.drive_lines import ASKED, RUN, closing, opening, script, turn

from perdure.base.errors import DamagedRecordError, HeldError, StaleWriterError, StorageError
from perdure.records.drive import Completion, EndCause, RunFrozen
from perdure.trace.drive_file import DRIVE_NAME, DriveFile
from perdure.trace.drive_ledger import DriveLedger
from perdure.trace.drive_reader import DriveReader
from perdure.trace.schema import DRIVE, PARTITION


def written(folder: Path, turns: int = 2) -> Path:
    """Write a whole ledger and close it; give its file."""
    ledger = DriveFile.create(folder, ASKED)
    for lines, blobs in script(turns):
        ledger.append(lines, blobs)
    assert ledger.finish()
    ledger.close()
    return folder / DRIVE_NAME


def test_its_chain_is_what_the_page_on_the_format_says(tmp_path: Path) -> None:
    """The hashes follow from the stored bytes with nothing but SHA-256 and the page's words."""
    connection = apsw.Connection(str(written(tmp_path)), flags=apsw.SQLITE_OPEN_READONLY)
    rows: list[Any] = connection.execute("SELECT payload FROM asked").fetchall()
    asked = rows[0][0]
    chain = hashlib.sha256(b"perdure-drive-1\0" + hashlib.sha256(asked).digest()).digest()
    lines: list[Any] = connection.execute("SELECT * FROM lines ORDER BY seq").fetchall()
    for seq, run, kind, payload, stored in lines:
        prefix = struct.pack(">qII", seq, len(run.encode()), len(kind.encode()))
        framed = chain + prefix + run.encode() + kind.encode() + payload
        chain = hashlib.sha256(framed).digest()
        assert chain == stored
    assert connection.execute("SELECT chain FROM head").fetchall() == [(chain,)]
    blobs: list[Any] = connection.execute("SELECT sha256, bytes FROM blobs").fetchall()
    for name, data in blobs:
        assert hashlib.sha256(data).digest() == name
    assert connection.pragma("application_id") == DRIVE.application_id
    connection.close()


def test_a_flipped_byte_names_its_line(tmp_path: Path) -> None:
    """One bit in any column of any line, or in bytes that it cites, and that line is named."""
    path = written(tmp_path, turns=1)
    good = path.read_bytes()
    with DriveReader.open(tmp_path) as reader:
        count = reader.head.seq + 1
    for seq in range(count):
        for change in (
            "payload = CAST(substr(payload, 1, length(payload) - 1) || x'7e' AS BLOB)",
            "payload = x''",
            "run = run || 'x'",
            "kind = 'model_called_'",
            "hash = zeroblob(32)",
        ):
            connection = apsw.Connection(str(path))
            connection.execute(f"UPDATE lines SET {change} WHERE seq = ?", (seq,))
            connection.close()
            with pytest.raises(DamagedRecordError) as caught:
                DriveFile.open(tmp_path)
            assert caught.value.where == f"{path}: line {seq}", change
            assert caught.value.exit_status == 74
            with DriveReader.open(tmp_path) as reader, pytest.raises(DamagedRecordError) as again:
                reader.verify()
            assert again.value.where == caught.value.where
            path.write_bytes(good)
    DriveFile.open(tmp_path).close()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("DELETE FROM lines WHERE seq = 3", 3),
        ("DELETE FROM lines WHERE seq = (SELECT max(seq) FROM lines)", 14),
        ("UPDATE head SET seq = seq + 1", 15),
        ("UPDATE head SET chain = zeroblob(32)", 15),
        ("UPDATE asked SET payload = CAST(replace(payload, 'Tidy', 'Titi') AS BLOB)", 0),
        ("UPDATE blobs SET bytes = CAST(bytes || x'00' AS BLOB)", 1),
        ("DELETE FROM blobs", 1),
    ],
)
def test_what_is_missing_or_exchanged_is_named(tmp_path: Path, change: str, line: int) -> None:
    """A line that is gone, a head that lies, another task, other bytes: found where it is."""
    path = written(tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute(change)
    connection.close()
    with pytest.raises(DamagedRecordError) as caught:
        DriveFile.open(tmp_path)
    assert caught.value.where == f"{path}: line {line}"


def test_bytes_that_no_line_cites_are_checked_by_verify(tmp_path: Path) -> None:
    """Whatever is kept under a hash has it."""
    path = written(tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO blobs VALUES (zeroblob(32), x'00')")
    connection.close()
    with DriveReader.open(tmp_path) as reader:
        assert len(list(reader.lines())) == 15
        with pytest.raises(DamagedRecordError, match="another hash"):
            reader.verify()


def test_every_commit_is_synced(tmp_path: Path) -> None:
    """P1: the connection that writes is at EXTRA, in WAL, and never at less."""
    ledger = DriveFile.create(tmp_path, ASKED)
    assert ledger._database.fetch("PRAGMA synchronous") == [(3,)]
    assert ledger._database.fetch("PRAGMA journal_mode") == [("wal",)]
    ledger.close()


def test_a_ledger_is_born_once(tmp_path: Path) -> None:
    """A ledger is never written over, and a folder without one is no empty one."""
    with pytest.raises(DamagedRecordError):
        DriveFile.open(tmp_path)
    written(tmp_path)
    with pytest.raises(HeldError):
        DriveFile.create(tmp_path, ASKED)
    assert [path.name for path in tmp_path.iterdir()] == [DRIVE_NAME]


def test_another_database_is_refused(tmp_path: Path) -> None:
    """A file with another mark is no ledger."""
    path = written(tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA application_id = {PARTITION.application_id}")
    connection.close()
    with pytest.raises(DamagedRecordError, match="not a"):
        DriveFile.open(tmp_path)


def test_a_live_ledger_is_read_as_of_one_moment(tmp_path: Path) -> None:
    """A reader that has begun sees the lines of its beginning, whatever is appended meanwhile."""
    ledger = DriveFile.create(tmp_path, ASKED)
    ledger.append(*opening())
    with DriveReader.open(tmp_path) as reader:
        reading = reader.lines()
        first = next(reading)
        for append in turn(0):
            ledger.append(*append)
        assert [one.seq for one in (first, *reading)] == [0, 1]
        assert [one.seq for one in reader.lines()] == list(range(7))
    ledger.close()


def test_a_writer_that_was_replaced_changes_nothing(tmp_path: Path) -> None:
    """P7: of two writers the later one writes; the bytes of the other are nowhere."""
    old = DriveFile.create(tmp_path, ASKED)
    new = DriveFile.open(tmp_path)
    new.append(*opening())
    with pytest.raises(StaleWriterError):
        old.append(*closing())
    assert old.head.seq == -1
    old.close()
    new.append(*closing())
    new.close()
    with DriveReader.open(tmp_path) as reader:
        assert reader.verify().seq == 4


def test_a_closed_ledger_cannot_be_written(tmp_path: Path) -> None:
    """What is closed is closed, with one of our errors."""
    ledger = DriveFile.create(tmp_path, ASKED)
    ledger.close()
    with pytest.raises(StorageError):
        ledger.append(*opening())


def test_a_cancelled_append_has_ended(tmp_path: Path) -> None:
    """Who is cancelled while lines are written leaves all of them or none, and the next follow."""

    async def check() -> None:
        ledger = await DriveLedger.create(tmp_path, ASKED)
        task = asyncio.create_task(ledger.append(*opening()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if ledger.head.seq < 0:
            await ledger.append(*opening())
        await ledger.append(*closing())
        assert ledger.head.seq == 4
        await ledger.close()

    asyncio.run(check())


def test_an_end_cites_an_answer_of_its_own_drive(tmp_path: Path) -> None:
    """A chain that holds, and an end that cites what shows nothing: the line is named by both."""
    script = Path(__file__).resolve().parents[2] / "docs" / "drive_check.py"

    def checked(folder: Path, *ends: RunFrozen) -> tuple[str, str]:
        folder.mkdir()
        ledger = DriveFile.create(folder, ASKED)
        for lines, blobs in (opening(), *turn(0), opening("other"), *turn(0, "other")):
            ledger.append(lines, blobs)
        ledger.append(ends, {})
        ledger.close()
        ended = subprocess.run(
            [sys.executable, "-I", script, folder], capture_output=True, text=True, check=False
        )
        with DriveReader.open(folder) as reader:
            try:
                reader.verify()
            except DamagedRecordError as error:
                return error.wrong, ended.stderr.strip()
        return "", ended.stderr.strip()

    def end(evidence: tuple[int, ...], run: str = RUN) -> RunFrozen:
        cause = EndCause.CONCLUDED
        done = Completion.DONE
        return RunFrozen(run=run, t=1, completion=done, cause=cause, turns=1, evidence=evidence)

    # Each drive's own line 4 is its reply.
    assert checked(tmp_path / "good", end((4,)), end((4,), "other")) == ("", "")
    for number in (3, 7, -1):
        ours, script_s = checked(tmp_path / str(number), end((4,)), end((number,), "other"))
        wrong = f"Line 15: it cites line {number} of its drive, which is no answer."
        assert ours == wrong
        assert script_s == "line 15: what it cites is no answer"
    ours, _ = checked(tmp_path / "none", end(()))
    assert ours == "Line 14: it ends as done and cites 0 lines for it."
