"""Faults that are planted on purpose: the programme must find every one of them.

A plant changes the code of the process that it is called in, which is a fork.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.crash.whole.putting import put

from perdure.inference import charges, effects, journaled
from perdure.inference.effects import UNKNOWN, Remembered
from perdure.inference.journaled import JournaledHost
from perdure.records.events import Batch, Head
from perdure.records.journal import JournaledCall
from perdure.records.registry import LogHead
from perdure.runner import governor, reconcile, session
from perdure.runner.world_run import WorldRun
from perdure.trace import files, opening, sittings
from perdure.trace.database import Database
from perdure.trace.journal import Journal
from perdure.trace.partition import PartitionWriter
from perdure.trace.partition_file import PartitionFile
from perdure.trace.registry import Registry
from perdure.trace.sealing import seal

_later: set[asyncio.Future[Any]] = set()


def _beside(work: Any) -> None:
    """Do something later, and let nobody wait for it."""
    task = asyncio.ensure_future(work)
    _later.add(task)
    task.add_done_callback(_later.discard)


def early_tick() -> None:
    """Acknowledge a tick before its commit."""
    append = PartitionWriter.append
    heads: dict[PartitionWriter, Head] = {}

    async def early(self: PartitionWriter, batch: Batch, *, epoch: int, log_head: LogHead) -> Head:
        heads[self] = seal(self.head, batch).head
        _beside(append(self, batch, epoch=epoch, log_head=log_head))
        return heads[self]

    put(PartitionWriter, "append", early)
    put(PartitionWriter, "head", property(lambda self: heads.get(self, self._file.head)))


def torn_tick() -> None:
    """Write the last event of a tick in a transaction of its own."""

    def in_two(self: PartitionFile, batch: Batch, *, epoch: int, log_head: LogHead) -> Head:
        sealed = seal(self.head, batch)
        with self._database.transaction():
            self._write(sealed._replace(rows=sealed.rows[:-1]), log_head)
        with self._database.transaction():
            self._write(sealed._replace(rows=sealed.rows[-1:]), log_head)
        self.head = sealed.head
        return sealed.head

    put(PartitionFile, "append", in_two)


def witness_first() -> None:
    """Witness a tick before it is appended."""
    append, make = PartitionWriter.append, session._workshop
    registries: list[Registry] = []

    def noted(found: Any) -> Any:
        registries.append(found.registry)
        return make(found)

    async def witnessed(self: PartitionWriter, batch: Batch, **more: Any) -> Head:
        name = self._file._database.path.stem
        await registries[-1].witness(name, seal(self.head, batch).head)
        return await append(self, batch, **more)

    put(session, "_workshop", noted)
    put(PartitionWriter, "append", witnessed)


def journal_first() -> None:
    """Delete a tick's calls from the journal before the tick is in the record."""
    run_tick = WorldRun.run_tick

    async def forgetful(self: WorldRun, tick: int, opened: Any) -> Any:
        host, append = self._host, self.partition.append
        assert isinstance(host, JournaledHost)

        async def appended(batch: Batch, **more: Any) -> Head:
            await host.close_tick(self.header.world_id, tick)
            await host._journal._group.alone(lambda: None)  # type: ignore[attr-defined]
            return await append(batch, **more)

        put(self.partition, "append", appended)
        try:
            return await run_tick(self, tick, opened)
        finally:
            del self.partition.append

    put(WorldRun, "run_tick", forgetful)


def no_settling() -> None:
    """Keep no reply in the journal."""

    async def nothing(self: Journal, key: Any, attempt: int, settled: Any) -> None:
        """Believe it kept."""

    put(Journal, "settle", nothing)


def early_reply() -> None:
    """Let a reply be used before it is in the journal."""
    settle = Journal.settle

    async def early(self: Journal, key: Any, attempt: int, settled: Any) -> None:
        _beside(settle(self, key, attempt, settled))

    put(Journal, "settle", early)


def late_intent() -> None:
    """Send a call before its intent is durable."""
    intend, settle = Journal.intend, Journal.settle

    async def late(self: Journal, intent: Any) -> None:
        """Keep it for later."""
        kept[intent.key, intent.attempt] = intent

    async def both(self: Journal, key: Any, attempt: int, settled: Any) -> None:
        await intend(self, kept.pop((key, attempt)))
        await settle(self, key, attempt, settled)

    kept: dict[Any, Any] = {}
    put(Journal, "intend", late)
    put(Journal, "settle", both)


