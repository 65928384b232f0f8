"""Races for the lock of one run: processes of their own that want to govern it at one moment.

Run as a program, in a process that never opens a database: every contender is a fork of it, which
is safe only because there is nothing open to inherit. Whoever wins does what a governor does: takes
the next epoch of the registry, claims a partition under it and appends a tick. Prints its counts as
one line of JSON.

    python -m tests.crash.lock_racer [--races N] [--plant NAME]
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import gc
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.crash.telling import tell
from tests.support.runs import (
    HELD_OUT,
    PERSONAS,
    WORLDS,
    entry,
    header,
    small_batch,
    world_entry,
)

from perdure.base.chance import Stream
from perdure.base.clock import SystemClock
from perdure.base.errors import HeldError, PerdureError, StaleWriterError
from perdure.records.registry import RunOpened, RunPaused
from perdure.trace import partition_file, registry_file
from perdure.trace.lock import LOCK_NAME, GovernorLock, is_held
from perdure.trace.partition_file import PartitionFile
from perdure.trace.reader import RunReader
from perdure.trace.registry_file import RegistryFile

HORIZON = 1_000
WORLD = WORLDS[0]
CONTENDERS = (4, 5, 6)
RACES_PER_FOLDER = 20
KINDS = ("plain", "killed", "stopped", "glanced", "killed", "plain")
# What a contender is told.
RACE, GLANCE, STALE, APPEND, END = "rgsae"
GLANCING_S = 0.1
_ANSWER_S = 60.0
_PID = re.compile(r"process (\d+) on")


class QuickClock(SystemClock):
    """The system's clock, with short sleeps: who loses tries again at once."""

    async def sleep(self, seconds: float) -> None:
        """Sleep for a thousandth of a second."""
        await asyncio.sleep(min(seconds, 0.001))


class Governor:
    """What the process that holds the lock works with."""

    def __init__(self, folder: Path) -> None:
        if (folder / registry_file.REGISTRY_NAME).exists():
            self.registry = RegistryFile.open(folder)
        else:
            self.registry = RegistryFile.create(
                folder,
                entry=entry(),
                worlds=[world_entry(name, HORIZON) for name in WORLDS],
                personas=PERSONAS,
                held_out=HELD_OUT,
            )
        path = folder / registry_file.WORLDS_NAME / f"{WORLD}.db"
        epoch = self.registry.epoch
        if path.exists():
            self.partition = PartitionFile.open(path, epoch, self.registry.witnesses[WORLD])
        else:
            self.partition = PartitionFile.create(path, header(WORLD, HORIZON), epoch)
        self.append()

    def append(self) -> None:
        """Write one tick and its witness."""
        head = self.partition.append(
            small_batch(self.partition.head),
            epoch=self.registry.epoch,
            log_head=self.registry.log_head,
        )
        self.registry.witness({WORLD: head})

    def is_refused(self) -> bool:
        """Try every write of a governor; say whether each is refused as that of a stale one."""
        head = self.partition.head
        writes: list[Callable[[], object]] = [
            self.append,
            lambda: self.registry.log(RunPaused(cause="stale", exit_status=75)),
            lambda: self.registry.witness({WORLD: head}),
        ]
        refused = 0
        for write in writes:
            try:
                write()
            except StaleWriterError:
                refused += 1
        return refused == len(writes)

    def close(self) -> None:
        """Let go of the files."""
        self.partition.close()
        self.registry.close()


class Contender:
    """A forked process that does what it is told, one byte at a time, and answers in JSON."""

    def __init__(self, folder: Path, delay_s: float, clock: SystemClock) -> None:
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(_ANSWER_S)
        self.pid = os.fork()  # noqa: TID251 - nothing is open in this process: see the top
        if self.pid == 0:
            self._channel.close()
            _be_contender(theirs, folder, delay_s, clock)
        theirs.close()
        self._heard = self._channel.makefile("r", encoding="utf-8")

    def tell(self, what: str) -> None:
        """Tell it what to do."""
        self._channel.sendall(what.encode())

    def answer(self) -> dict[str, Any]:
        """Hear what came of it."""
        line = self._heard.readline()
        if not line:
            raise EOFError(f"process {self.pid} is gone")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> int:
        """Wait for its end; give the status of the process."""
        self._heard.close()
        self._channel.close()
        return os.waitpid(self.pid, 0)[1]


def _be_contender(channel: socket.socket, folder: Path, delay_s: float, clock: SystemClock) -> None:
    status = 1
    try:
        _Contending(channel, folder, delay_s, clock).obey()
        status = 0
    except BaseException:  # noqa: BLE001 - a fork must never return into its parent's code
        if os.environ.get("PERDURE_CRASH_SHOW"):
            traceback.print_exc()
    finally:
        os._exit(status)


