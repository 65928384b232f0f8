"""The registry in one SQLite file: the run as asked, its worlds, its log. Blocking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Self, TypeAlias

from perdure.base.canonical import encode
from perdure.base.errors import InternalError, StorageError, StorageFullError
from perdure.records.events import Head
from perdure.records.graph import Node
from perdure.records.persona import Persona
from perdure.records.registry import (
    ENDED,
    LogHead,
    LogPayload,
    RunEntry,
    RunOpened,
    RunPaused,
    WorldEntry,
    WorldOutcome,
)
from perdure.trace import reserve
from perdure.trace.birth import give_birth
from perdure.trace.database import Database
from perdure.trace.files import make_folder, require_free
from perdure.trace.opening import open_writer
from perdure.trace.partition_file import claim, require_epoch
from perdure.trace.registry_rows import StoredWorld, read_entry, read_worlds
from perdure.trace.run_log import INSERT_LOG, first_log_head, read_log, seal_log
from perdure.trace.schema import REGISTRY
from perdure.trace.sittings import may_hold_open
from perdure.trace.sql_rows import SqlRegistry

REGISTRY_NAME = "run.db"
WORLDS_NAME = "worlds"

_FIRST_EPOCH = 1
NO_HEADS: Mapping[str, Head] = MappingProxyType({})
Statement: TypeAlias = tuple[str, tuple[int | str | bytes, ...]]

_UPDATE_WITNESS = "UPDATE worlds SET witness = ? WHERE world_id = ?"
_UPDATE_OUTCOME = "UPDATE worlds SET outcome = ? WHERE world_id = ?"


class RegistryFile:
    """Writes a run's registry under one epoch."""

    def __init__(
        self,
        database: Database,
        *,
        entry: RunEntry,
        worlds: tuple[StoredWorld, ...],
        log_head: LogHead,
        epoch: int,
        held_open: bool = False,
    ) -> None:
        self._database = database
        self._folder = database.path.parent
        self.entry = entry
        self.worlds = tuple(world.entry for world in worlds)
        self.witnesses = {world.entry.world_id: world.witness for world in worlds}
        self.outcomes = {world.entry.world_id: world.outcome for world in worlds}
        self.log_head = log_head
        self.epoch = epoch
        # Whether ticks may be open in the call journal since before this epoch.
        self.held_open = held_open

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        entry: RunEntry,
        worlds: Sequence[WorldEntry],
        personas: Sequence[Persona],
        held_out: Mapping[str, str],
        graph: Sequence[Node] = (),
    ) -> Self:
        """Give birth to the registry of a run and open it under the first epoch.

        Raises:
            HeldError: the folder holds a run already.
            StorageError: storage failed.

        """
        payload = encode(entry)
        opened, log_head = seal_log(first_log_head(payload), RunOpened(epoch=_FIRST_EPOCH))

        def fill(database: Database) -> None:
            database.execute("INSERT INTO run VALUES (1, ?)", (payload,))
            database.execute("INSERT INTO lease VALUES (1, ?)", (_FIRST_EPOCH,))
            database.execute_many(
                "INSERT INTO worlds VALUES (?, ?, ?, NULL, NULL)",
                ((place, world.world_id, encode(world)) for place, world in enumerate(worlds)),
            )
            database.execute_many(
                "INSERT INTO personas VALUES (?, ?, ?)",
                ((place, one.id, encode(one)) for place, one in enumerate(personas)),
            )
            if graph:
                database.execute(REGISTRY.besides)
                database.execute_many(
                    "INSERT INTO graph VALUES (?, ?)",
                    ((place, encode(one)) for place, one in enumerate(graph)),
                )
            database.execute_many("INSERT INTO held_out VALUES (?, ?)", sorted(held_out.items()))
            database.execute(INSERT_LOG, opened)

        path = folder / REGISTRY_NAME
        require_free(path)
        make_folder(folder / WORLDS_NAME)
        reserve.put_aside(folder)
        give_birth(path, REGISTRY, fill, lambda: None)
        return cls(
            open_writer(path, REGISTRY),
            entry=entry,
            worlds=tuple(StoredWorld(entry=world) for world in worlds),
            log_head=log_head,
            epoch=_FIRST_EPOCH,
        )

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the registry of a run under the next epoch, which its log records.

        Raises:
            DamagedRecordError: it does not hold what was written.
            StorageFullError: there is no room to put some aside, or to open it; the log says so.
            StorageError: storage failed.

        """
        reserve.put_aside(folder)
        try:
            return cls._open(folder)
        except StorageFullError as error:
            if reserve.give_up(folder):
                with suppress(StorageError):
                    cls._say_full(folder, error)
            raise

    @classmethod
    def _say_full(cls, folder: Path, error: StorageFullError) -> None:
        registry = cls._open(folder)
        try:
            registry.log(
                RunPaused(
                    cause=str(error),
                    exit_status=error.exit_status,
                    holds_open=registry.held_open,
                )
            )
        finally:
            registry.close()

    @classmethod
    def _open(cls, folder: Path) -> Self:
        database = open_writer(folder / REGISTRY_NAME, REGISTRY)
        try:
            stored = SqlRegistry(database)
            payload, entry = read_entry(stored)
            worlds = read_worlds(stored)
            rows = read_log(stored, payload)
            head = first_log_head(payload)
            if rows:
                head = LogHead(seq=rows[-1].seq, chain=rows[-1].chain)
            with database.transaction():
                (last_epoch,) = database.fetch_one("SELECT epoch FROM lease WHERE id = 1")
                opened, head = seal_log(head, RunOpened(epoch=last_epoch + 1))
                claim(database, last_epoch + 1)
                database.execute(INSERT_LOG, opened)
        except BaseException:
            database.close()
            raise
        return cls(
            database,
            entry=entry,
            worlds=worlds,
            log_head=head,
            epoch=last_epoch + 1,
            held_open=may_hold_open(row.payload for row in rows),
        )

    def log(
        self,
        payload: LogPayload,
        heads: Mapping[str, Head] = NO_HEADS,
        outcomes: Sequence[WorldOutcome] = (),
    ) -> LogHead:
        """Append a row to the run log, and note with it where partitions end and worlds stand.

        On a full disk, the room put aside is used for the last word of a run: a row that ends it.

        Raises:
            InternalError: there is no such world, or its witness would go back.
            StaleWriterError: a later epoch has claimed the run.
            StorageFullError: there was no room, for a last word not even so.
            StorageError: storage failed.

        """
        row, head = seal_log(self.log_head, payload)
        statements = [(INSERT_LOG, row), *self._notes(heads, outcomes)]
        try:
            self._write(statements)
        except StorageFullError:
            # Any other row can wait: whoever must do without it stops, and says so with this room.
            if not isinstance(payload, ENDED) or not reserve.give_up(self._folder):
                raise
            self._write(statements)
        self.log_head = head
        self._noted(heads, outcomes)
        return head

    def log_together(self, payloads: Sequence[LogPayload]) -> LogHead:
        """Append several rows to the run log, all of them or none.

        Raises:
            StaleWriterError: a later epoch has claimed the run.
            StorageFullError: there was no room.
            StorageError: storage failed.

        """
        head, rows = self.log_head, []
        for payload in payloads:
            row, head = seal_log(head, payload)
            rows.append((INSERT_LOG, row))
        self._write(rows)
        self.log_head = head
        return head

    def witness(self, heads: Mapping[str, Head], outcomes: Sequence[WorldOutcome] = ()) -> None:
        """Note outside the partitions where they end, and how their worlds stand.

        Raises:
            InternalError: there is no such world, or it would go back.
            StaleWriterError: a later epoch has claimed the run.
            StorageError: storage failed.

        """
        self._write(self._notes(heads, outcomes))
        self._noted(heads, outcomes)

    def require_onward(self, world_id: str, head: Head) -> None:
        """Refuse a witness that would go back.

        Raises:
            InternalError: it would, or there is no such world.

        """
        self.require_known(world_id)
        known = self.witnesses[world_id]
        if known is not None and head.seq < known.seq:
            raise InternalError(f"The witness of {world_id} cannot go back to {head.seq}.")

    def require_known(self, world_id: str) -> None:
        """Refuse a world that the run does not have.

        Raises:
            InternalError: the run does not have it.

        """
        if world_id not in self.witnesses:
            raise InternalError(f"The run has no world {world_id}.")

    def finish(self) -> bool:
        """Put the registry into its one file. False if a reader or a full disk was in the way.

        Raises:
            StorageError: storage failed.

        """
        return self._database.leave_wal()

    def close(self) -> None:
        """Close the file.

        Raises:
            StorageError: storage failed.

        """
        self._database.close()

    def _notes(
        self, heads: Mapping[str, Head], outcomes: Sequence[WorldOutcome]
    ) -> list[Statement]:
        for world_id, head in heads.items():
            self.require_onward(world_id, head)
        for one in outcomes:
            self.require_known(one.world_id)
        return [
            *((_UPDATE_WITNESS, (encode(head), world)) for world, head in heads.items()),
            *((_UPDATE_OUTCOME, (encode(one), one.world_id)) for one in outcomes),
        ]

    def _noted(self, heads: Mapping[str, Head], outcomes: Sequence[WorldOutcome]) -> None:
        self.witnesses.update(heads)
        self.outcomes.update({one.world_id: one for one in outcomes})

    def _write(self, statements: Sequence[Statement]) -> None:
        with self._database.transaction():
            require_epoch(self._database, self.epoch)
            for sql, values in statements:
                self._database.execute(sql, values)
        self._database.checkpoint_if_due()
