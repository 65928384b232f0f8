"""Reading a run, live or finished, without ever writing to it.

Every event that is handed out has been checked against its chain on the way, the end of a record
against its witness, and what the registry says against the run as asked, the records and the run
log: nothing that is damaged is ever read as if it were not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Self

from perdure.base.canonical import hash_hex, sha256
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Event, Head
from perdure.records.graph import Node
from perdure.records.journal import OpenTick
from perdure.records.persona import Persona
from perdure.records.registry import LogPayload, RunClosed, WorldEntry, WorldOutcome
from perdure.records.scenario import Header
from perdure.trace.database import Database
from perdure.trace.decoding import decode_event
from perdure.trace.failures import translate_os
from perdure.trace.files import exists
from perdure.trace.journal_file import JOURNAL_NAME
from perdure.trace.journal_reader import read_journal
from perdure.trace.opening import open_reader
from perdure.trace.paths import partition_path
from perdure.trace.registry_file import REGISTRY_NAME, WORLDS_NAME
from perdure.trace.registry_rows import (
    StoredWorld,
    graph_hash,
    held_out_hash,
    population_hash,
    read_entry,
    read_graph,
    read_held_out,
    read_personas,
    read_world,
    read_worlds,
)
from perdure.trace.rows import decode_header, read_head, read_header, read_rows
from perdure.trace.run_log import StoredLog, read_log
from perdure.trace.schema import PARTITION, REGISTRY
from perdure.trace.sittings import last_end
from perdure.trace.verify_claims import (
    MISSING,
    asked,
    wrong_end,
    wrong_header,
    wrong_outcome,
    wrong_witness,
    wrong_worlds,
)
from perdure.trace.walk import Walker, walked

# How many partitions a reader keeps open.
_OPEN_MAX = 8
_PARTITION = re.compile(r"([0-9a-f]{12})\.db")


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

    def check_registry(self) -> None:
        """Check everything that the registry holds, for a reader who goes by all of it.

        Raises:
            DamagedRecordError: it does not hold what was written; names what does not match.

        """
        for part in (self.worlds, self.outcomes, self.personas, self.graph, self.held_out):
            assert part is not None

    @cached_property
    def worlds(self) -> tuple[WorldEntry, ...]:
        """The worlds of the run, in the order of its cells.

        Raises:
            DamagedRecordError: they are not those that the run was asked for.

        """
        worlds = tuple(world.entry for world in read_worlds(self._registry))
        self._require(wrong_worlds(self.entry, worlds, self._partition_names()), "worlds")
        return worlds

    @property
    def outcomes(self) -> dict[str, WorldOutcome]:
        """How every world stands; one that was never noted has not started.

        What an outcome counts (turns, calls, cost) is a note: `verify` sums it again.

        Raises:
            DamagedRecordError: an outcome contradicts its witness, or the run log.

        """
        stored = read_worlds(self._registry)
        for world in stored:
            wrong = wrong_outcome(world.entry, world.witness, world.outcome)
            self._require(wrong, f"world {world.entry.world_id}")
        # An end is logged before it is noted, so the log is read after the notes.
        self._require(wrong_end([world.outcome for world in stored], self.log), "run log")
        known = {world.entry.world_id: world.outcome for world in stored}
        return {name: outcome or WorldOutcome(world_id=name) for name, outcome in known.items()}

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

    @property
    def journal(self) -> tuple[OpenTick, ...] | None:
        """The open ticks that are in no record yet, with their calls.

        None where there is no journal, or none that can be used: `journal_fault` says so. In a run
        that came to its end nothing is open, whatever its journal has become.
        """
        return self._journal()[0]

    @property
    def journal_fault(self) -> str:
        """Why the call journal cannot be used; empty if it can, or if there is none."""
        return self._journal()[1]

    def _journal(self) -> tuple[tuple[OpenTick, ...] | None, str]:
        ended = last_end(self.log)
        if isinstance(ended, RunClosed) and not ended.holds_open:
            return (), ""
        if not exists(self.folder / JOURNAL_NAME):
            return None, ""
        try:
            held = read_journal(self.folder, self.entry.run_id)
        except DamagedRecordError as error:
            return None, error.wrong
        # The records are read after it, so that no tick is taken for open that is in one by then.
        known = {world.world_id for world in self.worlds}
        worlds = known.intersection(tick.opening.world for tick in held)
        heads = {name: self.head(name) for name in worlds}
        ticks = tuple(
            tick
            for tick in held
            if (head := heads.get(tick.opening.world)) is None or tick.opening.tick > head.tick
        )
        return ticks, ""

    @cached_property
    def personas(self) -> tuple[Persona, ...]:
        """The population in its order.

        Raises:
            DamagedRecordError: it is not the one whose hash the run was asked with.

        """
        personas = read_personas(self._registry)
        if population_hash(personas) != self.entry.hashes.get("population"):
            self._require("The population does not match its hash.", "personas")
        return personas

    @cached_property
    def graph(self) -> tuple[Node, ...]:
        """Who knows whom, a node for each persona in their order; empty if the run has no graph.

        Raises:
            DamagedRecordError: it is not the one whose hash the run was asked with.

        """
        asked = self.entry.hashes.get("graph")
        if asked is None:
            return ()  # and there is no table of it either
        nodes = read_graph(self._registry)
        if graph_hash(nodes) != asked or len(nodes) != len(self.personas):
            self._require("The graph does not match its hash.", "graph")
        return nodes

    @property
    def held_out(self) -> dict[str, str]:
        """The held-out values by source row: for scoring alone.

        Raises:
            DamagedRecordError: they are not those whose hash the run was asked with.

        """
        values = read_held_out(self._registry)
        if held_out_hash(values) != self.entry.hashes.get("held_out", held_out_hash({})):
            self._require("The held-out values do not match their hash.", "held_out")
        return values

    def has(self, world_id: str) -> bool:
        """Say whether a world has a record yet.

        Raises:
            StorageError: the system does not say.

        """
        return exists(partition_path(self.folder, world_id))

    def header(self, world_id: str) -> Header:
        """Give the header of a world's record.

        Raises:
            DamagedRecordError: there is none, it is not that of this world, or not the one that
                its events follow.

        """
        return self._header(self._world(world_id))

    def head(self, world_id: str) -> Head | None:
        """Give where a world's record says that it ends; None if it has none yet.

        Raises:
            DamagedRecordError: it cannot be read, or is missing though it was there.

        """
        if not self._has_record(self._world(world_id)):
            return None
        return read_head(self.partition(world_id))[0]

    def events(self, world_id: str, kinds: Collection[str] | None = None) -> Iterator[Event]:
        """Go through a world's events in order: all, or those of some kinds. None if not started.

        Every event of the world is checked, those of other kinds too.

        Raises:
            DamagedRecordError: names the first event that is wrong.

        """
        world = self._world(world_id)
        witness = world.witness
        if not self._has_record(world):
            return
        self._header(world)
        database = self.partition(world_id)
        stored, _ = read_head(database)
        walker = Walker(world_id, read_header(database))
        for row in walked(walker, read_rows(database, stored.seq), stored, witness):
            seq, tick, kind, persona, content, payload, _ = row
            if kinds is None or kind in kinds:
                yield Event(
                    seq=seq,
                    tick=tick,
                    payload=decode_event(kind, payload, world_id, seq),
                    persona=persona,
                    content=content,
                )
        if witness is None or witness.seq < stored.seq:
            self.check_witness(world_id, stored)

    def check_witness(self, world_id: str, head: Head) -> None:
        """Check that what a record holds up to its head was witnessed, if the run has ended.

        Raises:
            DamagedRecordError: the witness is missing, or has been set back.

        """
        # In this order, so that a run that goes on or ends meanwhile is not mistaken for a damaged
        # one: what a log that has ended follows was noted before it.
        log = self.log
        witness = self._world(world_id).witness
        wrong = wrong_witness(head, witness, log)
        if wrong is not None:
            raise DamagedRecordError(wrong, where=world_id)

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

    def let_go(self, world_id: str) -> None:
        """Close the record of a world, if it is open.

        Raises:
            StorageError: SQLite could not close it.

        """
        database = self._partitions.pop(world_id, None)
        if database is not None:
            database.close()

    def _world(self, world_id: str) -> StoredWorld:
        return read_world(self._registry, world_id)

    def _has_record(self, world: StoredWorld) -> bool:
        name = world.entry.world_id
        if self.has(name):
            return True
        if world.witness is not None and world.witness.seq >= 0:
            raise DamagedRecordError(MISSING, where=name)
        return False

    def _header(self, world: StoredWorld) -> Header:
        name = world.entry.world_id
        database = self.partition(name)
        payload = read_header(database)
        header = decode_header(payload, name, str(database.path))
        wrong = wrong_header(self.entry, world.entry, header, self._scenarios)
        if wrong is not None:
            raise DamagedRecordError(wrong, where=name)
        for row in read_rows(database, 0):
            Walker(name, payload).step(row)
        return header

    @cached_property
    def _scenarios(self) -> frozenset[str]:
        return frozenset(map(hash_hex, asked(self.entry).scenarios))

    def _partition_names(self) -> set[str]:
        try:
            found = [path.name for path in (self.folder / WORLDS_NAME).iterdir()]
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise translate_os(error, self.folder / WORLDS_NAME) from error
        return {match[1] for name in found if (match := _PARTITION.fullmatch(name))}

    def _require(self, wrong: str | None, place: str) -> None:
        if wrong is not None:
            raise DamagedRecordError(wrong, where=f"{self._registry.path}: {place}")
