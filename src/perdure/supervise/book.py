"""A supervisor's own papers: its standing, the receipt, and the request to stop.

None of them decides anything by itself; all are replaced as a whole. What cannot be written, the
disk being full, is told on stderr once and tried again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.supervise.acceptance import Receipt
from perdure.supervise.lock import SUPERVISOR_LOCK, is_taken
from perdure.supervise.slot import Slot, is_blank, read
from perdure.supervise.stored import Kept, Standing

FOLDER_NAME = "supervise"
STANDING_NAME = "supervisor.json"
RECEIPT_NAME = "receipt.json"
STOP_NAME = "stop"


class Book:
    """The papers of one supervisor, in its folder."""

    def __init__(self, folder: Path, *, tell: Callable[[str], None]) -> None:
        self.folder = folder
        self._slot = Slot(folder / STANDING_NAME)
        self._tell = tell
        self._is_told = False

    def kept(self) -> tuple[Kept, bool]:
        """Read what an earlier supervisor left; and whether it could be read, if it was there."""
        found = read(self.folder / STANDING_NAME, Standing)
        if found is not None:
            return found.kept, True
        return Kept(), is_blank(self.folder / STANDING_NAME)

    def write(self, standing: Standing, *, sync: bool) -> None:
        """Write how it stands."""
        try:
            self._slot.write(standing, sync=sync)
            self._is_told = False
        except OSError as error:
            if not self._is_told:
                self._tell(f"{self.folder / STANDING_NAME} cannot be written ({error}).")
                self._is_told = True

    def receipt(self) -> tuple[Receipt | None, bool]:
        """Read the receipt; and whether there is something in its place that is none."""
        path = self.folder / RECEIPT_NAME
        found = read(path, Receipt)
        return found, found is None and path.exists()

    def accept(self, receipt: Receipt) -> None:
        """Write the receipt, durably.

        Raises:
            OSError: it cannot be written; there is none then.

        """
        path = self.folder / RECEIPT_NAME
        beside = path.with_name(path.name + ".new")
        try:
            with beside.open("wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(receipt)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def set_receipt_aside(self) -> None:
        """Give a receipt that does not hold another name."""
        path = self.folder / RECEIPT_NAME
        with suppress(OSError):
            path.replace(path.with_name("receipt.contradicted.json"))

    def is_asked_to_stop(self) -> bool:
        """Say whether somebody left a request to stop."""
        return (self.folder / STOP_NAME).exists()

    def forget_request(self) -> None:
        """Take a request away that was followed, or was meant for an earlier supervisor."""
        with suppress(OSError):
            (self.folder / STOP_NAME).unlink(missing_ok=True)


def folder_of(folder: Path) -> Path | None:
    """Give the supervisor's folder of a run, or itself if it is one; None if there is none."""
    for place in (folder / FOLDER_NAME, folder):
        if (place / STANDING_NAME).is_file():
            return place
    return None


def standing_in(folder: Path) -> Standing | None:
    """Read how the supervisor of a folder stands, or last stood; None if that cannot be read."""
    return read(folder / STANDING_NAME, Standing)


def is_supervised(folder: Path) -> bool:
    """Say whether a supervisor is at work in a folder of its own.

    Raises:
        StorageError: its lock cannot be used.

    """
    return is_taken(folder / SUPERVISOR_LOCK)


def ask_to_stop(folder: Path) -> None:
    """Ask the supervisor of a folder to stop its run and end.

    Raises:
        OSError: the request cannot be written.

    """
    (folder / STOP_NAME).touch()
