"""A study of ours as a subject: told by its own commands and by the `status.json` of its folder.

Nothing of it is imported. Progress is its closed ticks, and finer, the replies that its journal
keeps; the artifact is every world verified to its horizon, with an export of it.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import msgspec

from perdure.base.text import one_line
from perdure.supervise.acceptance import Artifact
from perdure.supervise.answers import DAMAGED, Answer, Existence, Ran
from perdure.supervise.command import Command
from perdure.supervise.general import Runs
from perdure.supervise.stored import Process
from perdure.supervise.subject import Look

PROGRAM = (sys.executable, "-P", "-m", "perdure.cli")
# What a run has from its first commit on.
REGISTRY = "run.db"

_STATUS = "status.json"
_STATUS_BYTES_MAX = 65_536
_KEPT = "kept"
_DAMAGED_RECORD = "damaged-record"


class Moment(msgspec.Struct):
    """What a live run says of itself, as far as it is used here."""

    ticks: int
    ticks_closed: int
    calls: int = 0
    in_flight: int = 0
    elapsed_s: float = 0.0
    pid: int = 0


class _Part(msgspec.Struct):
    kind: str
    count: int


class _Outside(msgspec.Struct):
    parts: list[_Part]


class _Told(msgspec.Struct):
    ticks: int
    ticks_closed: int
    calls: int
    outside: _Outside


class _Error(msgspec.Struct):
    code: str
    wrong: str
    where: str


class _Failed(msgspec.Struct):
    error: _Error


class _World(msgspec.Struct):
    world_id: str
    tick: int
    horizon: int
    digest: str


class _Verified(msgspec.Struct):
    run_id: str
    sound: bool
    finished: bool
    worlds: list[_World]
    findings: list[Any]


class _Manifest(msgspec.Struct):
    run_id: str
    finished: bool
    worlds: list[_World]


class _Exported(msgspec.Struct):
    folder: str
    manifest: _Manifest


class Native:
    """A run of `perdure`, in its folder."""

    def __init__(
        self,
        study: str,
        folder: Path,
        run: Runs,
        *,
        words: tuple[str, ...] = (),
        for_run: bool = False,
    ) -> None:
        """Name a run.

        Args:
            study: Its study file.
            folder: Its folder.
            run: Runs the commands that tell of it.
            words: What the run is told besides.
            for_run: Only `perdure run` takes all of these words, and `perdure resume` does not.

        """
        self.counted: set[str] = set()
        self._study = study
        self._folder = folder
        self._run = run
        self._words = words
        self._for_run = for_run
        self._target: int | None = None

    @property
    def text(self) -> str:
        """The run, for people."""
        return f"perdure run {self._study} --out {self._folder}"

    @property
    def target(self) -> int | None:
        """The ticks of all worlds; None before the run has a registry."""
        return self._target

    async def existence(self) -> tuple[Existence | None, str]:
        """Say whether there is a run: it has a registry from its first commit on."""
        try:
            found = (self._folder / REGISTRY).exists()
        except OSError as error:
            return None, f"{self._folder} cannot be looked at ({error.strerror or error})."
        return (Existence.USABLE if found else Existence.ABSENT), ""

    def command(self, *, resume: bool) -> Command:
        """Give the command that starts or resumes it.

        With words that a resume does not take, `perdure run` goes on with a run that is there, and
        compares them with those that it was begun with; a resume takes the latter.
        """
        folder = str(self._folder)
        if resume and not self._for_run:
            words = ("resume", folder, "--study", self._study, *self._words)
        else:
            words = ("run", self._study, "--out", folder, *self._words)
        return Command(words=(*PROGRAM, *words), text=" ".join(("perdure", *words)))

    def asked_again(self) -> Command:
        """Give the command that compares a finished run with its study, and leaves it alone."""
        return self.command(resume=True)

    async def look(self, run: Process | None) -> Look:
        """Read what the run last said of itself: cheap, and a second old at most.

        What an earlier attempt said of itself is there until this one has begun to work: it says
        nothing of this one, and less than the record where it was killed since.
        """
        try:
            with (self._folder / _STATUS).open("rb") as file:
                text = file.read(_STATUS_BYTES_MAX)
            moment: Moment | None = msgspec.json.decode(text, type=Moment)
        except (OSError, msgspec.MsgspecError):
            moment = None
        if moment is None or run is None or moment.pid != run.pid:
            return Look(is_glance=True)  # it has not said anything yet
        self._target = moment.ticks
        return Look(
            progress=Answer(value=moment.ticks_closed),
            pulse=moment.ticks_closed + moment.calls,
            busy=moment.in_flight > 0,
            beat=f"{moment.pid}:{moment.elapsed_s}",
            is_glance=True,
        )

    async def standing(self) -> Look:
        """Ask the record how far the run is."""
        if not (self._folder / REGISTRY).exists():
            return Look()
        told, ran = await self._asked("status", _Told)
        if told is None:
            damage = _damage(ran)
            fault = "" if damage else _no_answer("status", ran)
            return Look(progress=Answer(fault=fault), damage=damage)
        self._target = told.ticks
        kept = sum(part.count for part in told.outside.parts if part.kind == _KEPT)
        return Look(
            progress=Answer(value=told.ticks_closed),
            # What was lost with a kill is no progress, however much of it there is.
            steps=Answer(value=told.ticks_closed + told.calls + kept),
        )

    async def artifact(self, *, is_clean: bool) -> Artifact:
        """Verify every world to its horizon, and export the run; only after a clean end."""
        if not is_clean:
            return Artifact(is_unlooked=True)
        if not (self._folder / REGISTRY).exists():
            return Artifact()
        verified, ran = await self._asked("verify", _Verified)
        if verified is None:
            return Artifact(units=Answer(fault=_no_answer("verify", ran)))
        self._target = sum(world.horizon for world in verified.worlds)
        units = Answer(value=sum(world.tick + 1 for world in verified.worlds))
        if not verified.sound:
            return Artifact(
                units=units,
                problems=("the record is damaged: see `perdure verify`",),
                is_damaged=True,
            )
        if not verified.finished:
            return Artifact(units=units, problems=("not every world is at its horizon",))
        return await self._exported(verified, units)

    async def _exported(self, verified: _Verified, units: Answer) -> Artifact:
        exported, ran = await self._asked("export", _Exported)
        if exported is None and ran.fault:
            return Artifact(units=Answer(fault=_no_answer("export", ran)))
        if exported is None:
            return Artifact(units=units, unread=(f"it cannot be exported: {_why(ran)}",))
        return _held_against(verified, exported, units)

    async def _asked(self, command: str, kind: type[Any]) -> tuple[Any, Ran]:
        """Give what a command of ours said, None if it said nothing of the kind; and how it ran."""
        words = (command, str(self._folder), "--json")
        ran = await self._run(Command(words=(*PROGRAM, *words), text=" ".join(("perdure", *words))))
        try:
            return msgspec.json.decode(b"" if ran.fault else ran.out, type=kind), ran
        except msgspec.MsgspecError:
            return None, ran


def _no_answer(command: str, ran: Ran) -> str:
    return f"`perdure {command}` gave no answer: {_why(ran)}"


def _damage(ran: Ran) -> str:
    """Give what a command of ours says is wrong with a damaged record; empty if it does not."""
    if ran.fault or ran.status != DAMAGED:
        return ""
    try:
        error = msgspec.json.decode(ran.out, type=_Failed).error
    except msgspec.MsgspecError:
        return ""
    return f"{error.where}: {error.wrong}" if error.code == _DAMAGED_RECORD else ""


def _why(ran: Ran) -> str:
    if ran.fault:
        return ran.fault
    said = ran.out.decode("utf-8", "replace") or ran.err.decode("utf-8", "replace")
    return f"exit status {ran.status}, {one_line(said, 200)}"


def _held_against(verified: _Verified, exported: _Exported, units: Answer) -> Artifact:
    """Hold an export against the record that it is of."""
    manifest = exported.manifest
    ends = {world.world_id: (world.tick, world.digest) for world in manifest.worlds}
    unread: tuple[str, ...] = ()
    problems = [
        f"the export of world {world.world_id} is not that of its record"
        for world in verified.worlds
        if ends.get(world.world_id) != (world.tick, world.digest)
    ]
    if manifest.run_id != verified.run_id or not manifest.finished:
        problems.append("the export is not of the finished run")
    proof = {f"digest of {world.world_id}": world.digest for world in verified.worlds}
    proof["run"] = verified.run_id
    try:
        text = (Path(exported.folder) / "manifest.json").read_bytes()
        proof["sha256 of the manifest"] = hashlib.sha256(text).hexdigest()
    except OSError as error:
        unread = (f"the export's manifest cannot be read ({error.strerror or error})",)
    return Artifact(units=units, problems=tuple(problems), unread=unread, proof=proof)
