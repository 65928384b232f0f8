"""P1 under power cuts: whatever of the unsynced a disk keeps, nothing acknowledged is lost."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.crash.powercut import Change, Recorder, State, states
from tests.crash.telling import tell
from tests.crash.workloads import HORIZON, born
from tests.support.runs import (
    HELD_OUT,
    NO_LOG,
    PERSONAS,
    WORLDS,
    entry,
    full_batch,
    header,
    pause_batch,
    small_batch,
    world_entry,
)

from perdure.base.canonical import encode
from perdure.base.errors import PerdureError
from perdure.records.events import Batch, Head
from perdure.records.registry import RunPaused
from perdure.trace import files, opening
from perdure.trace.database import Database
from perdure.trace.partition_file import PartitionFile
from perdure.trace.registry_file import REGISTRY_NAME, RegistryFile
from perdure.trace.schema import FORMAT, PARTITION
from perdure.trace.sealing import first_head, seal

FULL = os.environ.get("PERDURE_CRASH") == "full"
SHARED = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
TICKS = 150 if FULL else 6
# A state in this many is tried, at quick size.
STRIDE = 1 if FULL else 2
NAME = f"{WORLDS[0]}.db"

pytestmark = pytest.mark.timeout(3_600 if FULL else 300)


class Promise(NamedTuple):
    """What had been acknowledged at a moment: the ends of partition, witness and run log."""

    seq: int = -2
    chain: str = ""
    witness: int = -2
    log: int = -1


class Count(NamedTuple):
    """How many states were tried, and in how many of them something was lost."""

    states: int
    lost: int
    first: str


def record(work: Callable[[Path, Recorder], None]) -> list[Change]:
    """Do some work and give everything that it did to the disk, in order."""
    with tempfile.TemporaryDirectory(dir=SHARED) as folder:
        root = Path(folder)
        (root / "worlds").mkdir()
        with Recorder() as recorder:
            work(root, recorder)
    return [change.under(root) for change in recorder.changes]


def count(found: Iterable[State], *, stop_at_loss: bool = False) -> Count:
    """Open every state as the program would after the cut, and count what is lost."""
    tried = lost = 0
    first = ""
    for state in found:
        with tempfile.TemporaryDirectory(dir=SHARED) as folder:
            root = Path(folder)
            (root / "worlds").mkdir()
            for path, data in state.files.items():
                (root / path).write_bytes(data)
            tried += 1
            try:
                wrong = missing(root, state.acked or Promise())
            except PerdureError as error:
                wrong = str(error)
        if wrong:
            lost += 1
            first = first or f"{state.how}: {wrong}"
            if stop_at_loss:
                break
    return Count(tried, lost, first)


def missing(root: Path, promised: Promise) -> str:
    """Say what of the acknowledged is not there, if anything is."""
    witness: Head | None = None
    if promised.log >= 0 or (root / REGISTRY_NAME).exists():
        registry = RegistryFile.open(root)
        registry.close()
        witness = registry.witnesses[WORLDS[0]]
        if registry.log_head.seq - 1 < promised.log:
            return f"the run log ends at {registry.log_head.seq - 1}, not {promised.log}"
        if (witness.seq if witness else -2) < promised.witness:
            return f"the witness is {witness}, not {promised.witness}"
    path = root / "worlds" / NAME
    if not path.exists() and promised.seq == -2 and witness is None:
        return "" if born(root / "worlds").head.seq == -1 else "a birth cannot be repeated"
    partition = PartitionFile.open(path, 9, witness)
    rows = partition._database.fetch("SELECT hash FROM events WHERE seq = ?", (promised.seq,))
    partition.close()
    if promised.seq >= 0 and [chain.hex() for (chain,) in rows] != [promised.chain]:
        return f"the event {promised.seq} is not there"
    return ""


def live(root: Path, recorder: Recorder) -> None:
    """Live through a whole run: births, ticks, a pause, witnesses, a checkpoint, a new life."""
    registry = RegistryFile.create(
        root,
        entry=entry(),
        worlds=[world_entry(WORLDS[0], HORIZON)],
        personas=PERSONAS,
        held_out=HELD_OUT,
    )
    promise = Promise(log=registry.log_head.seq)
    recorder.ack(promise)
    partition = born(root / "worlds")
    promise = promise._replace(seq=-1)
    recorder.ack(promise)
    for tick in range(TICKS):
        promise = _tick(registry, partition, promise, recorder, large=tick % 3 == 1)
        if tick == TICKS // 2:
            partition._database.empty_log()
            batch = pause_batch(partition.head)
            promise = _append(registry, partition, promise, recorder, batch)
    assert partition.finish()
    partition.close()
    partition = PartitionFile.open(root / "worlds" / NAME, 1)
    promise = _tick(registry, partition, promise, recorder, large=False)
    registry.log(RunPaused(cause="asked", exit_status=75))
    recorder.ack(promise._replace(log=registry.log_head.seq))
    partition.close()
    assert registry.finish()
    registry.close()


def _tick(
    registry: RegistryFile,
    partition: PartitionFile,
    promise: Promise,
    recorder: Recorder,
    *,
    large: bool,
) -> Promise:
    batch = full_batch(partition.head, HORIZON) if large else small_batch(partition.head)
    return _append(registry, partition, promise, recorder, batch)


def _append(
    registry: RegistryFile,
    partition: PartitionFile,
    promise: Promise,
    recorder: Recorder,
    batch: Batch,
) -> Promise:
    head = partition.append(batch, epoch=1, log_head=registry.log_head)
    promise = promise._replace(seq=head.seq, chain=head.chain)
    recorder.ack(promise)
    registry.witness({WORLDS[0]: head})
    promise = promise._replace(witness=head.seq)
    recorder.ack(promise)
    return promise


def test_nothing_acknowledged_is_lost_in_a_power_cut(record_property) -> None:
    """P1: births, ticks, witnesses, checkpoints and ends survive every modelled power cut."""
    counted = count(islice(states(record(live)), 0, None, STRIDE))
    tell(f"power cuts: {counted.states} states, lost: {counted.lost}")
    record_property("states", counted.states)
    assert counted.lost == 0, counted.first
    assert counted.states >= (8_000 if FULL else 400)


def planted_off(database: Database) -> None:
    """Plant: no sync at all."""
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA journal_mode = WAL")


def planted_normal(database: Database) -> None:
    """Plant: syncs at checkpoints only."""
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")


def planted_late_extra(database: Database) -> None:
    """Plant: the right level of durability, set after the file has gone to WAL."""
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = EXTRA")


@pytest.mark.parametrize("plant", [planted_off, planted_normal])
def test_the_model_catches_a_writer_that_is_not_durable(
    plant: Callable[[Database], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: with less durability, the same suite finds losses."""
    monkeypatch.setattr(opening, "make_durable", plant)
    changes = record(live)
    monkeypatch.undo()
    assert count(states(changes), stop_at_loss=True).lost > 0