class _Contending:
    """The work of a contender, in its own process."""

    def __init__(
        self, channel: socket.socket, folder: Path, delay_s: float, clock: SystemClock
    ) -> None:
        self._channel = channel
        self._folder = folder
        self._delay_s = delay_s
        self._clock = clock
        self._held: GovernorLock | None = None
        self._governor: Governor | None = None

    def obey(self) -> None:
        """Do what it is told until it is told to end, or nobody is there to tell."""
        orders = {RACE: self._race, GLANCE: self._glance, STALE: self._stale, APPEND: self._append}
        while order := orders.get(self._channel.recv(1).decode()):
            self._channel.sendall(json.dumps(order()).encode() + b"\n")
        if self._governor is not None:
            self._governor.close()
        if self._held is not None:
            self._held.release()

    def _race(self) -> dict[str, Any]:
        self._wait(self._delay_s)
        try:
            self._held = asyncio.run(GovernorLock.acquire(self._folder, self._clock))
        except HeldError as error:
            named = _PID.search(error.wrong)
            return {"won": False, "holder": int(named[1]) if named else 0}
        self._governor = Governor(self._folder)
        return {"won": True, "epoch": self._governor.registry.epoch}

    def _glance(self) -> dict[str, Any]:
        end_s = self._clock.now_s() + GLANCING_S
        while self._clock.now_s() < end_s:
            is_held(self._folder)
        return {"glanced": True}

    def _stale(self) -> dict[str, Any]:
        assert self._governor is not None
        return {"refused": self._governor.is_refused()}

    def _append(self) -> dict[str, Any]:
        assert self._governor is not None
        self._governor.append()
        return {"appended": True}

    def _wait(self, seconds: float) -> None:
        end_s = self._clock.now_s() + seconds
        while self._clock.now_s() < end_s:
            pass


