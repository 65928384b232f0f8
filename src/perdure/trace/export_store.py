"""A run as it is stored in an export: the same rows in Parquet files.

No row of a file is read before the file is known to have the size and hash that the manifest says.
What the rows say is then checked by whoever reads them, as for a run's own folder: chains, hashes
of the inputs, witnesses, the run log.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from perdure.base.errors import DamagedRecordError
from perdure.records.journal import OpenTick
from perdure.trace.decoding import decode
from perdure.trace.export_tables import BLOBS, EVENTS, HELD_OUT, LOG, OPEN, PEOPLE, RUN, WORLDS
from perdure.trace.exported_world import ExportedRows
from perdure.trace.failures import translate_os
from perdure.trace.files import require_regular
from perdure.trace.manifest import (
    BLOBS_NAME,
    EVENTS_NAME,
    EXPORT_FORMAT,
    HELD_OUT_NAME,
    LOG_NAME,
    MANIFEST_NAME,
    OPEN_NAME,
    PEOPLE_NAME,
    RUN_NAME,
    WORLDS_NAME,
    ExportedFile,
    Manifest,
    world_file,
)
from perdure.trace.parquet_table import Columns, ParquetTable
from perdure.trace.stored import Unchecked

# How many worlds a reader keeps open.
_OPEN_MAX = 8
_CHUNK_BYTES = 1 << 20

_LIGHT = ("position", "world", "entry", "witness", "outcome")
_HEAD = ("seq", "chain", "content", "digest", "tick", "log_seq", "log_chain")
_STORED = ("entry", "witness", "outcome")


class ExportStore:
    """Reads an export, wherever it was brought to."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._worlds: dict[str, ExportedRows] = {}

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the export in a folder.

        Raises:
            DamagedRecordError: it is none that can be read, or one of another format.
            StorageError: storage failed.

        """
        return cls(folder, read_manifest(folder))

    @cached_property
    def registry(self) -> ExportedRegistry:
        """The rows of the registry."""
        return ExportedRegistry(self)

    def has(self, world_id: str) -> bool:
        """Say whether a world has a record."""
        return world_id in self.registry.places

    def recorded(self) -> set[str]:
        """Give the ids of all worlds that have a record."""
        return set(self.registry.places)

    def world(self, world_id: str) -> ExportedRows:
        """Give the rows of a world's record; the last few that were used stay open.

        Raises:
            DamagedRecordError: there is none, or it is not what the manifest says.

        """
        rows = self._worlds.pop(world_id, None)
        if rows is None:
            place = self.registry.places.get(world_id)
            if place is None:
                raise DamagedRecordError("Its record is not in this export.", where=world_id)
            rows = ExportedRows(
                self.folder / world_file(EVENTS_NAME, world_id),
                place.head,
                lambda: self.registry.header(place),
                self.table(world_file(EVENTS_NAME, world_id), EVENTS),
                lambda: self.table(world_file(BLOBS_NAME, world_id), BLOBS),
            )
        self._worlds[world_id] = rows
        if len(self._worlds) > _OPEN_MAX:
            self._worlds.pop(next(iter(self._worlds))).close()
        return rows

    def let_go(self, world_id: str) -> None:
        """Close the record of a world, if it is open."""
        rows = self._worlds.pop(world_id, None)
        if rows is not None:
            rows.close()

    def journal(self, run_id: str) -> tuple[OpenTick, ...] | None:
        """Give the ticks that the run's call journal held open; None if it had no journal.

        Raises:
            DamagedRecordError: the journal could not be used; says why.

        """
        if self.manifest.journal_fault:
            raise DamagedRecordError(self.manifest.journal_fault, where=run_id)
        if OPEN_NAME not in self.manifest.files:
            return None
        rows = self.read(OPEN_NAME, OPEN, ("position", "payload"), ("payload",))
        where = f"{self.folder / OPEN_NAME}"
        return tuple(decode(payload, OpenTick, where) for _, payload in rows)

    def close(self) -> None:
        """Close every file."""
        for rows in self._worlds.values():
            rows.close()
        self._worlds.clear()

    def check(self, name: str) -> Path:
        """Check a file against the manifest, and give its path.

        Raises:
            DamagedRecordError: it is missing, or not the one that was exported.
            StorageError: storage failed.

        """
        path = self.folder / name
        said = self.manifest.files.get(name)
        if said is None:
            raise DamagedRecordError(
                "The manifest of the export has no such file.", where=str(path)
            )
        require_regular(path)
        found = describe(path, said.rows)
        if found != said:
            raise DamagedRecordError(
                f"The file is not the one that was exported: it has the hash {found.sha256[:12]},"
                f" and the manifest says {said.sha256[:12]}.",
                where=str(path),
            )
        return path

    def table(self, name: str, columns: Columns) -> ParquetTable:
        """Open a table, once its file has been checked.

        Raises:
            DamagedRecordError: it is not what was exported.
            StorageError: storage failed.

        """
        return ParquetTable(self.check(name), columns, str(self.folder / name))

    def read(
        self, name: str, columns: Columns, wanted: tuple[str, ...], stored: tuple[str, ...] = ()
    ) -> Iterator[Unchecked]:
        """Go through columns of a table, and close it.

        Raises:
            DamagedRecordError: it is not what was exported.
            StorageError: storage failed.

        """
        table = self.table(name, columns)
        try:
            yield from table.rows(wanted, stored)
        finally:
            table.close()


class _Place(NamedTuple):
    """Where a world's row is in its table, and where its record ends."""

    group: int
    row: int
    head: Unchecked


