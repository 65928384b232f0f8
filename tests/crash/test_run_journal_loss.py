"""P3 and P4 without a journal: a run whose call journal is gone or damaged comes to the same end.

Real runs are killed at their crash points, and their journal is then removed, overwritten, cut,
changed by a bit, or taken from another run. It is read as it was written, or set aside: then what
may have been lost is recorded once, however often the next sittings are killed, and counted.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGKILL

import pytest
from tests.crash.small_disk import FOLDER, small_disk
from tests.crash.telling import tell
from tests.crash.test_run_full_disk import BIG, Counting, Runs
from tests.support.street_study import write_street

from perdure.base.chance import Stream
from perdure.base.errors import (
    EXIT_DONE,
    EXIT_PAUSED,
    EXIT_STOPPED,
    EXIT_STORAGE,
    DamagedRecordError,
)
from perdure.records.registry import JournalLost, TickDiscarded
from perdure.trace.journal_file import JOURNAL_NAME, JournalFile
from perdure.trace.reader import RunReader
from perdure.trace.stop_request import ask_to_stop, is_asked_to_stop

FULL = os.environ.get("PERDURE_CRASH") == "full"
FLIPS = 20_000 if FULL else 300
FLIPPED_RUNS = 60 if FULL else 3
CUTS = 400 if FULL else 25
CUT_RUNS = 40 if FULL else 2
NOTE_NAME = f"{JOURNAL_NAME}-head"
LOG_NAME = f"{JOURNAL_NAME}-wal"
# Where a sitting that puts a new journal in the place of a lost one is killed.
ON_THE_WAY = ("journal.set-aside", "journal.begun", "journal.noted", "tick.opened:2")
# In the middle of its second ticks the run has ticks open, replies kept and calls in flight.
KILL_AT = "call.settled:100"

pytestmark = pytest.mark.timeout(3_600 if FULL else 300)


Damages = Callable[[Runs, "Left", int], Iterator[tuple[str, int]]]


class Left:
    """A run that was killed: how it stood, and what its journal held."""

    def __init__(self, runs: Runs, name: str) -> None:
        self.name = name
        standing = runs.ask("status").document
        amount, closed = int(standing["cost"]), int(standing["ticks_closed"])
        # What each of its open ticks is taken to have cost: the mean of those noted as closed.
        self.estimate = -(-amount // closed)
        # Which may be open is told by the records: a tick may be there that was not noted any more.
        with RunReader.open(runs.disk.run) as reader:
            heads = [(world.horizon, reader.head(world.world_id)) for world in reader.worlds]
        self.live = sum(head is not None and head.tick < horizon - 1 for horizon, head in heads)
        self.folder = runs.disk.put_away(name)
        self.asked = Counter(runs.asked)

    def put_back(self, runs: Runs) -> None:
        """Leave the run again as it was left."""
        runs.disk.new(BIG)
        runs.disk.take_out(self.name)
        runs.forget(self.asked)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Make the run that is never disturbed, once for all tests."""
    place = tmp_path_factory.mktemp("place")
    with Counting() as server:
        study = write_street(place / "study", server.base_url)
        with small_disk(study, place, FOLDER) as disk:
            yield Runs(disk, server, study)


@pytest.fixture
def runs(shared: Runs) -> Runs:
    """Give a folder in which the run came to its end undisturbed."""
    return shared.anew()


@pytest.fixture
def left(runs: Runs) -> Left:
    """Give the run as a kill left it, put away."""
    runs.disk.new(BIG)
    runs.forget()
    assert runs.run(crash_at=KILL_AT).status == -SIGKILL
    return Left(runs, "left")


def taken_up(runs: Runs, *kills: str) -> str:
    """Continue what was left and killed on the way to its end; give all that it said beside it."""
    said = ""
    for kill in kills:
        ended = runs.run(crash_at=kill)
        assert ended.status == -SIGKILL, (kill, ended)
        said += ended.err
    ended = runs.run()
    assert ended.status == EXIT_DONE, ended
    assert runs.digests_of(ended) == runs.digests
    verified, ledger = runs.ask("verify"), runs.ask("ledger")
    assert verified.status == ledger.status == EXIT_DONE
    result, found = ended.document["result"], ledger.document
    assert result["cost"] == found["total"]["amount"] + found["outside"]["amount"]
    assert result["unknown_costs"] == found["total"]["unknown"] + found["outside"]["unknown"]
    return said + ended.err