class Suite:
    """Runs races and counts what comes of them."""

    def __init__(self, place: Path, *, quiet: bool) -> None:
        self.place = place
        self.quiet = quiet
        self.counts: Counter[str] = Counter()
        self.wrong = 0
        self.folder = place
        self.epochs: list[int] = []
        self.appends = 0
        # Appends of which nobody knows whether they came before a kill.
        self.unsure = 0
        self.draws = Stream("lock races", 0, "races", os.environ.get("PERDURE_CRASH_SEED", "0"))

    def run(self, races: int) -> None:
        """Run races of every kind, on folders that are fresh, or hold what others left."""
        for race in range(races):
            if race % RACES_PER_FOLDER == 0:
                self._check_history()
                self.folder = self.place / f"run{race}"
                self.folder.mkdir()
                self.epochs, self.appends, self.unsure = [], 0, 0
            kind = KINDS[race % len(KINDS)]
            self.counts["races"] += 1
            self.counts[kind] += 1
            getattr(self, f"_{kind}")()
        self._check_history()

    def _plain(self) -> None:
        """Let many want it at once: one gets it, and the others are told who."""
        contenders = self._contenders()
        self._race(contenders)
        self._finish(contenders)

    def _killed(self) -> None:
        """Kill the holder, at rest or while it writes, and let the others race for it."""
        holder = self._holder()
        contenders = self._contenders()
        for one in contenders:
            one.tell(RACE)
        if self.draws.uniform() < 0.5:
            holder.tell(APPEND)
            self.unsure += 1
        end_s = SystemClock().now_s() + self.draws.uniform() * 0.004
        while SystemClock().now_s() < end_s:
            pass
        os.kill(holder.pid, signal.SIGKILL)
        self._expect(os.WIFSIGNALED(holder.end()), "the holder was to be killed")
        self.counts["kills"] += 1
        self._until_one(contenders, {holder.pid})
        self._finish(contenders)

    def _stopped(self) -> None:
        """Put the holder to sleep, clear its lock away, let another take over, and wake it."""
        holder = self._holder()
        os.kill(holder.pid, signal.SIGSTOP)
        contenders = self._contenders()
        self._race(contenders, winners=0, named={holder.pid})
        (self.folder / LOCK_NAME).unlink()
        self._race(contenders)
        os.kill(holder.pid, signal.SIGCONT)
        holder.tell(STALE)
        refused = holder.answer()["refused"]
        self._expect(refused, "a stale process wrote")
        self.counts["stale"] += 1
        winner = self._winner(contenders)
        if winner is not None:
            winner.tell(APPEND)
            self._expect(winner.answer()["appended"], "the new holder could not write")
            self.appends += 1
        holder.tell(END)
        self._expect(holder.end() == 0, "a stale process did not end well")
        self._finish(contenders)

    def _glanced(self) -> None:
        """Let others ask all the while whether it is held: they take it from nobody."""
        contenders = self._contenders(SystemClock())
        glancers = [Contender(self.folder, 0.0, SystemClock()) for _ in range(2)]
        for one in glancers:
            one.tell(GLANCE)
        self._race(contenders)
        for one in glancers:
            self._expect(one.answer()["glanced"], "a glance failed")
            one.tell(END)
            self._expect(one.end() == 0, "a glance did not end well")
        self._finish(contenders)

    def _contenders(self, clock: SystemClock | None = None) -> list[Contender]:
        count = CONTENDERS[self.draws.below(len(CONTENDERS))]
        delays = [self.draws.uniform() * 0.0005 for _ in range(count)]
        return [Contender(self.folder, delay_s, clock or QuickClock()) for delay_s in delays]

    def _holder(self) -> Contender:
        holder = Contender(self.folder, 0.0, QuickClock())
        holder.tell(RACE)
        self._won(holder.answer())
        return holder

    def _race(
        self, contenders: list[Contender], *, winners: int = 1, named: set[int] | None = None
    ) -> None:
        """Let them race; exactly so many win, and the losers are told who holds it."""
        for one in contenders:
            one.tell(RACE)
        said = [one.answer() for one in contenders]
        won = [one.pid for one, what in zip(contenders, said, strict=True) if what["won"]]
        self._expect(len(won) == winners, f"{len(won)} of {len(said)} won")
        for what in said:
            if what["won"]:
                self._won(what)
            else:
                self._named(what["holder"], named or set(won))
        self._winners = dict.fromkeys(won)

    def _until_one(self, contenders: list[Contender], before: set[int]) -> None:
        """Let them go on until one has won; then the others lose once more, to that one."""
        won: list[int] = []
        rounds = 0
        waiting = list(contenders)
        while not won and rounds < 1_000:
            rounds += 1
            said = [(one, one.answer()) for one in waiting]
            for one, what in said:
                if what["won"]:
                    won.append(one.pid)
                    self._won(what)
            # Told at different moments of one round, some name who was killed, some who followed.
            for _, what in said:
                if not what["won"]:
                    self._named(what["holder"], {*before, *won})
            if not won:
                for one in waiting:
                    one.tell(RACE)
        self._expect(len(won) == 1, f"{len(won)} of {len(contenders)} won")
        others = [one for one in contenders if one.pid not in won]
        self._race(others, winners=0, named=set(won))
        self._winners = dict.fromkeys(won)

    def _winner(self, contenders: list[Contender]) -> Contender | None:
        return next((one for one in contenders if one.pid in self._winners), None)

    def _won(self, what: dict[str, Any]) -> None:
        self.counts["won"] += 1
        self.epochs.append(what["epoch"])
        self.appends += 1

    def _named(self, holder: int, known: set[int]) -> None:
        self.counts["lost"] += 1
        self.counts["unnamed"] += holder == 0
        self.counts["misnamed"] += holder not in {0, *known}

    def _finish(self, contenders: list[Contender]) -> None:
        for one in contenders:
            one.tell(END)
        for one in contenders:
            self._expect(one.end() == 0, "a contender did not end well")

    def _check_history(self) -> None:
        """Read what a folder's governors left: an epoch each, in order, and each tick once."""
        if not self.epochs:
            return
        self._expect(
            self.epochs == list(range(1, len(self.epochs) + 1)), f"epochs were {self.epochs}"
        )
        with RunReader.open(self.folder) as reader:
            opened = [row.epoch for row in reader.log if isinstance(row, RunOpened)]
            head = reader.head(WORLD)
            ticks = sum(1 for _ in reader.events(WORLD, {"tick_closed"}))
        self._expect(opened == self.epochs, f"the run log has the epochs {opened}")
        self._expect(
            head is not None and head.tick + 1 == ticks,
            f"the record ends at {head}, and has {ticks} ticks",
        )
        self._expect(
            self.appends <= ticks <= self.appends + self.unsure,
            f"{ticks} ticks of {self.appends} appends and {self.unsure} that were cut off",
        )
        shutil.rmtree(self.folder)

    def _expect(self, is_so: bool, what: str) -> None:  # noqa: FBT001 - reads as an assertion
        if not is_so:
            self.fail(what)

    def fail(self, what: str) -> None:
        """Note that something is not as it must be."""
        self.wrong += 1
        if self.wrong <= 3 and not self.quiet:
            sys.stderr.write(f"{self.folder.name}, race {self.counts['races']}: {what}\n")


def _sow(plant: str) -> None:
    """Plant a bug, which the races must find."""
    match plant:
        case "no-lock":
            vars(fcntl).update(flock=lambda *_: None)
        case "shared-lock":
            vars(fcntl).update(LOCK_EX=fcntl.LOCK_SH)
        case "no-fence" | "same-epoch":
            name = "require_epoch" if plant == "no-fence" else "claim"
            for module in (partition_file, registry_file):
                vars(module).update({name: lambda *_: None})


def main() -> None:
    """Run the races and print their counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--races", type=int, default=50)
    parser.add_argument("--plant", default="")
    asked = parser.parse_args()
    _sow(asked.plant)
    gc.freeze()
    gc.disable()
    shared = Path("/dev/shm")
    # A planted bug may leave somebody writing when its race is over.
    with tempfile.TemporaryDirectory(
        dir=shared if shared.is_dir() else None, ignore_cleanup_errors=True
    ) as place:
        suite = Suite(Path(place), quiet=bool(asked.plant))
        try:
            suite.run(asked.races)
        except (EOFError, PerdureError) as error:
            suite.fail(f"{type(error).__name__}: {error}")
    tell(json.dumps({**suite.counts, "wrong": suite.wrong}))


if __name__ == "__main__":
    main()
