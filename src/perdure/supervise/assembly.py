"""The supervisor with its real parts: clock, processes, files, signals."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

from perdure.base.clock import Clock, SystemClock, suspended_s
from perdure.base.errors import StorageError
from perdure.supervise import processes
from perdure.supervise.answers import Ran
from perdure.supervise.book import STANDING_NAME, Book
from perdure.supervise.claim import Claim
from perdure.supervise.command import Command
from perdure.supervise.general import Runs
from perdure.supervise.held import STOPS, UNHEARD, let_through
from perdure.supervise.history import History
from perdure.supervise.lock import ATTEMPT_LOCK, become_the_one, is_taken
from perdure.supervise.masking import masked, secrets_of
from perdure.supervise.means import Means
from perdure.supervise.notify import ServiceManager, for_others
from perdure.supervise.predicates import ran
from perdure.supervise.running import KeptAttempts, make_room
from perdure.supervise.settings import Settings
from perdure.supervise.slot import Slot
from perdure.supervise.subject import Subject
from perdure.supervise.supervisor import Supervisor
from perdure.supervise.verdict import Verdict

_ASKED = "_ASKED"


def tag_of(folder: Path) -> str:
    """Name the variable by which everything that a supervisor of a folder starts is known."""
    key = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    return f"PERDURE_SUPERVISED_{key.upper()}"


def supervise(
    make: Callable[[Runs], Subject], settings: Settings, *, tell: Callable[[str], None]
) -> Verdict:
    """Supervise a run until it is accepted, paused, stopped or given up.

    Args:
        make: Makes the subject, given what runs its commands.
        settings: The limits.
        tell: Says a line to people.

    Raises:
        HeldError: another supervisor looks after the run, from this folder or from another one.
        StorageError: the supervisor's folder cannot be used, or a process cannot be started.

    """
    try:
        settings.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The supervisor's folder cannot be made ({error.strerror or error}).",
            where=str(settings.folder),
            remedy=f"Give another one with {settings.option}.",
        ) from error
    held = become_the_one(settings.folder)
    claim = Claim(settings.store)
    try:
        return asyncio.run(_supervised(make, settings, claim, tell))
    finally:
        claim.close()
        os.close(held)


async def _supervised(
    make: Callable[[Runs], Subject],
    settings: Settings,
    claim: Claim,
    tell: Callable[[str], None],
) -> Verdict:
    clock = SystemClock()
    await _require_alone(settings.folder, claim, clock)
    tag = tag_of(settings.folder)
    # What an earlier supervisor asked and did not live to hear the answer of.
    processes.send(processes.tagged(tag + _ASKED), signal.SIGKILL)
    secrets = secrets_of(os.environ, settings.secret_names)
    for room in (
        Slot(settings.folder / STANDING_NAME).make_room,
        partial(make_room, settings.folder),
    ):
        try:
            room()
        except OSError as error:
            tell(f"{settings.folder}: there is no room for a note ({error.strerror or error}).")

    async def run(command: Command) -> Ran:
        words = {**for_others(os.environ), "LC_ALL": "C.UTF-8", tag + _ASKED: "predicate"}
        return await ran(command, settings.predicate_s, words)

    async def hook(command: Command, facts: dict[str, str]) -> Ran:
        words = {**for_others(os.environ), **facts, tag + _ASKED: "hook"}
        return await ran(command, settings.hook_s, words)

    def mask(text: str) -> str:
        return masked(text.encode(), [secret.encode() for secret in secrets]).decode(
            "utf-8", "replace"
        )

    def say(text: str) -> None:
        tell(mask(text))

    means = Means(
        subject=make(run),
        settings=settings,
        attempts=KeptAttempts(
            settings.folder,
            clock=clock,
            claim=claim,
            tag=tag,
            log_bytes=settings.log_bytes,
            secrets=secrets,
            leave_s=settings.leave_s,
            dump_signal=settings.dump_signal,
        ),
        clock=clock,
        run=run,
        hook=hook,
        book=Book(settings.folder, tell=say),
        history=History(settings.folder, secrets, wall_s=clock.wall_s, tell=say),
        manager=ServiceManager(os.environ),
        tell=say,
        suspended_s=suspended_s,
        free_bytes=free_bytes,
        mask=mask,
    )
    supervisor = Supervisor(means)
    loop = asyncio.get_running_loop()
    for number in STOPS:
        # One that was started to survive a closed terminal (nohup) still does.
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, supervisor.request_stop, number)
    for number in UNHEARD:
        # Heard, not ignored: what is ignored would be so in the run as well.
        loop.add_signal_handler(number, _say_nothing)
    let_through()
    return await supervisor.supervise()


async def _require_alone(folder: Path, claim: Claim, clock: Clock) -> None:
    # What lives of our own run has the claim for us, until another attempt begins.
    if not claim.take() and not is_taken(folder / ATTEMPT_LOCK):
        await claim.require(clock)


def _say_nothing() -> None:
    pass


def free_bytes(path: Path) -> int | None:
    """Give the bytes that are free where a path is, or will be; None if the system does not say."""
    for place in (path, *path.absolute().parents):
        try:
            disk = os.statvfs(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return None
        return disk.f_bavail * disk.f_frsize
    return None
