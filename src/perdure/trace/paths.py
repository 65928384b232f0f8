"""Where a run's files are."""

from __future__ import annotations

from pathlib import Path

from perdure.base.errors import InternalError
from perdure.base.text import is_plain_identifier
from perdure.trace.registry_file import WORLDS_NAME


def partition_path(folder: Path, world_id: str) -> Path:
    """Give the path of a world's file.

    Raises:
        InternalError: the world's id is not a plain name.

    """
    if not is_plain_identifier(world_id):
        raise InternalError(f"{world_id!r} cannot be the name of a file.")
    return folder / WORLDS_NAME / f"{world_id}.db"
