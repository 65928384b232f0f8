"""A run as it is stored in its own folder: a registry, a partition for each world, a journal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Self

from perdure.records.journal import OpenTick
from perdure.trace.failures import translate_os
from perdure.trace.files import exists
from perdure.trace.journal_file import JOURNAL_NAME
from perdure.trace.journal_reader import read_journal
from perdure.trace.opening import open_reader
from perdure.trace.paths import partition_path
from perdure.trace.registry_file import REGISTRY_NAME, WORLDS_NAME
from perdure.trace.schema import PARTITION, REGISTRY
from perdure.trace.sql_rows import SqlRegistry, SqlWorld

# How many partitions a reader keeps open.
_OPEN_MAX = 8
_PARTITION = re.compile(r"([0-9a-f]{12})\.db")


class FolderStore:
    """Reads the databases of a run's folder, live or finished."""

    def __init__(self, folder: Path, registry: SqlRegistry) -> None:
        self.folder = folder
        self._registry = registry
        self._worlds: dict[str, SqlWorld] = {}

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the run in a folder.

        Raises:
            DamagedRecordError: there is no run, or not one that can be read.
            StorageError: storage failed.

        """
        return cls(folder, SqlRegistry(open_reader(folder / REGISTRY_NAME, REGISTRY)))

    @property
    def registry(self) -> SqlRegistry:
        """The rows of the registry."""
        return self._registry

    def has(self, world_id: str) -> bool:
        """Say whether a world has a record.

        Raises:
            StorageError: the system does not say.

        """
        return exists(partition_path(self.folder, world_id))

    def recorded(self) -> set[str]:
        """Give the ids of all worlds that have a record.

        Raises:
            StorageError: the system does not say.

        """
        try:
            found = [path.name for path in (self.folder / WORLDS_NAME).iterdir()]
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise translate_os(error, self.folder / WORLDS_NAME) from error
        return {match[1] for name in found if (match := _PARTITION.fullmatch(name))}

    def world(self, world_id: str) -> SqlWorld:
        """Give the rows of a world's record; the last few that were used stay open.

        Raises:
            DamagedRecordError: there is none, or it is not one.
            StorageError: storage failed.

        """
        rows = self._worlds.pop(world_id, None)
        if rows is None:
            rows = SqlWorld(open_reader(partition_path(self.folder, world_id), PARTITION))
        self._worlds[world_id] = rows
        if len(self._worlds) > _OPEN_MAX:
            self._worlds.pop(next(iter(self._worlds))).database.close()
        return rows

    def let_go(self, world_id: str) -> None:
        """Close the record of a world, if it is open.

        Raises:
            StorageError: SQLite could not close it.

        """
        rows = self._worlds.pop(world_id, None)
        if rows is not None:
            rows.database.close()

    def journal(self, run_id: str) -> tuple[OpenTick, ...] | None:
        """Give the ticks that the call journal holds open; None if there is no journal.

        Raises:
            DamagedRecordError: it cannot be used; says why.
            StorageError: storage failed.

        """
        if not exists(self.folder / JOURNAL_NAME):
            return None
        return read_journal(self.folder, run_id)

    def close(self) -> None:
        """Close every file.

        Raises:
            StorageError: SQLite could not close one.

        """
        for database in (
            *(rows.database for rows in self._worlds.values()),
            self._registry.database,
        ):
            database.close()
        self._worlds.clear()