class ExportedRegistry:
    """The rows of a registry in an export."""

    def __init__(self, store: ExportStore) -> None:
        self._store = store
        self._entry = self._read_entry()
        self._log = tuple(
            store.read(LOG_NAME, LOG, ("seq", "kind", "payload", "hash"), ("payload",))
        )
        self._worlds: list[Unchecked] = []
        self.places: dict[str, _Place] = {}
        table = store.table(WORLDS_NAME, WORLDS)
        try:
            for group in range(table.groups):
                columns = (*_LIGHT, *_HEAD)
                rows = table.values(table.group(group, columns, _STORED), columns)
                for number, row in enumerate(rows):
                    light, head = row[: len(_LIGHT)], row[len(_LIGHT) :]
                    self._worlds.append(light)
                    if any(value is not None for value in head):
                        self.places[light[1]] = _Place(group, number, head)
        finally:
            table.close()

    @property
    def path(self) -> Path:
        """The folder of the export."""
        return self._store.folder

    def entry(self) -> Any:
        """Give the bytes of the run as asked."""
        return self._entry

    def log(self) -> tuple[Unchecked, ...]:
        """Give the run log in order."""
        return self._log

    def first_log(self) -> Unchecked | None:
        """Give the first row of the run log."""
        return next((row[1:] for row in self._log if row[0] == 0), None)

    def worlds(self) -> list[Unchecked]:
        """Give the worlds in order."""
        return self._worlds

    def world(self, world_id: str) -> list[Unchecked]:
        """Give the rows of one world."""
        return [self._worlds[place][1:] for place in self._by_id.get(world_id, ())]

    def personas(self) -> Iterator[Unchecked]:
        """Give the population in order."""
        columns = ("position", "persona", "payload")
        return self._store.read(PEOPLE_NAME, PEOPLE, columns, ("payload",))

    def graph(self) -> Iterator[Unchecked]:
        """Give the nodes of the graph in order."""
        return self._store.read(PEOPLE_NAME, PEOPLE, ("position", "node"), ("node",))

    def held_out(self) -> list[Unchecked] | None:
        """Give the held-out values by persona; None if they were left out."""
        if HELD_OUT_NAME not in self._store.manifest.files:
            return None
        return list(self._store.read(HELD_OUT_NAME, HELD_OUT, ("persona", "value")))

    def header(self, place: _Place) -> Any:
        """Give the bytes of a world's header."""
        table = self._store.table(WORLDS_NAME, WORLDS)
        try:
            group = table.group(place.group, ("header",), ("header",))
            return group.column("header")[place.row].as_py()
        finally:
            table.close()

    @cached_property
    def _by_id(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, row in enumerate(self._worlds):
            found.setdefault(row[1], []).append(place)
        return found

    def _read_entry(self) -> Any:
        rows = list(self._store.read(RUN_NAME, RUN, ("entry",), ("entry",)))
        return rows[0][0] if len(rows) == 1 else None


def read_manifest(folder: Path) -> Manifest:
    """Read what an export says of itself.

    Raises:
        DamagedRecordError: it cannot be read, or is of another format.
        StorageError: storage failed.

    """
    path = folder / MANIFEST_NAME
    require_regular(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise translate_os(error, path) from error
    found = _format_of(data)
    if found != EXPORT_FORMAT:
        raise DamagedRecordError(
            f"This export has the format {found}, and only the format {EXPORT_FORMAT} can be read."
            if isinstance(found, int)
            else "The manifest is not one of an export.",
            where=str(path),
            remedy="Export the run again, with `perdure export`.",
        )
    return decode(data, Manifest, str(path))


def describe(path: Path, rows: int) -> ExportedFile:
    """Measure a file, and hash it.

    Raises:
        StorageError: storage failed.

    """
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise translate_os(error, path) from error
    return ExportedFile(rows=rows, bytes=size, sha256=digest.hexdigest())


def _format_of(data: bytes) -> object:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found.get("format") if isinstance(found, dict) else None
