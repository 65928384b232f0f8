"""Any runner as a subject: its commands and predicates, as the command line gives them."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from perdure.base.text import one_line
from perdure.supervise.acceptance import Artifact
from perdure.supervise.answers import Answer, Existence, Ran, count_of, existence_of, is_missing
from perdure.supervise.command import Command
from perdure.supervise.stored import Process
from perdure.supervise.subject import Look

Runs = Callable[[Command], Awaitable[Ran]]

_LINES = frozenset({".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".log"})
_JSON_LINES = frozenset({".jsonl", ".ndjson"})
_BLOCK = 1 << 20
# A last line may be long; one that is longer is not looked into.
_LAST_LINE_MAX = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line says of a run.

    `exists` is a path or a command. With `distinct`, progress and artifact print names of units.
    `files` are what the artifact is made of; `store_head` and `artifact_head` must print the same.
    """

    start: Command
    resume: Command
    exists: Path | Command
    progress: Command
    artifact: Command
    target: int
    distinct: bool = False
    steps: Command | None = None
    busy: Command | None = None
    store_head: Command | None = None
    artifact_head: Command | None = None
    files: tuple[Path, ...] = ()


class General:
    """A runner that is known by its commands alone."""

    def __init__(self, asked: Asked, run: Runs) -> None:
        self.counted: set[str] = set()
        self._asked = asked
        self._run = run

    @property
    def text(self) -> str:
        """The run, for people: how it is resumed."""
        return self._asked.resume.text

    @property
    def target(self) -> int:
        """The units that the artifact must hold."""
        return self._asked.target

    async def existence(self) -> tuple[Existence | None, str]:
        """Say whether there is a run."""
        exists = self._asked.exists
        if isinstance(exists, Command):
            return existence_of(await self._run(exists))
        try:
            exists.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return Existence.ABSENT, ""
        except OSError as error:
            return None, f"{exists} cannot be looked at ({error.strerror or error})."
        return Existence.USABLE, ""

    def command(self, *, resume: bool) -> Command:
        """Give the command that starts or resumes it."""
        return self._asked.resume if resume else self._asked.start

    def asked_again(self) -> Command | None:
        """Give none: a runner that is known by its commands has no study to compare."""
        return None

    async def look(self, run: Process | None) -> Look:  # noqa: ARG002 - predicates ask the store
        """Ask the predicates, all at once."""
        look, busy = await asyncio.gather(self.standing(), self._is_busy())
        return msgspec.structs.replace(look, busy=busy)

    async def standing(self) -> Look:
        """Ask the predicates."""
        asked = self._asked
        progress, steps = await asyncio.gather(
            self._count("progress", asked.progress, distinct=asked.distinct),
            self._count("steps", asked.steps),
        )
        return Look(progress=progress, steps=steps)

    async def artifact(self, *, is_clean: bool) -> Artifact:  # noqa: ARG002 - as cheap either way
        """Count the artifact, and look whether it is whole and as new as the store."""
        asked = self._asked
        units = await self._count("artifact", asked.artifact, distinct=asked.distinct)
        problems: list[str] = []
        unread: list[str] = []
        proof: dict[str, str] = {}
        broken = ""
        for path in asked.files:
            try:
                fault, digest = await asyncio.to_thread(_looked_at, path)
            except OSError as error:
                unread.append(f"{path} cannot be read ({error.strerror or error})")
                continue
            problems.extend([fault] if fault else [])
            proof[f"sha256 of {path}"] = digest
        if asked.store_head is not None and asked.artifact_head is not None:
            heads = [await self._head(one) for one in (asked.store_head, asked.artifact_head)]
            problems.extend(fault for _, fault, missing in heads if fault and missing)
            unread.extend(fault for _, fault, missing in heads if fault and not missing)
            broken = next((fault for _, fault, missing in heads if fault and not missing), "")
            (store, *_), (left, *_) = heads
            if not broken and store != left:
                problems.append(
                    f"the artifact ends at {one_line(left, 60)!r}, the store at "
                    f"{one_line(store, 60)!r}"
                )
            if not broken:
                proof["head"] = left
        return Artifact(
            units=units,
            problems=tuple(problems),
            unread=tuple(unread),
            proof=proof,
            fault=broken,
        )

    async def _count(self, name: str, command: Command | None, *, distinct: bool = False) -> Answer:
        if command is None:
            return Answer()
        answer = count_of(
            await self._run(command), has_counted=name in self.counted, distinct=distinct
        )
        if answer.value:
            self.counted.add(name)
        return answer

    async def _is_busy(self) -> bool:
        if self._asked.busy is None:
            return False
        ran = await self._run(self._asked.busy)
        return not ran.fault and ran.status == 0

    async def _head(self, command: Command) -> tuple[str, str, bool]:
        """Give a head; or what is wrong, and whether it is only a file that is not there."""
        ran = await self._run(command)
        text = ran.out.decode("utf-8", "replace").strip()
        if ran.fault or ran.status or not text:
            why = ran.fault or f"exit status {ran.status}"
            fault = f"{one_line(command.text, 60)!r} gave no head ({why})"
            return "", fault, is_missing(ran)
        return text, "", False


def _looked_at(path: Path) -> tuple[str, str]:
    """Say what is wrong with a file of an artifact, and give its hash.

    Raises:
        OSError: it is there, and cannot be read.

    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.sha256()
            while block := file.read(_BLOCK):
                digest.update(block)
            file.seek(max(size - _LAST_LINE_MAX, 0))
            end = file.read() if path.suffix in _LINES or path.suffix == ".json" else b""
    except (FileNotFoundError, NotADirectoryError):
        return f"{path} is not there", ""
    return _torn(path, size, end), digest.hexdigest()


def _torn(path: Path, size: int, end: bytes) -> str:
    if not size:
        return f"{path} is empty"
    if path.suffix == ".json" and size <= _LAST_LINE_MAX:
        return "" if _is_json(end) else f"{path} is not whole"
    if path.suffix in _LINES:
        if not end.endswith(b"\n"):
            return f"the last line of {path} is not whole"
        last = end.rstrip(b"\n").rpartition(b"\n")[2]
        if path.suffix in _JSON_LINES and len(last) < _LAST_LINE_MAX and not _is_json(last):
            return f"the last line of {path} is no JSON"
    return ""


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return True
