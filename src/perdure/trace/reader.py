"""Reading a run, live or finished, without ever writing to it.

Every event that is handed out has been checked against its chain on the way, the end of a record
against its witness, and what the registry says against the run as asked, the records and the run
log: nothing that is damaged is ever read as if it were not.
"""

from __future__ import annotations

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
from perdure.trace.decoding import decode_event
from perdure.trace.folder_store import FolderStore
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
from perdure.trace.rows import decode_header, read_head, read_header
from perdure.trace.run_log import StoredLog, read_log
from perdure.trace.sealing import Row
from perdure.trace.sittings import last_end
from perdure.trace.stored import RunStore, WorldRows
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


class RunReader:
    """Reads a run from where it is stored, its folder or an export of it.

    What it says of a live run is true of the moment of the question.
    """

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.entry_bytes, self.entry = read_entry(store.registry)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the run in a folder. For an export of one see `open_record`.

        Raises:
            DamagedRecordError: there is no run, or not one that can be read.
            StorageError: storage failed.

        """
        return cls.over(FolderStore.open(folder))

    @classmethod
    def over(cls, store: RunStore) -> Self:
        """Read what a store has; the store is closed with the reader.

        Raises:
            DamagedRecordError: it holds no run that can be read.
            StorageError: storage failed.

        """
        try:
            return cls(store)
        except BaseException:
            store.close()
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
        self.store.close()

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
        worlds = tuple(world.entry for world in read_worlds(self.store.registry))
        self._require(wrong_worlds(self.entry, worlds, self.store.recorded()), "worlds")
        return worlds

    @property
    def outcomes(self) -> dict[str, WorldOutcome]:
        """How every world stands; one that was never noted has not started.

        What an outcome counts (turns, calls, cost) is a note: `verify` sums it again.

        Raises:
            DamagedRecordError: an outcome contradicts its witness, or the run log.

        """
        stored = read_worlds(self.store.registry)
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
        return {world.entry.world_id: world.witness for world in read_worlds(self.store.registry)}

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
        return read_log(self.store.registry, self.entry_bytes)

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
        try:
            held = self.store.journal(self.entry.run_id)
        except DamagedRecordError as error:
            return None, error.wrong
        if held is None:
            return None, ""
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
        personas = read_personas(self.store.registry)
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
        nodes = read_graph(self.store.registry)
        if graph_hash(nodes) != asked or len(nodes) != len(self.personas):
            self._require("The graph does not match its hash.", "graph")
        return nodes

    @property
    def held_out(self) -> dict[str, str]:
        """The held-out values by source row: for scoring alone. None are there if `withheld`.

        Raises:
            DamagedRecordError: they are not those whose hash the run was asked with.

        """
        values = read_held_out(self.store.registry)
        if values is None:
            return {}
        if held_out_hash(values) != self.entry.hashes.get("held_out", held_out_hash({})):
            self._require("The held-out values do not match their hash.", "held_out")
        return values

    @property
    def withheld(self) -> bool:
        """Whether the run has held-out values that were left out of this copy."""
        asked = self.entry.hashes.get("held_out", held_out_hash({}))
        return asked != held_out_hash({}) and read_held_out(self.store.registry) is None

    def has(self, world_id: str) -> bool:
        """Say whether a world has a record yet.

        Raises:
            StorageError: the system does not say.

        """
        return self.store.has(world_id)

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
        for row in self.rows(world_id):
            if kinds is None or row[2] in kinds:
                yield event_of(row, world_id)

    def rows(self, world_id: str) -> Iterator[Row]:
        """Go through a world's events as they are stored, in order. None if it has not started.

        Raises:
            DamagedRecordError: names the first event that is wrong.

        """
        world = self._world(world_id)
        witness = world.witness
        if not self._has_record(world):
            return
        self._header(world)
        rows = self.partition(world_id)
        stored, _ = read_head(rows)
        walker = Walker(world_id, read_header(rows))
        yield from walked(walker, rows.rows(stored.seq), stored, witness)
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
        rows = self.partition(world_id)
        where = f"{world_id}: blob {name}"
        try:
            key = bytes.fromhex(name)
        except ValueError as error:
            raise DamagedRecordError("This is not a hash.", where=where) from error
        data = rows.blob(key)
        if data is None:
            raise DamagedRecordError("The bytes that an event cites are missing.", where=where)
        if not isinstance(data, bytes) or sha256(data) != key:
            raise DamagedRecordError("The bytes do not match their hash.", where=where)
        return data

    def partition(self, world_id: str) -> WorldRows:
        """Give the rows of a world's record, for whoever checks or copies them.

        Raises:
            DamagedRecordError: there is none, or it is not one.

        """
        return self.store.world(world_id)

    def let_go(self, world_id: str) -> None:
        """Close the record of a world, if it is open.

        Raises:
            StorageError: SQLite could not close it.

        """
        self.store.let_go(world_id)

    def _world(self, world_id: str) -> StoredWorld:
        return read_world(self.store.registry, world_id)

    def _has_record(self, world: StoredWorld) -> bool:
        name = world.entry.world_id
        if self.has(name):
            return True
        if world.witness is not None and world.witness.seq >= 0:
            raise DamagedRecordError(MISSING, where=name)
        return False

    def _header(self, world: StoredWorld) -> Header:
        name = world.entry.world_id
        rows = self.partition(name)
        payload = read_header(rows)
        header = decode_header(payload, name, str(rows.path))
        wrong = wrong_header(self.entry, world.entry, header, self._scenarios)
        if wrong is not None:
            raise DamagedRecordError(wrong, where=name)
        for row in rows.rows(0):
            Walker(name, payload).step(row)
        return header

    @cached_property
    def _scenarios(self) -> frozenset[str]:
        return frozenset(map(hash_hex, asked(self.entry).scenarios))

    def _require(self, wrong: str | None, place: str) -> None:
        if wrong is not None:
            raise DamagedRecordError(wrong, where=f"{self.store.registry.path}: {place}")


def event_of(row: Row, world_id: str) -> Event:
    """Decode a stored event.

    Raises:
        DamagedRecordError: it is not one.

    """
    seq, tick, kind, persona, content, payload, _ = row
    decoded = decode_event(kind, payload, world_id, seq)
    return Event(seq=seq, tick=tick, payload=decoded, persona=persona, content=content)
