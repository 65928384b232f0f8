"""Branching off: a drive that begins with what another one saw, and its room as it stood."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from pathlib import Path

import msgspec

from perdure.agent.drive.fork import checkpoint_at, conversation_at, cut_at
from perdure.agent.drive.plan import DrivePlan, Fork
from perdure.agent.drive.tools.history import History, says_full
from perdure.base.errors import UsageError
from perdure.records.alone import Asked, Branch
from perdure.records.drive import DriveLine, Opening, RunStarted
from perdure.records.request import Message
from perdure.runner.alone_folder import (
    HISTORY_NAME,
    ROOM_NAME,
    as_given_anew,
    given_anew,
    room_of,
)
from perdure.trace.drive_reader import DriveReader
from perdure.trace.failures import translate_os

_GO_ON = "Go on from here."


def branch(folder: Path, at: int, out: Path, *, task: str = "") -> Asked:
    """Say what a drive is asked for that branches off another one, after its line `at`.

    Raises:
        UsageError: there is no such line.
        DamagedRecordError: the ledger does not hold what was written.

    """
    with DriveReader.open(folder) as reader:
        asked = reader.asked(Asked)
        stored = list(reader.lines())
    if not 0 <= at < len(stored):
        raise UsageError(
            f"The ledger has no line {at}.",
            where=str(folder),
            remedy=f"Give a number from 0 to {len(stored) - 1}: `perdure drive show` lists them.",
        )
    asked = as_given_anew(asked, given_anew([one.line for one in stored if one.seq <= at]))
    mother = stored[at].line.run
    own = [one for one in stored if one.line.run == mother]
    place = next(number for number, one in enumerate(own) if one.seq == stored[at].seq)
    cut = cut_at([one.line for one in own], place)
    return msgspec.structs.replace(
        asked,
        task=task or _GO_ON,
        goal=asked.goal if not task else "",
        room=ROOM_NAME,
        branch=Branch(
            folder=os.path.relpath(folder.absolute(), out.absolute()),
            mother=mother,
            at=own[cut - 1].seq if cut else -1,
            asked=at,
            chain=own[cut - 1].chain if cut else "",
        ),
    )


def branched(folder: Path, asked: Asked, plan: DrivePlan) -> DrivePlan:
    """Let a drive that branches off begin with what its mother's model saw by then."""
    if asked.branch is None:
        return plan
    taken = asked.branch
    with DriveReader.open(folder / taken.folder) as mother:
        own = [one for one in mother.lines() if one.line.run == taken.mother]
        lines = [one.line for one in own if one.seq <= taken.at]
        inherited = _inherited(mother, lines)
    return msgspec.structs.replace(
        plan,
        opening=Opening.INHERITED,
        inherited=conversation_at(lines, inherited),
        forked=Fork(mother=taken.mother, at=taken.at, asked=taken.asked, chain=taken.chain),
    )


def _inherited(mother: DriveReader, lines: list[DriveLine]) -> tuple[Message, ...]:
    started = next((line for line in lines if isinstance(line, RunStarted)), None)
    if started is None or not started.inherited:
        return ()
    return msgspec.json.decode(mother.blob(started.inherited), type=tuple[Message, ...])


async def bring_over(folder: Path, taken: Branch) -> None:
    """Put the room as it stood where a drive branches off into the branch's own folder.

    Raises:
        UsageError: there is something in its place.
        StorageError: it could not be copied.

    """
    for place in (folder / ROOM_NAME, folder / HISTORY_NAME):
        if place.exists():
            raise UsageError(
                "There is something already where a branch keeps its own.",
                where=str(place),
                remedy="Give an --out that is empty.",
            )
    try:
        await _copy_over(folder, taken)
    except OSError as error:
        if says_full(str(error)):
            error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise translate_os(error, folder) from error


async def _copy_over(folder: Path, taken: Branch) -> None:
    mother = folder / taken.folder
    with DriveReader.open(mother) as reader:
        stored = list(reader.lines())
        room = room_of(mother, reader.asked(Asked))
    before = [one.line for one in stored if one.seq <= taken.at and one.line.run == taken.mother]
    after = [one.line for one in stored if one.seq > taken.at]
    oid = checkpoint_at([*before, *after], len(before))
    if oid:
        history = History(mother / HISTORY_NAME, room)
        await history.copy(oid, folder / ROOM_NAME, folder / HISTORY_NAME)
    elif room.is_dir():
        await asyncio.to_thread(_copy_room, room, folder / ROOM_NAME)


def _copy_room(room: Path, copy: Path) -> None:
    """Copy a room as it stands; a repository of somebody's own stays where it is."""

    def kept_out(folder: str, _: list[str]) -> list[str]:
        return [".git"] if Path(folder) == room else []

    shutil.copytree(room, copy, symlinks=True, ignore=kept_out)
