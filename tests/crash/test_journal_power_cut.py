"""P1, P3 under power cuts and failing disks: what the journal acknowledged is there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

import apsw
import pytest
from tests.crash.journal_workloads import Fact, Life, closed_in, require_kept, told
from tests.crash.powercut import Recorder, State, states
from tests.crash.tap import Tap
from tests.crash.telling import tell
from tests.crash.test_io_errors import FAILURES, Failing
from tests.crash.test_power_cut import SHARED, Count, planted_normal, planted_off, record
from tests.support.calls import WORLD

from perdure.base.errors import (
    EXIT_STOPPED,
    EXIT_STORAGE,
    PerdureError,
    StorageError,
    StorageFullError,
)
from perdure.trace import opening
from perdure.trace.database import Database
from perdure.trace.journal_file import JOURNAL_NAME, Change, JournalFile

FULL = os.environ.get("PERDURE_CRASH") == "full"
STRIDE = 1 if FULL else 4
WORK = ("settle", "both", "large", "next", "checkpoint", "both", "reopen", "settle", "next")

pytestmark = pytest.mark.timeout(3_600 if FULL else 300)


def live(root: Path, recorder: Recorder) -> None:
    """Live through a journal: birth, calls, a checkpoint, a new life, closings, an end."""
    acked: list[Fact] = []

    def ack(one: Fact) -> None:
        acked.append(one)
        recorder.ack(tuple(acked))

    life = Life(JournalFile.create(root, 1), root, ack)
    life.begin()
    for operation in WORK * (3 if FULL else 1):
        life.perform(operation)
    life.file.finish()
    life.file.close()


def count(found: Iterable[State], *, stop_at_loss: bool = False) -> Count:
    """Open every state as the program would after the cut, and count what is lost."""
    tried = lost = 0
    first = ""
    for state in found:
        with tempfile.TemporaryDirectory(dir=SHARED) as folder:
            root = Path(folder)
            for path, data in state.files.items():
                (root / path).parent.mkdir(exist_ok=True)
                (root / path).write_bytes(data)
            tried += 1
            try:
                look(root, state.acked or ())
            except PerdureError as error:
                lost += 1
                first = first or f"{state.how}: {error}"
        if lost and stop_at_loss:
            break
    return Count(tried, lost, first)


def look(root: Path, acked: Sequence[Fact]) -> None:
    """Take a journal up: all that was acknowledged is there, and it can be gone on with."""
    if not acked and not (root / JOURNAL_NAME).exists():
        JournalFile.create(root, 1).close()
        return
    file = JournalFile.open(root, 9)
    try:
        require_kept(file, known(file, acked))
        Life(file, root, lambda _: None).begin()
    finally:
        file.close()


def known(file: JournalFile, acked: Sequence[Fact]) -> list[Fact]:
    """Add the closings that a later deletion has made invisible: they were acknowledged."""
    return [*acked, *closed_in(file)]


def test_nothing_acknowledged_is_lost_in_a_power_cut(record_property) -> None:
    """P1, P3: openings, intents, replies and closings survive every modelled power cut."""
    counted = count(islice(states(record(live)), 0, None, STRIDE))
    tell(f"power cuts of the journal: {counted.states} states, lost: {counted.lost}")
    record_property("states", counted.states)
    assert counted.lost == 0, counted.first
    assert counted.states >= (1_000 if FULL else 150)


@pytest.mark.parametrize("plant", [planted_off, planted_normal])
def test_the_model_catches_a_journal_that_is_not_durable(
    plant: Callable[[Database], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: with less durability, the same suite finds losses."""
    monkeypatch.setattr(opening, "make_durable", plant)
    changes = record(live)
    monkeypatch.undo()
    assert count(states(changes), stop_at_loss=True).lost > 0


def test_the_model_catches_an_early_acknowledgement() -> None:
    """Control: a reply that is acknowledged before its commit is found missing."""
    real = JournalFile.write

    def early(root: Path, recorder: Recorder) -> None:
        acked: list[Fact] = []

        def write(self: JournalFile, changes: Sequence[Change]) -> None:
            acked.extend(told(one) for one in changes)
            recorder.ack(tuple(acked))
            real(self, changes)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(JournalFile, "write", write)
            life = Life(JournalFile.create(root, 1), root, lambda _: None)
            life.begin()
            life.perform("settle")
            life.file.close()

    assert count(states(record(early)), stop_at_loss=True).lost > 0


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
def test_the_nth_failure_loses_nothing(kind: str, for_good: bool) -> None:  # noqa: FBT001
    """P1, P9: each call in turn fails; the journal says so, and its successor finds it all."""
    place = loud = 0
    while True:
        place += 1
        with tempfile.TemporaryDirectory(dir=SHARED) as found:
            folder = Path(found)
            acked: list[Fact] = []
            failing = Failing(kind, place, for_good=for_good)
            failures = fail(folder, failing, acked)
            if not failing.failed:
                break
            loud += len(failures)
            assert all(error.exit_status in {EXIT_STORAGE, EXIT_STOPPED} for error in failures)
            look(folder, acked)
    assert place > 2
    assert loud > 0 or kind == "delete"


def fail(folder: Path, failing: Failing, acked: list[Fact]) -> list[StorageError]:
    """Live on a disk that fails; give what was said of it."""
    tap = Tap(failing)
    try:
        life = Life(JournalFile.create(folder, 1), folder, acked.append)
        life.begin()
        for operation in WORK:
            life.perform(operation)
        life.file.finish()
    except StorageError as error:
        return [error]
    finally:
        tap.unregister()
    return []


def test_a_full_disk_leaves_nothing_half_done(tmp_path: Path) -> None:
    """P9: without room a group is not there at all; the same journal goes on when there is some."""
    acked: list[Fact] = []
    full = [False]

    def tell_of(kind: str, path: str, detail: object) -> None:
        if kind == "write" and full[0]:
            raise apsw.FullError

    tap = Tap(tell_of)
    try:
        life = Life(JournalFile.create(tmp_path, 1), tmp_path, acked.append)
        life.begin()
        before = life.file.read(life.slot)
        full[0] = True
        for operation in ("intend", "intend"):
            with pytest.raises(StorageFullError):
                life.perform(operation)
        full[0] = False
        assert life.file.read(life.slot) == before
        life.perform("both")
        life.perform("settle")
        life.file.close()
    finally:
        tap.unregister()
    file = JournalFile.open(tmp_path, 2)
    require_kept(file, acked)
    assert len(file.read(file.slots[WORLD, 11]).calls) == 6
    file.close()
