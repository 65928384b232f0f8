"""Kills a writer at every boundary between SQLite and the disk, and its successor at every one too.

Run as a program, in a process that never opens a database: every writer is a fork of it, which is
safe only because there is nothing open to inherit. Prints its counts as one line of JSON.

    python -m tests.crash.killer [--plant NAME] [--lengths N] [--doubles N] [--stride N]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import signal
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.crash.tap import Tap
from tests.crash.telling import tell
from tests.crash.workloads import HORIZON, NAME, OPERATIONS, append, born, perform, sequences
from tests.support.runs import NO_LOG, header, small_batch

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError, PerdureError
from perdure.records.events import Batch, Head
from perdure.records.registry import LogHead
from perdure.records.scenario import Header
from perdure.trace import guard, partition_file
from perdure.trace.decoding import decode
from perdure.trace.opening import open_reader
from perdure.trace.partition_file import PartitionFile
from perdure.trace.rows import read_head, read_header
from perdure.trace.schema import PARTITION
from perdure.trace.sealing import seal
from perdure.trace.sql_rows import SqlWorld
from perdure.trace.walk import Walker, walked

_ACK = struct.Struct("<q64s")


class Counter:
    """Counts boundaries, and dies before the one it was told."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.count = 0
        self.is_on = True
        self.mark: Callable[[], None] = lambda: None
        self.tap: Tap | None = None  # whoever drops it takes it out of SQLite

    def __call__(self, kind: str, path: str, detail: dict[str, Any]) -> None:
        if kind == "create" or not self.is_on:
            return
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


class Outcome:
    """What a forked writer left: how it ended, what it acknowledged, how many boundaries it met."""

    def __init__(self, said: bytes, status: int) -> None:
        size = _ACK.size
        whole = len(said) // size
        records = [_ACK.unpack_from(said, place * size) for place in range(whole)]
        self.acked = [(seq, chain.decode()) for seq, chain in records if seq >= 0]
        counts = [-seq for seq, _ in records if seq < 0]
        self.boundaries = counts[-1] - 1 if counts else 0
        # Those before the last operation: the sequence without it dies at each of them.
        self.earlier = counts[0] - 1 if counts else 0
        self.killed = os.WIFSIGNALED(status)
        self.failed = os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0


def fork(work: Callable[[Callable[[Head], None], Counter], None], kill_at: int = 0) -> Outcome:
    """Do some work in a fork that dies before a boundary, and hear what it acknowledged."""
    heard, said = os.pipe()
    child = os.fork()  # noqa: TID251 - nothing is open in this process: see the top
    if child == 0:
        os.close(heard)
        _be_child(work, said, kill_at)
    os.close(said)
    parts = []
    while part := os.read(heard, 1 << 16):
        parts.append(part)
    os.close(heard)
    _, status = os.waitpid(child, 0)
    return Outcome(b"".join(parts), status)


def _be_child(
    work: Callable[[Callable[[Head], None], Counter], None], said: int, kill_at: int
) -> None:
    status = 1
    try:
        counter = Counter(kill_at)
        counter.mark = lambda: _say(said, -counter.count - 1, "")
        work(lambda head: _say(said, head.seq, head.chain), counter)
        _say(said, -counter.count - 1, "")
        status = 0
    except PerdureError:
        if os.environ.get("PERDURE_CRASH_SHOW"):
            traceback.print_exc()
    except BaseException:  # noqa: BLE001 - a fork must never return into its parent's code
        traceback.print_exc()
    finally:
        os._exit(status)


def _say(said: int, seq: int, chain: str) -> None:
    os.write(said, _ACK.pack(seq, chain.encode()))


class Suite:
    """Runs workloads, kills them, and checks what is left."""

    def __init__(self, folder: Path, plant: str) -> None:
        self.folder = folder
        self.plant = plant
        self.template = folder / "template"
        self.kills = self.second_kills = self.lost = self.runs = 0
        self.template.mkdir()
        _warm_up()
        assert not fork(lambda _, __: born(self.template).close()).failed

    def run(self, sequence: tuple[str, ...], *, doubles: bool, stride: int) -> None:
        """Kill one workload at every boundary."""
        self.runs += 1
        place = self._fresh()
        whole = fork(lambda ack, counter: self._work(place, sequence, ack, counter))
        assert not whole.failed, sequence
        for kill_at in range(whole.earlier + 1, whole.boundaries + 1):
            place = self._fresh()
            left = self._kill(place, sequence, kill_at)
            if doubles and kill_at % stride == 0:
                self._kill_again(place, left)
            self._check(place, left, f"{sequence} killed at {kill_at}")

    def run_birth(self) -> None:
        """Kill a birth at every boundary: there is never a half of a partition."""
        self.runs += 1
        whole = self._birth(0)
        for kill_at in range(1, whole.boundaries + 1):
            left = self._birth(kill_at)
            self.kills += left.killed
            place = self.folder / "place"
            if (place / NAME).exists():
                self._check(place, left, f"a birth killed at {kill_at}")
            elif left.acked or self._birth(0, again=True).failed:
                self._lose(f"a birth killed at {kill_at} is not there, or cannot be repeated")

    def _birth(self, kill_at: int, *, again: bool = False) -> Outcome:
        place = self.folder / "place" if again else self._empty()
        return fork(lambda ack, counter: _give_birth(place, ack, counter), kill_at)

    def _kill(self, place: Path, sequence: tuple[str, ...], kill_at: int) -> Outcome:
        left = fork(lambda ack, counter: self._work(place, sequence, ack, counter), kill_at)
        self.kills += left.killed
        return left

    def _kill_again(self, place: Path, left: Outcome) -> None:
        kept = place.with_name("kept")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(place, kept)
        tried = place.with_name("tried")
        whole = fork(lambda ack, counter: _recover(kept, left, ack, counter))
        for kill_at in range(1, whole.boundaries + 1):
            shutil.rmtree(tried, ignore_errors=True)
            shutil.copytree(place, tried)
            second = fork(lambda ack, counter: _recover(tried, left, ack, counter), kill_at)
            self.second_kills += second.killed
            left_then = second if second.acked else left
            self._check(tried, left_then, f"killed again at {kill_at}")

    def _check(self, place: Path, left: Outcome, where: str) -> None:
        # Here, and closed again: the next fork inherits nothing.
        try:
            _read(place, left)
            _recover(place, left, lambda _: None, None)
        except PerdureError as error:
            self._lose(f"{where}: {error}")

    def _lose(self, where: str) -> None:
        self.lost += 1
        if self.lost <= 3 and not self.plant:
            sys.stderr.write(f"lost: {where}\n")

    def _work(
        self, place: Path, sequence: tuple[str, ...], ack: Callable[[Head], None], counter: Counter
    ) -> None:
        path = place / NAME
        _sow(self.plant)
        counter.tap = Tap(counter)
        counter.is_on = False  # this first opening is not what is killed here
        partition = PartitionFile.open(path, 1)
        counter.is_on = True
        for place_in, operation in enumerate(sequence):
            if place_in == len(sequence) - 1:
                counter.mark()
            if self.plant == "early-ack" and operation in OPERATIONS[:3]:
                append_acknowledged_early(partition, ack)
            else:
                partition = perform(partition, operation, path, ack)
        partition.close()

    def _fresh(self) -> Path:
        place = self._empty()
        shutil.copyfile(self.template / NAME, place / NAME)
        return place

    def _empty(self) -> Path:
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        return place


