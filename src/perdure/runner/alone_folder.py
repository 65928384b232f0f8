"""The folder of an agent that is driven alone: what lies in it, and what it was asked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from perdure.records.alone import Asked, Bounds
from perdure.records.drive import Anew, DriveLine, RunStarted
from perdure.trace.drive_reader import DriveReader

FORMAT = 1
HISTORY_NAME = "history.git"
ROOM_NAME = "room"


def read_asked(folder: Path) -> Asked:
    """Read what was asked of the drive in a folder.

    Raises:
        DamagedRecordError: there is none.

    """
    with DriveReader.open(folder) as reader:
        return reader.asked(Asked)


def given_anew(lines: Iterable[DriveLine]) -> Anew | None:
    """Give what the last drive was given anew, of those that nobody was sent by."""
    started = [line for line in lines if isinstance(line, RunStarted) and "." not in line.run]
    return started[-1].anew if started else None


def as_given_anew(asked: Asked, anew: Anew | None) -> Asked:
    """Say what is asked for with what was given anew."""
    if anew is None:
        return asked
    model = asked.model
    if model is not None:
        at = model.endpoint
        at = msgspec.structs.replace(
            at,
            base_url=anew.base_url or at.base_url,
            key_env=anew.key_env or at.key_env,
            key_file="" if anew.key_env else at.key_file,
        )
        model = msgspec.structs.replace(model, endpoint=at)
    bounds = Bounds(turns=anew.turns, tokens=anew.tokens, money=anew.money, seconds=anew.seconds)
    return msgspec.structs.replace(asked, model=model, bounds=bounds)


def room_of(folder: Path, asked: Asked) -> Path:
    """Give the folder that an agent works in."""
    return folder / asked.room
