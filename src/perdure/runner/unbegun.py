"""What is made for a drive before it begins: taken away again if it never does."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from perdure.base.clock import Clock
from perdure.trace.drive_file import DRIVE_NAME
from perdure.trace.failures import translate_os
from perdure.trace.lock import LOCK_NAME, GovernorLock


@asynccontextmanager
async def unless_begun(folder: Path, parts: tuple[str, ...], clock: Clock) -> AsyncIterator[None]:
    """Make a folder and hold its lock; if no ledger is born in it, leave everything as it was.

    `parts` are what may come to lie in it before its ledger does. Whatever of them was there
    before stays.

    Raises:
        HeldError: another process works in it.
        StorageError: it cannot be made.

    """
    made, new = await asyncio.to_thread(_make, folder, (*parts, LOCK_NAME))
    lock = await GovernorLock.acquire(folder, clock)
    try:
        yield
    finally:
        if not (folder / DRIVE_NAME).exists():
            # While the lock is held: who comes next finds nothing, and not the half of it.
            await asyncio.to_thread(_take_away, new, made)
        lock.release()


def _make(folder: Path, parts: tuple[str, ...]) -> tuple[list[Path], list[Path]]:
    """Make a folder; give what was made, the innermost first, and which parts it does not have."""
    missing = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise translate_os(error, folder) from error
    return missing, [folder / name for name in parts if not os.path.lexists(folder / name)]


def _take_away(new: list[Path], made: list[Path]) -> None:
    for place in new:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            with suppress(OSError):
                place.unlink()
    for place in made:
        # What somebody else put there meanwhile stays, and so does what it lies in.
        with suppress(OSError):
            place.rmdir()
