"""An agent that is driven alone: its parts, its start, its going on.

The folder holds the ledger, the room that the agent works in, the room's history, and for every
drive a transcript of what the model saw. A drive that is over is never woken: going on begins a
new one, from the handoff of the last.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from perdure.agent.drive.ceilings import Limited
from perdure.agent.drive.conversation import Conversation
from perdure.agent.drive.drive import Frozen, drive
from perdure.agent.drive.handoff import Brief
from perdure.agent.drive.harness import Program, drive_program
from perdure.agent.drive.plan import DrivePlan
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
from perdure.agent.drive.tools.history import History
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.clock import Clock, SystemClock
from perdure.base.errors import StorageError, StorageFullError, UsageError
from perdure.base.ids import new_run_id
from perdure.base.redaction import Redactor
from perdure.inference.provider import Checkable
from perdure.records.alone import Asked
from perdure.records.drive import (
    Anew,
    Completion,
    Dispatcher,
    DriveLine,
    HandoffWritten,
    RunFrozen,
)
from perdure.records.increment import Increment
from perdure.records.request import ChatRequest, Message
from perdure.records.tools import Writes
from perdure.runner.alone_folder import (
    HISTORY_NAME,
    ROOM_NAME,
    as_given_anew,
    given_anew,
    read_asked,
    room_of,
)
from perdure.runner.attended import Attended
from perdure.runner.branching import branched, bring_over
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

CURRENCY = "USD"

# Enough for the rules of a place; what is longer is cut with a mark.
_PREFIX_MAX = 200_000

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
            await bring_over(folder, asked.branch)
        await asyncio.to_thread(_make_room, room_of(folder, asked))
        async with _ready(folder, asked, company, time) as parts:
            plan = branched(folder, asked, _plan(asked, new_run_id()))
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
                plan = branched(folder, asked, plan)
            async with _ready(folder, asked, company, time) as parts:
                parts.require_one_call(plan)
                return await parts.conduct(ledger, plan)


def _absolute(folder: Path) -> Path:
    # Programs that work in the room are told of it, and are at home elsewhere.
    return folder.absolute()


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


def _make_room(room: Path) -> None:
    try:
        room.mkdir(exist_ok=True)
    except OSError as error:
        raise translate_os(error, room) from error


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