def no_recall() -> None:
    """Ask again what the journal has."""

    def nothing(calls: Any, request: str) -> Any:
        highest = max((call.intent.attempt for call in calls), default=-1)
        return charges.Recalled(next_attempt=1 + highest)

    put(journaled, "recall", nothing)


def charged_twice() -> None:
    """Charge what the run log has already."""
    for owner in (governor, reconcile):
        put(owner, "uncharged", lambda found, log: tuple(found))


def not_charged() -> None:
    """Forget the calls that were in flight."""
    put(charges, "lost", lambda tick: ())


def orphans_free() -> None:
    """Forget the calls that a tick did not use."""
    put(charges, "orphaned", lambda tick, used: None)


def not_discarded() -> None:
    """Record no loss of a tick."""
    put(reconcile, "losses_of", lambda tick, log: ())


def discarded_again() -> None:
    """Record a loss at every resume that finds it."""
    losses_of = reconcile.losses_of

    def again(tick: Any, log: Any) -> Any:
        return losses_of(tick, [row for row in log if type(row).__name__ != "TickDiscarded"])

    put(reconcile, "losses_of", again)


def last_loss_only() -> None:
    """Record the loss of the last sitting alone, whoever else could not record theirs."""
    killed = sittings.killed_epochs

    def last(log: Any) -> frozenset[int]:
        found = killed(log)
        return frozenset({max(found)}) if found else found

    put(reconcile, "killed_epochs", last)


def forced_halfway() -> None:
    """Give up what was open before something was forced in that sitting only."""
    put(reconcile, "forced_epoch", lambda log: -1)


def acts_again() -> None:
    """Do once more outside what was cut."""
    real = effects.remembered

    def again(calls: Sequence[JournaledCall], request: str) -> Remembered:
        found = real(calls, request)
        if found.answer is UNKNOWN:
            return Remembered(next_attempt=1 + max(call.intent.attempt for call in calls))
        return found

    put(journaled, "remembered", again)


def careless(where: str, level: str) -> Callable[[], None]:
    """Sync less than everything, of the files whose paths have this in them."""

    def sow() -> None:
        real = opening.make_durable

        def make_durable(database: Database) -> None:
            if where not in str(database.path):
                real(database)
                return
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(f"PRAGMA synchronous = {level}")

        put(opening, "make_durable", make_durable)

    return sow


def nameless() -> None:
    """Make no name durable."""
    put(files, "sync_folder", lambda folder: None)


class Plant(NamedTuple):
    """How a fault is planted, and in which act of which shape it shows.

    With `twice` only a second kill shows it.
    """

    sow: Callable[[], None]
    shape: str = "one tick"
    act: int = 0
    twice: bool = False


# What a kill must reveal.
KILLS: dict[str, Plant] = {
    "early tick": Plant(early_tick),
    "torn tick": Plant(torn_tick),
    "witness first": Plant(witness_first),
    "journal first": Plant(journal_first),
    "no settling": Plant(no_settling),
    "early reply": Plant(early_reply),
    "late intent": Plant(late_intent),
    "no recall": Plant(no_recall),
    "charged twice": Plant(charged_twice),
    "not charged": Plant(not_charged),
    "orphans free": Plant(orphans_free, "orphans"),
    "not discarded": Plant(not_discarded),
    "discarded again": Plant(discarded_again, twice=True),
    "last loss only": Plant(last_loss_only, twice=True),
    "acts again": Plant(acts_again, "tools outside"),
    "forced halfway": Plant(forced_halfway, "forced", act=1),
}

# What a power cut must reveal.
CUTS: dict[str, Callable[[], None]] = {
    "early tick": early_tick,
    "early reply": early_reply,
    "no name synced": nameless,
    "journal not synced": careless("calls.db", "OFF"),
    "registry not synced": careless("run.db", "OFF"),
    "worlds not synced": careless("/worlds/", "OFF"),
    "nothing synced": careless("", "OFF"),
    "synced at checkpoints only": careless("", "NORMAL"),
}