@pytest.mark.parametrize("late", [True, False])
def test_birth_survives_power_cut(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """Control: EXTRA after WAL loses a file that is written where it was born; before it, none.

    Ours are safe twice over: by the order, and by leaving their temporary name only when closed.
    """
    if late:
        monkeypatch.setattr(opening, "make_durable", planted_late_extra)
    changes = record(_born_in_place)
    monkeypatch.undo()
    promised = (state for state in states(changes) if state.acked)
    assert (count(promised, stop_at_loss=True).lost > 0) is late


def _born_in_place(root: Path, recorder: Recorder) -> None:
    path = root / "worlds" / NAME
    payload = encode(header(horizon=HORIZON))
    head = first_head(payload)
    database = opening.open_new(path)
    with database.transaction():
        database.execute(f"PRAGMA application_id = {PARTITION.application_id}")
        database.execute(f"PRAGMA user_version = {FORMAT}")
        for table in PARTITION.tables:
            database.execute(table)
        database.execute("INSERT INTO header VALUES (1, ?)", (payload,))
        database.execute("INSERT INTO lease VALUES (1, 1)")
        values = (-1, bytes.fromhex(head.chain), 0, bytes.fromhex(head.digest), -1, -1, b"")
        database.execute("INSERT INTO head VALUES (1, ?, ?, ?, ?, ?, ?, ?)", values)
    partition = PartitionFile(database, head, 1)
    for _ in range(2):
        head = partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
        recorder.ack(Promise(seq=head.seq, chain=head.chain))
    partition.close()


def test_the_model_catches_an_early_acknowledgement() -> None:
    """Control: a tick that is acknowledged before its commit is found missing."""

    def early(root: Path, recorder: Recorder) -> None:
        partition = born(root / "worlds")
        for _ in range(3):
            batch = small_batch(partition.head)
            head = seal(partition.head, batch).head
            recorder.ack(Promise(seq=head.seq, chain=head.chain))
            partition.append(batch, epoch=1, log_head=NO_LOG)
        partition.close()

    assert count(states(record(early)), stop_at_loss=True).lost > 0


def test_the_model_catches_a_birth_that_is_not_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: without the syncs of the folder, a partition that was acknowledged has no name."""

    def hasty(root: Path, recorder: Recorder) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(files, "sync_folder", lambda _: None)
            partition = born(root / "worlds")
        recorder.ack(Promise(seq=-1))
        partition.close()

    assert count(states(record(hasty)), stop_at_loss=True).lost > 0


def test_the_recorder_leaves_no_trace_of_itself() -> None:
    """The suite's own ears are gone when they have heard enough."""
    before = files.sync_folder
    record(lambda root, _: born(root / "worlds").close())
    assert files.sync_folder is before