def lost(runs: Runs, left: Left, *, file: bool, epoch: int = 2) -> None:
    """Check that the loss of the journal is recorded, once, and counted wherever costs are."""
    with RunReader.open(runs.disk.run) as reader:
        log = reader.log
    (row,) = (row for row in log if isinstance(row, JournalLost))
    kept = runs.disk.run / row.file
    assert (row.epoch, bool(row.file)) == (epoch, file)
    assert kept.exists() or not file
    discarded = [row for row in log if isinstance(row, TickDiscarded) and row.journal_lost]
    assert len({(row.world_id, row.tick) for row in discarded}) == len(discarded) == left.live
    assert {(row.epoch, row.estimate) for row in discarded} == {(epoch - 1, left.estimate)}
    for command in ("ledger", "status", "report"):
        document = runs.ask(command).document
        beside = (document["cost"] if command == "report" else document)["outside"]
        (part,) = (part for part in beside["parts"] if part["kind"] == "estimated")
        assert (part["count"], part["amount"]) == (left.live, left.live * left.estimate)
    (told,) = runs.ask("verify").document["journal_losses"]
    assert (told["ticks"], told["lost"]["file"]) == (left.live, row.file)


def not_lost(runs: Runs, said: str) -> None:
    """Check that no loss of a journal is recorded anywhere."""
    with RunReader.open(runs.disk.run) as reader:
        assert not any(isinstance(row, JournalLost) for row in reader.log)
    assert "call journal" not in said
    assert not list(runs.disk.run.glob("calls.db.damaged*"))


def remove(folder: Path) -> None:
    """Remove the journal, its log and its note."""
    for path in folder.glob(f"{JOURNAL_NAME}*"):
        path.unlink()


def remove_file_alone(folder: Path) -> None:
    """Remove the file, and leave what lies beside it."""
    (folder / JOURNAL_NAME).unlink()


def remove_log(folder: Path) -> None:
    """Remove the log: what is left is sound, and holds nothing of the last ticks."""
    (folder / LOG_NAME).unlink()


def overwrite(folder: Path) -> None:
    """Put something else in the journal's place."""
    (folder / JOURNAL_NAME).write_bytes(b"This is no database. " * 1_000)


def empty(folder: Path) -> None:
    """Leave a journal of no bytes."""
    (folder / JOURNAL_NAME).write_bytes(b"")


def link(folder: Path) -> None:
    """Put a link in the journal's place."""
    (folder / JOURNAL_NAME).rename(folder / "elsewhere.db")
    (folder / JOURNAL_NAME).symlink_to(folder / "elsewhere.db")


def make_folder(folder: Path) -> None:
    """Put a folder in the journal's place."""
    remove(folder)
    (folder / JOURNAL_NAME).mkdir()


DAMAGES: dict[str, tuple[Callable[[Path], None], bool]] = {
    "missing": (remove, False),
    "missing, its log is there": (remove_file_alone, False),
    "without its log": (remove_log, True),
    "overwritten": (overwrite, True),
    "empty": (empty, True),
    "a link": (link, True),
    "a folder": (make_folder, True),
}
KILLED = DAMAGES if FULL else ("missing",)


def test_a_lost_journal_costs_money_and_no_result(runs: Runs, left: Left) -> None:
    """The run ends with the undisturbed digests; the loss is counted once, kills or not."""
    lives = 0
    for name, (break_it, is_kept) in DAMAGES.items():
        ways: list[tuple[str, ...]] = [()]
        if name in KILLED:
            ways.append(ON_THE_WAY)
        if FULL:
            ways += [(one,) for one in ON_THE_WAY] + [(one, one) for one in ON_THE_WAY]
        for kills in ways:
            left.put_back(runs)
            break_it(runs.disk.run)
            told = runs.ask("status")
            assert told.status == EXIT_DONE, (name, told)
            assert told.document["state"] == "interrupted"
            assert bool(told.document["outside"]["journal_fault"]) == is_kept, told
            said = taken_up(runs, *kills)
            # Killed before the new journal is there, the next sitting begins one of its own.
            early = kills.count(ON_THE_WAY[0])
            lost(runs, left, file=is_kept, epoch=2 + early)
            # Killed between the record and the word for people, only the record says it.
            assert said.count("may have been open then") == (ON_THE_WAY[2] not in kills)
            lives += 1 + len(kills)
    tell(f"lost journals: {lives} lives, {left.live} ticks at {left.estimate} nano-units each")


