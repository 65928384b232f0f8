"""Receipts of checks of anchors: read from beside the anchors' file, and written there.

`intent-1.check.json` is the receipt of `intent-1.yaml`.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from perdure.base import canonical
from perdure.base.errors import StorageError
from perdure.base.text import one_line
from perdure.records.anchors import AnchorCheck
from perdure.study import files

_BYTES_MAX = 1 << 24
_SUFFIX = ".check.json"


def receipt_of(path: Path) -> Path:
    """Give the place of the receipt for a file of anchors."""
    return path.with_name(path.stem + _SUFFIX)


def read_receipt(folder: Path, file: str) -> AnchorCheck | None:
    """Read the receipt for a file of anchors in a study's folder; None if none can be read."""
    place = receipt_of(Path(file)).as_posix()
    try:
        with files.open_inside(folder, place, _BYTES_MAX) as opened:
            return msgspec.json.decode(opened.read(), type=AnchorCheck)
    except (files.RefusedFileError, OSError, msgspec.MsgspecError):
        return None


def write_receipt(path: Path, check: AnchorCheck) -> Path:
    """Write the receipt for a file of anchors, whole or not at all; give its place.

    Raises:
        StorageError: it cannot be written there.

    """
    place = receipt_of(path)
    beside = place.with_name(place.name + ".new")
    try:
        beside.write_bytes(msgspec.json.format(canonical.encode(check), indent=1) + b"\n")
        beside.replace(place)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StorageError(
            f"The receipt cannot be written ({error.strerror}).",
            where=one_line(str(place)),
            remedy="Make the folder writable, or copy the anchors to one that is.",
        ) from error
    return place
