"""Kills a journal's writer at every boundary between SQLite and the disk, and its successor too.

Run as a program, in a process that never opens a database: see `tests.crash.killer`, whose forks
these are. Prints its counts as one line of JSON.

    python -m tests.crash.journal_killer [--plant NAME] [--lengths N] [--doubles N] [--stride N]
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.crash.journal_workloads import Ack, Fact, Life, closed_in, require_kept, sequences, told
from tests.crash.killer import Counter, Outcome, fork
from tests.crash.tap import Tap
from tests.crash.telling import tell
from tests.support.calls import WORLD, opening

from perdure.base.canonical import encode
from perdure.base.errors import PerdureError
from perdure.records.events import Head
from perdure.records.journal import TickOpening
from perdure.trace import guard, journal_file
from perdure.trace.decoding import decode
from perdure.trace.journal_file import JOURNAL_NAME, Change, Intended, JournalFile

Work = Callable[[Ack, Counter], None]


def facts(left: Outcome) -> list[Fact]:
    """Give what a fork acknowledged."""
    return [Fact(seq, chain) for seq, chain in left.acked]


def forked(work: Work, kill_at: int = 0) -> Outcome:
    """Do some work in a fork that dies before a boundary, and hear what it acknowledged."""

    def inside(ack: Callable[[Head], None], counter: Counter) -> None:
        work(lambda one: ack(Head(seq=one.seq, chain=one.chain, content=0, digest="")), counter)

    return fork(inside, kill_at)


class Suite:
    """Runs workloads, kills them, and checks what is left."""

    def __init__(self, folder: Path, plant: str) -> None:
        self.folder = folder
        self.plant = plant
        self.template = folder / "template"
        self.kills = self.second_kills = self.lost = self.runs = 0
        self.template.mkdir()
        _warm_up()
        assert not forked(lambda _, __: JournalFile.create(self.template, 1).close()).failed

    def run(self, sequence: tuple[str, ...], *, doubles: bool, stride: int) -> None:
        """Kill one workload at every boundary."""
        self.runs += 1
        place = self._fresh()
        whole = forked(self._work(place, sequence))
        assert not whole.failed, sequence
        for kill_at in range(whole.earlier + 1, whole.boundaries + 1):
            place = self._fresh()
            left = forked(self._work(place, sequence), kill_at)
            self.kills += left.killed
            # Shifted from workload to workload: all have their turn.
            if doubles and (kill_at + self.runs) % stride == 0:
                self._kill_again(place, left)
            self._check(place, facts(left), f"{sequence} killed at {kill_at}")

    def run_birth(self) -> None:
        """Kill a birth at every boundary: there is never a half of a journal."""
        self.runs += 1

        def born(place: Path) -> Work:
            def work(ack: Ack, counter: Counter) -> None:
                counter.tap = Tap(counter)
                life = Life(JournalFile.create(place, 1), place, ack)
                life.begin()
                life.file.close()

            return work

        whole = forked(born(self._empty()))
        for kill_at in range(1, whole.boundaries + 1):
            place = self._empty()
            left = forked(born(place), kill_at)
            self.kills += left.killed
            if (place / JOURNAL_NAME).exists():
                self._check(place, facts(left), f"a birth killed at {kill_at}")
            elif left.acked or forked(born(place)).failed:
                self._lose(f"a birth killed at {kill_at} is not there, or cannot be repeated")

    def _kill_again(self, place: Path, left: Outcome) -> None:
        kept, tried = place.with_name("kept"), place.with_name("tried")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(place, kept)
        whole = forked(_recovery(kept))
        for kill_at in range(1, whole.boundaries + 1):
            shutil.rmtree(tried, ignore_errors=True)
            shutil.copytree(place, tried)
            second = forked(_recovery(tried), kill_at)
            self.second_kills += second.killed
            self._check(tried, facts(left) + facts(second), f"killed again at {kill_at}")

    def _check(self, place: Path, acked: Iterable[Fact], where: str) -> None:
        try:
            file = JournalFile.open(place, 9)
            try:
                require_kept(file, acked)
                life = Life(file, place, lambda _: None)
                life.begin()
            finally:
                file.close()
        except PerdureError as error:
            self._lose(f"{where}: {error}")

    def _lose(self, where: str) -> None:
        self.lost += 1
        if self.lost <= 3 and not self.plant:
            sys.stderr.write(f"lost: {where}\n")

    def _work(self, place: Path, sequence: tuple[str, ...]) -> Work:
        def work(ack: Ack, counter: Counter) -> None:
            _sow(self.plant, ack)
            counter.tap = Tap(counter)
            counter.is_on = False  # this first opening is not what is killed here
            life = Life(JournalFile.open(place, 1), place, ack)
            life.begin()
            counter.is_on = True
            for number, operation in enumerate(sequence):
                if number == len(sequence) - 1:
                    counter.mark()
                life.perform(operation)
            life.file.close()

        return work

    def _fresh(self) -> Path:
        place = self._empty()
        shutil.copyfile(self.template / JOURNAL_NAME, place / JOURNAL_NAME)
        return place

    def _empty(self) -> Path:
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        return place


def _recovery(place: Path) -> Work:
    """Open what is left as a successor does, and go on."""

    def work(ack: Ack, counter: Counter) -> None:
        counter.tap = Tap(counter)
        file = JournalFile.open(place, 2)
        for one in closed_in(file):
            ack(one)
        life = Life(file, place, ack)
        life.begin()
        life.perform("settle")
        life.perform("next")
        file.close()

    return work


def _warm_up() -> None:
    """Pay once here for what every fork would pay: decoders, objects that are never freed."""
    decode(encode(opening()), TickOpening, WORLD)
    guard.release(guard.protect(Path("/dev/null")))
    gc.freeze()
    gc.disable()


def _sow(plant: str, ack: Ack) -> None:
    real = JournalFile.write

    def early(self: JournalFile, changes: Sequence[Change]) -> None:
        """Acknowledge before the commit: a planted bug."""
        for one in changes:
            ack(told(one))
        real(self, changes)

    def one_by_one(self: JournalFile, changes: Sequence[Change]) -> None:
        """Write a group in as many transactions as it has changes: a planted bug."""
        for one in changes:
            real(self, [one])

    def results_first(self: JournalFile, changes: Sequence[Change]) -> None:
        """Acknowledge intents that are kept for the next group only: a planted bug."""
        kept = [one for one in changes if isinstance(one, Intended)]
        real(self, [one for one in changes if one not in kept])
        for one in kept:
            ack(told(one))
        real(self, kept)

    planted = {"early-ack": early, "one-by-one": one_by_one, "intent-late": results_first}
    if plant:
        journal_file.JournalFile.write = planted[plant]  # type: ignore[method-assign]


def main() -> None:
    """Run the suite and print its counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", default="")
    parser.add_argument("--lengths", type=int, default=2)
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
