"""An agent that is driven alone: its folder, its parts, its start, its going on, its branches.

The folder holds the ledger, the room that the agent works in, the room's history, and for every
drive a transcript of what the model saw. A drive that is over is never woken: going on begins a
new one, from the handoff of the last.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from perdure.agent.drive.ceilings import Limited
from perdure.agent.drive.conversation import Conversation
from perdure.agent.drive.drive import Frozen, drive
from perdure.agent.drive.fork import checkpoint_at, conversation_at, cut_at
from perdure.agent.drive.handoff import Brief
from perdure.agent.drive.harness import Program, drive_program
from perdure.agent.drive.plan import DrivePlan, Fork
from perdure.agent.drive.ports import (
    Checkpoint,
    Child,
    ChildEnd,
    ContextReading,
    Hooks,
    Tools,
)
from perdure.agent.drive.prefix import Document, freeze
from perdure.agent.drive.recovery import closing_lines
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.environment import secrets_in
from perdure.agent.drive.tools.history import History, says_full
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.clock import Clock, SystemClock
from perdure.base.errors import StorageError, StorageFullError, UsageError
from perdure.base.ids import new_run_id
from perdure.base.redaction import Redactor
from perdure.inference.provider import Checkable
from perdure.records.alone import Asked, Bounds, Branch
from perdure.records.drive import (
    Anew,
    Completion,
    Dispatcher,
    DriveLine,
    HandoffWritten,
    Opening,
    RunFrozen,
    RunStarted,
)
from perdure.records.increment import Increment
from perdure.records.request import ChatRequest, Message
from perdure.records.tools import Writes
from perdure.runner.attended import Attended
from perdure.runner.drive_meter import Meter, Metered, Spent
from perdure.runner.drive_model import EndpointModel
from perdure.runner.furnishing import furnished, program_for
from perdure.runner.looking_on import Shown, transcribe, transcript_name
from perdure.runner.making_ready import cut_by
from perdure.runner.respondents import provider_for
from perdure.runner.unbegun import unless_begun
from perdure.runner.veil import Veiled
from perdure.study.pricing import price_of
from perdure.trace.drive_ledger import DriveLedger
from perdure.trace.drive_reader import DriveReader
from perdure.trace.failures import translate_os
from perdure.trace.lock import GovernorLock
from perdure.trace.stop_request import forget_request

FORMAT = 1
CURRENCY = "USD"
HISTORY_NAME = "history.git"
ROOM_NAME = "room"

# Enough for the rules of a place; what is longer is cut with a mark.
_PREFIX_MAX = 200_000

_GO_ON = "Go on from here."
_HOUSE = Document(
    name="house",
    data=(
        b"You work in a folder, with tools, on the task that you are given. Paths are relative to"
        b" that folder. Do what the task asks for and nothing beside it; look at what is there"
        b" before you change it. When it is done, say so in words, without calling a tool. If it"
        b" cannot be done, say why."
    ),
)


@dataclass(frozen=True, slots=True)
class Company:
    """Who is there while an agent is driven: what arrives from them, and what they are shown."""

    interrupts: Attended
    line: Callable[[DriveLine], None] | None = None
    piece: Callable[[Increment], None] | None = None


@dataclass(frozen=True, slots=True)
class DrivenAlone:
    """A drive that has ended, in which folder, and what all its calls took.

    What a program of its own spends, nobody here knows: then there is no `spent`.
    """

    folder: Path
    frozen: Frozen
    spent: Spent | None


async def begin(
    folder: Path, asked: Asked, company: Company, *, clock: Clock | None = None
) -> DrivenAlone:
    """Drive an agent in a folder that holds none yet. One that cannot begin leaves nothing there.

    Raises:
        HeldError: the folder holds one already.
        UsageError: a part of what is asked cannot be made ready.
        PerdureError: as `drive` raises.

    """
    time, folder = clock or SystemClock(), _absolute(folder)
    async with unless_begun(folder, (ROOM_NAME, HISTORY_NAME), time):
        await asyncio.to_thread(forget_request, folder)
        if asked.branch is not None:
            await _bring_over(folder, asked.branch)
        await asyncio.to_thread(_make_room, room_of(folder, asked))
        async with _ready(folder, asked, company, time) as parts:
            plan = _branched(folder, asked, _plan(asked, new_run_id()))
            parts.require_one_call(plan)
            ledger = await DriveLedger.create(folder, asked)
            async with _closing(ledger, folder):
                return await parts.conduct(ledger, plan)


async def resume(
    folder: Path, company: Company, *, anew: Anew | None = None, clock: Clock | None = None
) -> DrivenAlone | None:
    """Go on from the handoff of the last drive in a folder; None if that is done already.

    What a process that died left open is closed first. With `anew` it has other ceilings, or
    another endpoint; without, those of the drive before it.

    Raises:
        DamagedRecordError: the ledger does not hold what was written.
        HeldError: another process works in the folder.
        PerdureError: as `drive` raises.

    """
    time, folder = clock or SystemClock(), _absolute(folder)
    async with _held(folder, time):
        asked = read_asked(folder)
        ledger = await DriveLedger.open(folder)
        async with _closing(ledger, folder):
            lines = await _closed(ledger, folder, time, company.line)
            ends = [line for line in lines if isinstance(line, RunFrozen) and "." not in line.run]
            if ends and ends[-1].completion is Completion.DONE:
                return None
            last = next(
                (
                    line
                    for line in lines
                    if isinstance(line, HandoffWritten) and ends and line.run == ends[-1].run
                ),
                None,
            )
            anew = anew or given_anew(lines)
            asked = as_given_anew(asked, anew)
            plan = msgspec.structs.replace(_plan(asked, new_run_id(), last), anew=anew)
            if last is None:
                plan = _branched(folder, asked, plan)
            async with _ready(folder, asked, company, time) as parts:
                parts.require_one_call(plan)
                return await parts.conduct(ledger, plan)


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


def _absolute(folder: Path) -> Path:
    # Programs that work in the room are told of it, and are at home elsewhere.
    return folder.absolute()


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


@dataclass(frozen=True, slots=True)
class _Parts:
    """All that a drive alone needs, made ready and open."""

    folder: Path
    asked: Asked
    company: Company
    clock: Clock
    limited: Limited
    brain: Metered | Program
    meter: Meter
    tools: Tools
    history: History | None
    secrets: Redactor

    async def conduct(self, ledger: DriveLedger, plan: DrivePlan) -> DrivenAlone:
        """Drive to the end, and leave a transcript."""
        frozen = await self._drive(ledger, plan, self.limited)
        spent = self.meter.spent if isinstance(self.brain, Metered) else None
        return DrivenAlone(folder=self.folder, frozen=frozen, spent=spent)

    def require_one_call(self, plan: DrivePlan) -> None:
        """Refuse ceilings under which not even the first call fits.

        Raises:
            BudgetReachedError: says what one call may take.

        """
        if not isinstance(self.brain, Metered):
            return
        first = Conversation(plan.inherited)
        first.take(plan.started(0, ()))
        system = Message(role="system", content=plan.prefix.text)
        request = ChatRequest(
            role=plan.role,
            messages=(system, *first.messages),
            tokens_max=plan.tokens_max,
            tools=self.tools.specs,
        )
        self.meter.require(request, CURRENCY)

    async def _drive(self, ledger: DriveLedger, plan: DrivePlan, limited: Limited) -> Frozen:
        reading = ContextReading(window=self.asked.window)
        veiled = None
        if self.company.piece is not None:
            veiled = Veiled(self.company.piece, self.secrets)
        shown = Shown(ledger, self.folder, reading, self.company.line, veiled)
        hooks = Hooks(
            now=lambda: round(self.clock.wall_s() * 1000),
            interrupts=limited,
            tools=self.tools,
            wait=self._until,
            secrets=self.secrets,
            checkpoint=partial(self._checkpoint, shown) if self.history is not None else None,
            sink=veiled.piece if veiled is not None else None,
            reading=reading,
            # Who was sent hands nothing down: how deep it goes has an end.
            spawn=None if plan.parent else partial(self._child, ledger, limited),
            forbids=self.meter.forbids,
        )
        if isinstance(self.brain, Metered):
            frozen = await drive(plan, shown, self.brain, hooks, _brief(plan))
        else:
            frozen = await drive_program(plan, shown, self.brain, hooks, _brief(plan))
        await asyncio.to_thread(transcribe, self.folder, frozen, self.secrets)
        return frozen

    async def _child(self, ledger: DriveLedger, limited: Limited, child: Child) -> ChildEnd:
        plan = msgspec.structs.replace(
            _plan(self.asked, child.run),
            task=child.task,
            goal="",
            job=child.call_id,
            parent=child.parent,
            dispatched_by=Dispatcher.AGENT,
        )
        frozen = await self._drive(ledger, plan, limited)
        return ChildEnd(completion=frozen.completion, cause=frozen.cause, text=frozen.text)

    async def _checkpoint(self, shown: Shown, moment: int, writes: Writes) -> Checkpoint:
        assert self.history is not None, "there is a history to commit to"
        return await self.history.commit(moment, writes, shown.story())

    async def _until(self, moment: int) -> None:
        await self.clock.sleep(moment / 1000 - self.clock.wall_s())


@asynccontextmanager
async def _ready(
    folder: Path, asked: Asked, company: Company, clock: Clock
) -> AsyncIterator[_Parts]:
    """Make the parts of a drive ready, open what has to be open, and close it again.

    Raises:
        UsageError: a part cannot be made ready.
        BudgetReachedError: the time that the drive may take was up by then.
        StopRequestedError: somebody stopped it.
        PerdureError: the model's endpoint refuses, or a tool server is not there.

    """
    limited = Limited(company.interrupts, asked.bounds, clock)
    async with AsyncExitStack() as opened:
        place = room_of(folder, asked)
        if not place.is_dir():
            raise UsageError("The folder that the agent works in is not there.", where=str(place))
        room = Workspace(place)
        meter = Meter(asked.bounds, None if asked.model is None else price_of(asked.model))
        async with cut_by(company.interrupts.ended(), limited.halted()):
            brain = await _brain(asked, room, meter, opened)
            # A program has tools of its own, and is given none.
            tools = Bench([], place=asked.place)
            if asked.model is not None:
                tools = await furnished(asked, room, opened)
            history = None
            if asked.policy.writes:
                history = History(folder / HISTORY_NAME, room.root)
                await history.begin()
        yield _Parts(
            folder=folder,
            asked=asked,
            company=company,
            clock=clock,
            limited=limited,
            brain=brain,
            meter=meter,
            tools=tools,
            history=history,
            secrets=Redactor(secrets_in(os.environ)),
        )


async def _brain(
    asked: Asked, room: Workspace, meter: Meter, opened: AsyncExitStack
) -> Metered | Program:
    """Make who answers ready: a model that is driven, or a program that drives itself."""
    if asked.model is None:
        return program_for(asked, room)
    provider = provider_for(asked.model, CURRENCY)
    await provider.open()
    opened.push_async_callback(provider.close)
    if isinstance(provider, Checkable):
        await provider.check()
    at = asked.model.endpoint
    endpoint = EndpointModel(
        provider, asked.model.pin.model, attempt_s=at.attempt_timeout_s, where=at.base_url
    )
    return Metered(endpoint, meter)


async def _closed(
    ledger: DriveLedger, folder: Path, clock: Clock, show: Callable[[DriveLine], None] | None
) -> list[DriveLine]:
    """Close what a process that died left open, and give all lines of the ledger."""
    with DriveReader.open(folder) as reader:
        lines = [stored.line for stored in reader.lines()]
    closing = closing_lines(lines, lambda: round(clock.wall_s() * 1000))
    if closing:
        await ledger.append(closing, {})
        for line in closing:
            if show is not None:
                show(line)
    return [*lines, *closing]


def _plan(asked: Asked, run: str, last: HandoffWritten | None = None) -> DrivePlan:
    """Make the plan of a drive; of one that goes on, from the handoff of the `last`."""
    rules = [Document(name=name, data=text.encode()) for name, text in asked.rules.items()]
    handed = [] if last is None else [Document(name="handoff", data=_told(last).encode())]
    return DrivePlan(
        run=run,
        who="agent",
        task=asked.task,
        goal=asked.goal,
        job="task",
        prefix=freeze({"house": [_HOUSE], "place": rules, "run": handed}, bytes_max=_PREFIX_MAX),
        model=asked.program if asked.model is None else asked.model.pin.model,
        tokens_max=asked.tokens_max,
        temperature=asked.temperature,
        seed=run,
        place_policy=asked.place,
        policy=asked.policy,
        predecessor="" if last is None else last.run,
        retries=asked.retries,
        second_threshold=asked.second_threshold,
        window=asked.window,
    )


def _told(last: HandoffWritten) -> str:
    """Write a handoff for whoever goes on from it."""
    parts = {
        "Read first": ", ".join(last.must_read),
        "What it was about": last.overview,
        "What was done": last.progress,
        "Beside that": last.context,
        "What comes next": last.next_step,
    }
    told = "\n".join(f"{name}: {text}" for name, text in parts.items() if text)
    return f"You go on with work that was begun before you, in the same place.\n{told}"


def _brief(plan: DrivePlan) -> Brief:
    return Brief(context=f"What the model saw is in {transcript_name(plan.run)}.")


def _branched(folder: Path, asked: Asked, plan: DrivePlan) -> DrivePlan:
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


async def _bring_over(folder: Path, taken: Branch) -> None:
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


def _make_room(room: Path) -> None:
    try:
        room.mkdir(exist_ok=True)
    except OSError as error:
        raise translate_os(error, room) from error


def _copy_room(room: Path, copy: Path) -> None:
    """Copy a room as it stands; a repository of somebody's own stays where it is."""

    def kept_out(folder: str, _: list[str]) -> list[str]:
        return [".git"] if Path(folder) == room else []

    shutil.copytree(room, copy, symlinks=True, ignore=kept_out)


@contextmanager
def _going_on_in(folder: Path) -> Iterator[None]:
    """Say of a disk that is full how a drive goes on that has begun: not by being begun again.

    Raises:
        StorageFullError: there was no room.

    """
    try:
        yield
    except StorageFullError as full:
        remedy = f"Free some space, then give: perdure drive resume {shlex.quote(str(folder))}"
        raise StorageFullError(full.wrong, where=full.where, remedy=remedy) from full


@asynccontextmanager
async def _held(folder: Path, clock: Clock) -> AsyncIterator[None]:
    lock = await GovernorLock.acquire(folder, clock)
    try:
        # It was meant for an earlier process.
        await asyncio.to_thread(forget_request, folder)
        yield
    finally:
        lock.release()


@asynccontextmanager
async def _closing(ledger: DriveLedger, folder: Path) -> AsyncIterator[None]:
    """Put a ledger into its one file and close it, however the block ends.

    So whoever reads it later leaves nothing beside it. An error of the block is told before one of
    this: what was appended is durable either way.
    """
    with _going_on_in(folder):
        try:
            yield
        except BaseException:
            with suppress(StorageError):
                await ledger.finish()
            raise
        else:
            await ledger.finish()
        finally:
            await ledger.close()
