"""A run's own folder as of one moment, for whoever copies a run that may be live.

The registry is read once, and every record ends where it did then, or a few ticks later: what the
copy holds fits together, as what a reader of the folder finds at any one moment does.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.base.errors import DamagedRecordError, HeldError
from perdure.records.journal import OpenTick
from perdure.trace.database import Database
from perdure.trace.folder_store import FolderStore
from perdure.trace.reader import RunReader
from perdure.trace.registry_rows import read_entry
from perdure.trace.run_log import StoredLog, read_log
from perdure.trace.sittings import last_end
from perdure.trace.sql_rows import SqlRegistry, SqlWorld
from perdure.trace.stored import Unchecked

_ATTEMPTS = 5


class FrozenRegistry(SqlRegistry):
    """A registry whose worlds and log are those of one moment; nothing else of it ever changes."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        database.execute("BEGIN")
        try:
            self._worlds = super().worlds()
            self._log = super().log()
        finally:
            database.execute("COMMIT")

    def log(self) -> list[Unchecked]:
        """Give the run log as of that moment."""
        return self._log

    def worlds(self) -> list[Unchecked]:
        """Give the worlds as of that moment."""
        return self._worlds

    def world(self, world_id: str) -> list[Unchecked]:
        """Give the rows of one world as of that moment."""
        return [row[1:] for row in self._worlds if row[1] == world_id]

    def take_log(self) -> None:
        """Take the log as it is now."""
        self._log = super().log()


class FrozenWorld(SqlWorld):
    """A world's record up to where it ended at some moment."""

    def __init__(self, database: Database, head: Unchecked) -> None:
        super().__init__(database)
        self._frozen_head = head

    def head(self) -> Unchecked:
        """Give where the record ended then."""
        return self._frozen_head


class FrozenStore:
    """A run's folder as of one moment. It is the folder's store that is closed, by its owner."""

    def __init__(self, live: FolderStore, registry: FrozenRegistry, run_id: str) -> None:
        self._live = live
        self.registry = registry
        self._fault = ""
        self._ticks: tuple[OpenTick, ...] | None = None
        try:
            # Before the records, so that no tick is taken for open that is in one by then.
            self._ticks = live.journal(run_id)
        except DamagedRecordError as error:
            self._fault = error.wrong
        self._heads = {name: live.world(name).head() for name in sorted(live.recorded())}

    def has(self, world_id: str) -> bool:
        """Say whether a world had a record."""
        return world_id in self._heads

    def recorded(self) -> set[str]:
        """Give the ids of all worlds that had a record."""
        return set(self._heads)

    def world(self, world_id: str) -> FrozenWorld:
        """Give the rows of a world's record as of that moment."""
        return FrozenWorld(self._live.world(world_id).database, self._heads[world_id])

    def let_go(self, world_id: str) -> None:
        """Close the record of a world, if it is open."""
        self._live.let_go(world_id)

    def journal(self, _run_id: str) -> tuple[OpenTick, ...] | None:
        """Give the ticks that the call journal held open; None if there was no journal.

        Raises:
            DamagedRecordError: it could not be used; says why.

        """
        if self._fault:
            raise DamagedRecordError(self._fault)
        return self._ticks

    def close(self) -> None:
        """Leave the folder's own store open."""


def freeze(live: FolderStore) -> RunReader:
    """Read a run as of one moment, for as long as its folder's store is open.

    Raises:
        DamagedRecordError: the record does not hold what was written.
        HeldError: the run stops and starts faster than it can be read.
        StorageError: storage failed.

    """
    for _ in range(_ATTEMPTS):
        registry = FrozenRegistry(live.registry.database)
        entry_bytes, entry = read_entry(registry)
        known = read_log(registry, entry_bytes)
        store = FrozenStore(live, registry, entry.run_id)
        # What a record says of the run log has to be in it, so the log is taken last. Of a run that
        # ended or began anew meanwhile, the records are ahead of the worlds as noted.
        registry.take_log()
        now = read_log(registry, entry_bytes)
        if now == known or not (_has_ended(known) or _has_ended(now)):
            return RunReader(store)
    raise HeldError(
        "The run stops and starts again faster than it can be read.",
        where=str(live.folder),
        remedy="Try again.",
    )


def _has_ended(log: Sequence[StoredLog]) -> bool:
    return last_end([row.payload for row in log]) is not None
