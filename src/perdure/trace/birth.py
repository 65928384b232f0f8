"""How a database is born: whole, under a temporary name, and only then under its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from perdure.trace import files
from perdure.trace.database import Database
from perdure.trace.opening import open_new
from perdure.trace.schema import FORMAT, Layout


def give_birth(
    path: Path, layout: Layout, fill: Callable[[Database], None], before_rename: Callable[[], None]
) -> None:
    """Make a database with its tables and first rows; there is never a half of it at `path`.

    What an earlier attempt left under the temporary name is removed first. `before_rename` is
    called when the file is whole and durable and does not have its name yet.

    Raises:
        HeldError: the name is taken.
        StorageError: as `failures.translate` says.

    """
    files.require_free(path)
    files.make_folder(path.parent)
    unborn = path.with_name(path.name + ".new")
    # The database goes last: a log must never find a database to which it does not belong.
    for suffix in (*files.SIDE_FILES, ""):
        files.remove(unborn.with_name(unborn.name + suffix))
    files.sync_folder(path.parent)
    database = open_new(unborn)
    try:
        with database.transaction():
            database.execute(f"PRAGMA application_id = {layout.application_id}")
            database.execute(f"PRAGMA user_version = {FORMAT}")
            for table in layout.tables:
                database.execute(table)
            fill(database)
        # Closing would do this too, and say nothing of a failure.
        database.empty_log()
    finally:
        database.close()
    files.sync_folder(path.parent)
    before_rename()
    files.rename(unborn, path)
    files.sync_folder(path.parent)