def test_another_runs_journal_is_never_used(runs: Runs, left: Left) -> None:
    """The journal of another run of the same study, whose calls have the same names, is no use."""
    runs.disk.new(BIG)
    assert runs.run(crash_at="call.settled:110").status == -SIGKILL
    runs.disk.put_away("other")
    left.put_back(runs)
    remove(runs.disk.run)
    for path in left.folder.with_name("other").glob(f"{JOURNAL_NAME}*"):
        shutil.copy(path, runs.disk.run)
    assert "another run" in taken_up(runs)
    lost(runs, left, file=True)


def test_an_older_copy_of_the_journal_is_never_used(runs: Runs, left: Left) -> None:
    """A journal that was put back to what it held earlier is not taken for the whole of it."""
    runs.disk.new(BIG)
    runs.forget()
    assert runs.run(crash_at="call.settled:90").status == -SIGKILL
    runs.disk.put_away("older")
    assert runs.run(crash_at="call.settled:20").status == -SIGKILL
    later = Left(runs, "later")
    for path in later.folder.with_name("older").glob(f"{JOURNAL_NAME}*"):
        if path.name != NOTE_NAME:
            shutil.copy(path, runs.disk.run)
    assert "has lost its end" in taken_up(runs)
    lost(runs, later, file=True, epoch=3)


def cuts(runs: Runs, left: Left, count: int) -> Iterator[tuple[str, int]]:
    """Cut a file of the journal at places spread over it, again and again."""
    places = Stream("0" * 16, 0, "cut", "calls")
    for number in range(count):
        left.put_back(runs)
        path = runs.disk.run / (JOURNAL_NAME, LOG_NAME)[number % 2]
        size = places.below(path.stat().st_size)
        os.truncate(path, size)
        yield path.name, size


def flips(runs: Runs, left: Left, count: int) -> Iterator[tuple[str, int]]:
    """Flip a bit of a file of the journal, at places spread over them, again and again."""
    places = Stream("0" * 16, 0, "flip", "calls")
    for number in range(count):
        left.put_back(runs)
        path = runs.disk.run / (JOURNAL_NAME, LOG_NAME, LOG_NAME, NOTE_NAME)[number % 4]
        data = bytearray(path.read_bytes())
        place = places.below(len(data) * 8)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        yield path.name, place


@pytest.mark.parametrize(("damages", "count"), [(cuts, CUT_RUNS), (flips, FLIPPED_RUNS)])
def test_a_damaged_journal_is_used_as_it_was_or_not_at_all(
    runs: Runs, left: Left, damages: Damages, count: int
) -> None:
    """Whatever is cut off or flipped: nothing is asked again, or the loss is on record."""
    found: Counter[bool] = Counter()
    for damage in damages(runs, left, count):
        said = taken_up(runs)
        with RunReader.open(runs.disk.run) as reader:
            is_lost = any(isinstance(row, JournalLost) for row in reader.log)
        found[is_lost] += 1
        if is_lost:
            lost(runs, left, file=True)
            continue
        not_lost(runs, said)
        # What was in flight is asked once more, and no finished call.
        again = (runs.asked - runs.once).total()
        parts = runs.ask("ledger").document["outside"]["parts"]
        assert again <= sum(part["count"] for part in parts if part["kind"] == "lost"), damage
    tell(f"runs with a damaged journal: {found.total()}, of them set aside: {found[True]}")