def _warm_up() -> None:
    """Pay once here for what every fork would pay: decoders, objects that are never freed."""
    decode(encode(header(horizon=HORIZON)), Header, "")
    guard.release(guard.protect(Path("/dev/null")))
    gc.freeze()
    gc.disable()


def _give_birth(place: Path, ack: Callable[[Head], None], counter: Counter) -> None:
    counter.tap = Tap(counter)
    partition = born(place)
    append(partition, "small", ack)
    partition.close()


def _recover(
    place: Path, left: Outcome, ack: Callable[[Head], None], counter: Counter | None
) -> None:
    """Open what is left as a successor does, and go on: every acknowledged event must be there."""
    if counter is not None:
        counter.tap = Tap(counter)
    partition = PartitionFile.open(place / NAME, 2)
    try:
        rows = partition._database.fetch("SELECT seq, hash FROM events")
        seen = {seq: chain.hex() for seq, chain in rows}
        for seq, chain in left.acked:
            if seen.get(seq) != chain:
                raise DamagedRecordError(f"The acknowledged event {seq} is not there.")
        ack(partition.append(small_batch(partition.head), epoch=2, log_head=NO_LOG))
    finally:
        partition.close()


def _read(place: Path, left: Outcome) -> None:
    """Read what is left before anybody has mended it: every acknowledged event must be there."""
    database = open_reader(place / NAME, PARTITION)
    try:
        rows = SqlWorld(database)
        stored, _ = read_head(rows)
        walker = Walker(Path(NAME).stem, read_header(rows))
        found = walked(walker, rows.rows(stored.seq), stored, None)
        seen = {seq: chain.hex() for seq, *_, chain in found}
    finally:
        database.close()
    for seq, chain in left.acked:
        if seen.get(seq) != chain:
            raise DamagedRecordError(f"A reader does not see the acknowledged event {seq}.")


def append_acknowledged_early(partition: PartitionFile, ack: Callable[[Head], None]) -> None:
    """Acknowledge before the commit: a planted bug."""
    batch = small_batch(partition.head)
    ack(seal(partition.head, batch).head)
    partition.append(batch, epoch=partition.epoch, log_head=NO_LOG)


def _sow(plant: str) -> None:
    if plant == "two-transactions":
        partition_file.PartitionFile.append = _append_in_two  # type: ignore[method-assign]


def _append_in_two(self: PartitionFile, batch: Batch, *, epoch: int, log_head: LogHead) -> Head:
    """Write the last event of a tick in a transaction of its own: a planted bug."""
    sealed = seal(self.head, batch)
    first = sealed._replace(rows=sealed.rows[:-1])
    with self._database.transaction():
        self._write(first, log_head)
    with self._database.transaction():
        self._write(sealed._replace(rows=sealed.rows[-1:]), log_head)
    self.head = sealed.head
    return sealed.head


def main() -> None:
    """Run the suite and print its counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", default="")
    parser.add_argument("--lengths", type=int, default=3)
    parser.add_argument("--doubles", type=int, default=1)
    parser.add_argument("--stride", type=int, default=1)
    asked = parser.parse_args()
    shared = Path("/dev/shm")
    root = shared if shared.is_dir() else None
    with tempfile.TemporaryDirectory(dir=root) as folder:
        suite = Suite(Path(folder), asked.plant)
        suite.run_birth()
        for sequence in sequences(asked.lengths):
            doubles = len(sequence) <= asked.doubles
            suite.run(sequence, doubles=doubles, stride=asked.stride)
    counts = {
        "workloads": suite.runs,
        "kills": suite.kills,
        "second_kills": suite.second_kills,
        "lost": suite.lost,
    }
    tell(json.dumps(counts))


if __name__ == "__main__":
    main()
