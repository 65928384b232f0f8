"""The history of a workspace, kept by git beside it: out of reach of whoever works in it.

A folder that is a repository of somebody's own stays as it is: this history is another one.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path

from perdure.agent.drive.ports import Checkpoint
from perdure.agent.drive.tools.environment import scrubbed
from perdure.base.errors import EXIT_STORAGE, PerdureError, StorageFullError, UsageError
from perdure.base.text import one_line
from perdure.records.tools import Writes

_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "commit.gpgSign=false"),
    *("-c", "gc.auto=0"),
    *("-c", "core.fsync=all"),
    *("-c", "core.excludesFile=/dev/null"),
    *("-c", "core.autocrlf=false"),
    *("-c", "advice.addEmbeddedRepo=false"),
)
_TOLD_MAX = 400
# How the system says that there is no room, and what kills a program that writes too large a file.
_NO_ROOM = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))
_TOO_LARGE = -signal.SIGXFSZ
# With less than this left, what git failed at for no reason that it gives was for want of room.
_ROOM_MIN = 64 * 1024


class HistoryError(PerdureError):
    """Git could not keep the history of a workspace."""

    exit_status = EXIT_STORAGE
    code = "history"


def says_full(text: str) -> bool:
    """Say whether somebody's words about a failure are that there is no room."""
    return any(words in text for words in _NO_ROOM)


def require_git() -> None:
    """Look for git.

    Raises:
        UsageError: there is none.

    """
    if shutil.which("git") is None:
        raise UsageError(
            "There is no git, which keeps the history of what an agent writes.",
            remedy="Install git, or let the agent only read (--read-only).",
        )


class History:
    """Commits a workspace to a repository of its own."""

    def __init__(self, repository: Path, workspace: Path) -> None:
        self._repository = repository
        self._workspace = workspace

    async def begin(self) -> None:
        """Make the repository, if there is none yet.

        Raises:
            UsageError: there is no git.
            HistoryError: git refused.
            StorageFullError: there was no room.

        """
        require_git()
        if (self._repository / "HEAD").is_file():
            return
        # Beside its place: one that is half made, for want of room, is never taken for whole.
        beside = self._repository.with_suffix(".new")
        await asyncio.to_thread(shutil.rmtree, beside, ignore_errors=True)
        # Without a template: its hooks are never run, and take most of a small disk.
        made = History(beside, self._workspace)
        await made._git("init", "--quiet", "--template=", "--initial-branch=drive")
        try:
            await asyncio.to_thread(os.replace, beside, self._repository)
        except OSError as error:
            raise HistoryError(
                f"There is something else where the history is kept: {error.strerror}.",
                where=str(self._repository),
            ) from error

    async def commit(self, moment_ms: int, writes: Writes, message: str) -> Checkpoint:
        """Commit the workspace as it stands; give its id, its parent's, and the files that moved.

        `writes` is what the coming wave may write: it is no part of what is committed now.

        Raises:
            HistoryError: git refused, or the workspace is gone.
            StorageFullError: there was no room.

        """
        del writes
        await self._git("add", "--all", "--force", ".")
        before = await self._head()
        date = f"@{moment_ms // 1000} +0000"
        await self._git("commit", "--quiet", "--allow-empty", "--message", message, date=date)
        oid = await self._head()
        listed = await self._git(
            "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", oid
        )
        files = tuple(name for name in listed.split("\0") if name)
        return Checkpoint(oid=oid, predecessor=before, files=files)

    async def copy(self, oid: str, workspace: Path, repository: Path) -> None:
        """Put the workspace as it was at a commit into another place, with its history.

        Raises:
            HistoryError: git refused, or there is no such commit.

        """
        # Both are new, so that nothing is overwritten.
        await asyncio.to_thread(shutil.copytree, self._repository, repository, symlinks=True)
        await asyncio.to_thread(workspace.mkdir)
        there = History(repository, workspace)
        await there._git("reset", "--quiet", "--hard", oid)

    async def check(self, cited: Iterable[str]) -> None:
        """Check that it holds what it was given, with every commit that is cited.

        Raises:
            UsageError: there is no git.
            HistoryError: it does not; names what is missing, or what git found.

        """
        require_git()
        await self._git("fsck", "--no-dangling", "--no-progress")
        held = set((await self._git("rev-list", "--all")).split())
        for oid in cited:
            if oid not in held:
                raise HistoryError(
                    f"The commit {oid[:12]} is not in it.", where=str(self._repository)
                )

    async def _head(self) -> str:
        try:
            return (await self._git("rev-parse", "--verify", "--quiet", "HEAD")).strip()
        except HistoryError:
            return ""

    def _has_no_room(self) -> bool:
        try:
            return shutil.disk_usage(self._repository.parent).free < _ROOM_MIN
        except OSError:
            return False

    async def _git(self, *arguments: str, date: str = "") -> str:
        environment = {
            **scrubbed(os.environ),
            "GIT_DIR": str(self._repository),
            "GIT_WORK_TREE": str(self._workspace),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
            # What it says is read here.
            "LC_ALL": "C",
            **_signed(date),
        }
        try:
            process = await asyncio.create_subprocess_exec(
                "git",
                *_SETTINGS,
                *arguments,
                cwd=self._workspace,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                # Ctrl-C on a terminal is for the drive, and cuts no commit.
                start_new_session=True,
            )
        except (FileNotFoundError, NotADirectoryError) as error:
            require_git()
            raise HistoryError(
                "The folder that the agent works in is not there any more.",
                where=str(self._workspace),
            ) from error
        out, wrong = await process.communicate()
        if process.returncode:
            said = wrong.decode(errors="replace")
            if says_full(said) or process.returncode == _TOO_LARGE or self._has_no_room():
                raise StorageFullError(
                    "The disk, or a limit on files, is full: git could not keep the history.",
                    where=str(self._repository),
                    remedy="Free some space, then give the same command again.",
                )
            told = one_line(said, _TOLD_MAX)
            raise HistoryError(f"git {arguments[0]} failed: {told}", where=str(self._workspace))
        return out.decode(errors="surrogateescape")


def _signed(date: str) -> dict[str, str]:
    names: Sequence[str] = ("AUTHOR", "COMMITTER")
    signed = {f"GIT_{name}_NAME": "perdure" for name in names}
    signed |= {f"GIT_{name}_EMAIL": "drive@perdure.invalid" for name in names}
    return signed | ({f"GIT_{name}_DATE": date for name in names} if date else {})