@pytest.mark.parametrize(("damages", "count"), [(cuts, CUTS), (flips, FLIPS)])
def test_a_damaged_journal_is_read_as_it_was_or_refused(
    runs: Runs, left: Left, damages: Damages, count: int
) -> None:
    """Many more of them, with the file alone: never a shorter or another journal."""
    left.put_back(runs)
    whole = read_all(runs.disk.run)
    assert whole
    refused = 0
    for damage in damages(runs, left, count):
        try:
            assert read_all(runs.disk.run) == whole, damage
        except DamagedRecordError:
            refused += 1
    tell(f"damages of a journal: {count}, refused: {refused}, read as another: 0")
    assert refused > count // 5


def test_a_journal_without_its_note_is_found_shorter_by_nobody(runs: Runs, left: Left) -> None:
    """Control: it is the note that finds a log without its end; else calls are paid for twice."""
    left.put_back(runs)
    (runs.disk.run / NOTE_NAME).unlink()
    remove_log(runs.disk.run)
    not_lost(runs, taken_up(runs))
    parts = runs.ask("ledger").document["outside"]["parts"]
    again = (runs.asked - runs.once).total()
    assert again > sum(part["count"] for part in parts if part["kind"] == "lost")


def test_nothing_is_lost_with_the_journal_of_a_clean_pause(runs: Runs) -> None:
    """After a pause that left no tick open a missing journal is nothing to speak of."""
    runs.disk.new(BIG)
    runs.forget()

    def ask() -> None:
        ask_to_stop(runs.disk.run)
        # Nobody is answered before the run has taken the request.
        while is_asked_to_stop(runs.disk.run):
            time.sleep(0.01)  # noqa: TID251 - a real process is waited for

    runs.after(60, ask)
    assert runs.run().status == EXIT_STOPPED
    remove(runs.disk.run)
    assert not runs.ask("status").document["outside"]["open"]
    not_lost(runs, taken_up(runs))
    assert runs.asked == runs.once


def test_what_a_pause_leaves_open_is_lost_with_the_journal(runs: Runs) -> None:
    """Where a pause cut ticks short, their calls are in the journal: gone with it, and counted."""
    runs.disk.new(BIG)
    runs.forget()
    runs.fail_from(100, "status_402")
    assert runs.run().status == EXIT_PAUSED
    runs.fail_from(0, "")
    left = Left(runs, "left")
    left.put_back(runs)
    remove(runs.disk.run)
    assert runs.ask("status").document["outside"]["open"]
    taken_up(runs)
    lost(runs, left, file=False)


def test_a_journal_that_is_damaged_under_a_run_stops_it_at_most_once(runs: Runs) -> None:
    """Whether the run notices or not: what it says is typed, and the next sitting ends it."""
    statuses = set()
    for calls in range(20, 161, 20 if FULL else 70):
        runs.disk.new(BIG)
        runs.forget()
        runs.after(calls, lambda: overwrite(runs.disk.run))
        statuses.add(runs.run().status)
        taken_up(runs)
    assert statuses <= {EXIT_DONE, EXIT_STORAGE}


def test_each_lost_journal_is_counted(runs: Runs, left: Left) -> None:
    """Two journals, lost one after the other, are two losses."""
    left.put_back(runs)
    remove(runs.disk.run)
    assert runs.run(crash_at="call.settled:30").status == -SIGKILL
    remove(runs.disk.run)
    taken_up(runs)
    losses = runs.ask("verify").document["journal_losses"]
    assert [loss["lost"]["epoch"] for loss in losses] == [2, 3]
    assert all(loss["ticks"] for loss in losses)


def test_the_journal_of_a_finished_run_is_of_no_use_to_anybody(runs: Runs) -> None:
    """A run that came to its end is sound and complete whatever its journal has become."""
    overwrite(runs.disk.run)
    for command in ("status", "verify", "ledger", "report", "export"):
        assert runs.ask(command).status == EXIT_DONE
    not_lost(runs, taken_up(runs))


def read_all(folder: Path) -> list[object]:
    """Take a journal up, and give everything that its open ticks hold."""
    with RunReader.open(folder) as reader:
        run = reader.entry.run_id
    file = JournalFile.open(folder, 2, run=run)
    try:
        return [file.read(slot) for slot in file.slots.values()]
    finally:
        file.close()
