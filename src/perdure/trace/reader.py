"""Reading a run, live or finished, without ever writing to it.

Every event that is handed out has been checked against its chain on the way, and the end of a
record against its witness: nothing that is damaged is ever read as if it were not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Self

from perdure.base.canonical import sha256
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Event, Head
from perdure.records.persona import Persona
from perdure.records.registry import LogPayload, WorldEntry, WorldOutcome
from perdure.records.scenario import Header
from perdure.trace.database import Database
from perdure.trace.decoding import decode_event
from perdure.trace.files import exists
from perdure.trace.opening import open_reader
from perdure.trace.paths import partition_path
from perdure.trace.registry_file import REGISTRY_NAME
from perdure.trace.registry_rows import read_entry, read_held_out, read_personas, read_worlds
from perdure.trace.rows import decode_header, read_head, read_header, read_rows
from perdure.trace.run_log import StoredLog, read_log
from perdure.trace.schema import PARTITION, REGISTRY
from perdure.trace.walk import Walker, walked

# How many partitions a reader keeps open.
_OPEN_MAX = 8


class RunReader:
    """Reads a run folder. What it says of a live run is true of the moment of the question."""

    def __init__(self, folder: Path, registry: Database) -> None:
        self.folder = folder
        self._registry = registry
        self._partitions: dict[str, Database] = {}
        self._entry_bytes, self.entry = read_entry(registry)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the run in a folder.

        Raises:
            DamagedRecordError: there is no run, or not one that can be read.
            StorageError: storage failed.

        """
        registry = open_reader(folder / REGISTRY_NAME, REGISTRY)
        try:
            return cls(folder, registry)
        except BaseException:
            registry.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every file.

        Raises:
            StorageError: SQLite could not close one.

        """
        for database in (*self._partitions.values(), self._registry):
            database.close()
        self._partitions.clear()

    @cached_property
    def worlds(self) -> tuple[WorldEntry, ...]:
        """The worlds of the run, in the order of its cells.

        Raises:
            DamagedRecordError: the registry does not hold what was written.

        """
        return tuple(world.entry for world in read_worlds(self._registry))

    @property
    def outcomes(self) -> dict[str, WorldOutcome]:
        """How every world stands; one that was never noted has not started.

        Raises:
            DamagedRecordError: the registry does not hold what was written.

        """
        stored = {world.entry.world_id: world.outcome for world in read_worlds(self._registry)}
        return {name: known or WorldOutcome(world_id=name) for name, known in stored.items()}

    def witnesses(self) -> dict[str, Head | None]:
        """Give where every partition ended when it was last noted.

        Raises:
            DamagedRecordError: the registry does not hold what was written.

        """
        return {world.entry.world_id: world.witness for world in read_worlds(self._registry)}

    @property
    def log(self) -> tuple[LogPayload, ...]:
        """What the run log says, in order, checked against its chain.

        Raises:
            DamagedRecordError: names the first row that is wrong.

        """
        return tuple(row.payload for row in self.run_log())

    def run_log(self) -> tuple[StoredLog, ...]:
        """Give the rows of the run log, checked against its chain.

        Raises:
            DamagedRecordError: names the first row that is wrong.

        """
        return read_log(self._registry, self._entry_bytes)

    @cached_property
    def personas(self) -> tuple[Persona, ...]:
        """The population in its order.

        Raises:
            DamagedRecordError: the registry does not hold what was written.

        """
        return read_personas(self._registry)

    @property
    def held_out(self) -> dict[str, str]:
        """The held-out values by source row: for scoring alone.

        Raises:
            DamagedRecordError: the registry does not hold what was written.

        """
        return read_held_out(self._registry)

    def has(self, world_id: str) -> bool:
        """Say whether a world has a record yet.

        Raises:
            StorageError: the system does not say.

        """
        return exists(partition_path(self.folder, world_id))

    def header(self, world_id: str) -> Header:
        """Give the header of a world's record.

        Raises:
            DamagedRecordError: there is none, or it is not that of this world.

        """
        database = self.partition(world_id)
        return decode_header(read_header(database), world_id, str(database.path))

    def head(self, world_id: str) -> Head | None:
        """Give where a world's record says that it ends; None if it has none.

        Raises:
            DamagedRecordError: it cannot be read.

        """
        return read_head(self.partition(world_id))[0] if self.has(world_id) else None

    def events(self, world_id: str, kinds: Collection[str] | None = None) -> Iterator[Event]:
        """Go through a world's events in order: all, or those of some kinds. None if not started.

        Every event of the world is checked, those of other kinds too.

        Raises:
            DamagedRecordError: names the first event that is wrong.

        """
        witness = self.witnesses()[world_id]
        if witness is None and not self.has(world_id):
            return
        database = self.partition(world_id)
        stored, _ = read_head(database)
        walker = Walker(world_id, read_header(database))
        for row in walked(walker, read_rows(database, stored.seq), stored, witness):
            seq, tick, kind, persona, content, payload, _ = row
            if kinds is None or kind in kinds:
                yield Event(
                    seq=seq,
                    tick=tick,
                    payload=decode_event(kind, payload, f"{world_id}:{seq}"),
                    persona=persona,
                    content=content,
                )

    def blob(self, world_id: str, name: str) -> bytes:
        """Give the bytes that a world's events cite by their hash.

        Raises:
            DamagedRecordError: they are missing, or do not have this hash.

        """
        database = self.partition(world_id)
        where = f"{world_id}: blob {name}"
        try:
            key = bytes.fromhex(name)
        except ValueError as error:
            raise DamagedRecordError("This is not a hash.", where=where) from error
        rows = database.fetch("SELECT bytes FROM blobs WHERE sha256 = ?", (key,))
        if not rows:
            raise DamagedRecordError("The bytes that an event cites are missing.", where=where)
        data = rows[0][0]
        if not isinstance(data, bytes) or sha256(data) != key:
            raise DamagedRecordError("The bytes do not match their hash.", where=where)
        return data

    def partition(self, world_id: str) -> Database:
        """Give the open partition of a world, for verify and export.

        Raises:
            DamagedRecordError: there is none, or it is not one.

        """
        database = self._partitions.pop(world_id, None)
        if database is None:
            database = open_reader(partition_path(self.folder, world_id), PARTITION)
        self._partitions[world_id] = database
        if len(self._partitions) > _OPEN_MAX:
            self._partitions.pop(next(iter(self._partitions))).close()
        return database
