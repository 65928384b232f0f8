"""An agent program that drives its own turns: dispatched, watched, cut and frozen like any other.

What it reports is recorded, and is never evidence: what shows that it is done is that its answer
came back whole. It is spoken to between its turns; nobody can put words into one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from perdure.agent.drive.charter import Ending, freeze, open_drive
from perdure.agent.drive.conversation import spoken
from perdure.agent.drive.drive import Frozen, close_commands, failed_line
from perdure.agent.drive.halting import Halt
from perdure.agent.drive.handoff import Brief
from perdure.agent.drive.plan import DrivePlan
from perdure.agent.drive.ports import Hooks, Ledger, Place, SafePoint, Steer, Stop
from perdure.agent.drive.scribe import Scribe
from perdure.base.text import one_line
from perdure.records.drive import (
    CancelReceived,
    CheckpointCommitted,
    EndCause,
    HarnessAnswered,
    HarnessReported,
    SteerReceived,
)
from perdure.records.record import Record
from perdure.records.request import Message
from perdure.records.tools import Writes

IN_PROGRAM = "in_program"

_ENDED: dict[str, EndCause] = {
    "end_turn": EndCause.CONCLUDED,
    "max_tokens": EndCause.OUTPUT_CEILING,
    "max_turn_requests": EndCause.TURNS,
    "refusal": EndCause.REFUSED,
}
_CANCELLED = "cancelled"
_WORD_MAX = 80
# Between reports it is looked so often whether somebody wants it to stop.
_LOOKS_EVERY_S = 0.2
# How long one that was asked to end its turn is waited for. A halt waits for nothing.
_GRACE_S = 10.0
# What is not recorded yet. A program that reports more, and faster than a disk, waits.
_REPORTS_MAX = 64

_ANYTHING = Writes(anywhere=True)


class Report(Record):
    """What a program says that it does: said, thought, called, asked, or something else."""

    kind: str
    text: str = ""
    detail: str = ""


class Answer(Record):
    """How a program ended a turn of its own: why, in its word, and with which text."""

    stop: str
    text: str = ""


class ProgramLostError(Exception):
    """The program went away, or spoke what nobody can read. `args` says which."""


# Takes a report; it is kept when this returns.
Reporting = Callable[[Report], Awaitable[None]]


class Program(Protocol):
    """An agent program. It is started with its first turn."""

    @property
    def name(self) -> str:
        """What it is called, as it is recorded in the model's place."""
        ...

    async def prompt(self, text: str, report: Reporting) -> Answer:
        """Let it take a turn of its own; it reports under way.

        Cancelled, it is killed with all that it started before this returns.

        Raises:
            ProgramLostError: there is no answer.

        """
        ...

    async def interrupt(self) -> None:
        """Ask it to end its turn. Whether it does is its own business."""
        ...

    async def close(self) -> None:
        """End it, with everything that it started."""
        ...


async def drive_program(
    plan: DrivePlan, ledger: Ledger, program: Program, hooks: Hooks, handoff: Brief
) -> Frozen:
    """Drive an agent program from its dispatch to its end.

    Raises:
        StorageError: the ledger cannot be written. The next start-up closes the drive.
        Exception: what a hook raised. The drive is closed first.

    """
    scribe = Scribe(plan.run, ledger, hooks.now, hooks.secrets)
    watched = _Watched(plan, scribe, program, hooks)
    error: BaseException | None = None
    async with Halt(hooks.interrupts) as halt:
        try:
            open_drive(scribe, plan, hooks.tools.specs)
            await scribe.flush()
            ending = await watched.turns(halt)
        except asyncio.CancelledError as cancelled:
            ending, error = Ending(cause=EndCause.HALT, turns=watched.count), cancelled
        except Exception as fault:  # noqa: BLE001 - the verdict first, then what was raised
            ending, error = Ending(cause=EndCause.FAULT, turns=watched.count), fault
    try:
        await program.close()
        await close_commands(scribe, hooks, ending.cause)
    except Exception as fault:  # noqa: BLE001 - as above
        ending, error = Ending(cause=EndCause.FAULT, turns=watched.count), error or fault
    if error is not None:
        scribe.hold(failed_line(plan.run, scribe, error))
    await freeze(scribe, ending, handoff)
    if error is not None:
        raise error
    return Frozen(
        run=plan.run,
        completion=ending.completion,
        cause=ending.cause,
        turns=ending.turns,
        evidence=ending.evidence,
        messages=tuple(watched.said),
        text=scribe.facts.last_text,
        display_failures=0,
    )


class _Watched:
    """A program under way: what it was told, and how many of its turns are whole."""

    def __init__(self, plan: DrivePlan, scribe: Scribe, program: Program, hooks: Hooks) -> None:
        self._plan = plan
        self._scribe = scribe
        self._program = program
        self._hooks = hooks
        self._reports: asyncio.Queue[Report] = asyncio.Queue(_REPORTS_MAX)
        self._words: list[str] = []
        self.said: list[Message] = []
        self.count = 0

    async def turns(self, halt: Halt) -> Ending:
        """Let it take turns until it is done, lost or stopped; words that came in start another."""
        plan, prefix = self._plan, self._plan.prefix.text
        told = f"{plan.task}\n\nDone when: {plan.goal}" if plan.goal else plan.task
        text = f"{prefix}\n\n{told}" if prefix else told
        while True:
            if stop := self._arrived(SafePoint.BEFORE_ASSEMBLE):
                return self._stopped(stop, SafePoint.BEFORE_ASSEMBLE)
            # What it finds is kept before it can change anything, and then what it left.
            await self._checkpoint()
            await self._scribe.flush()
            self.said.append(Message(role="user", content=text))
            try:
                answer = await halt.race(self._watch(text))
            except ProgramLostError as lost:
                self._take_reports()
                self._report(Report(kind="lost", text=str(lost)))
                return Ending(cause=EndCause.PROVIDER, turns=self.count)
            self._take_reports()
            if isinstance(answer, Stop):
                await self._checkpoint()
                return self._stopped(answer, IN_PROGRAM)
            await self._checkpoint()
            ending = await self._answered(answer)
            if stop := self._arrived(SafePoint.BEFORE_SPAWN):
                return self._stopped(stop, SafePoint.BEFORE_SPAWN)
            if ending.cause is not EndCause.CONCLUDED or not self._words:
                return ending
            text, self._words = "\n\n".join(self._words), []

    async def _watch(self, text: str) -> Answer | Stop:
        """Wait for the answer to a prompt; record what is reported, and look for a stop."""
        wake = asyncio.Event()

        async def report(one: Report) -> None:
            await self._reports.put(one)
            wake.set()

        task = asyncio.ensure_future(self._program.prompt(text, report))
        try:
            while not task.done():
                await self._record(task, wake)
                if stop := self._arrived(SafePoint.BEFORE_TOOL_CALL):
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_GRACE_S):
                            await self._program.interrupt()
                            while not task.done():
                                await self._record(task, wake)
                    return stop
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _record(self, task: asyncio.Task[Answer], wake: asyncio.Event) -> None:
        """Wait a moment for what is reported, and record it."""
        waiting = asyncio.ensure_future(wake.wait())
        try:
            await asyncio.wait(
                {task, waiting}, timeout=_LOOKS_EVERY_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            waiting.cancel()
        wake.clear()
        self._take_reports()
        await self._scribe.flush()

    async def _answered(self, answer: Answer) -> Ending:
        number = self._scribe.hold(
            HarnessAnswered(
                run=self._plan.run, t=self._scribe.now(), stop=answer.stop, text=answer.text
            )
        )
        await self._scribe.flush()
        self.said.append(Message(role="assistant", content=answer.text))
        self.count += 1
        cause = _ENDED.get(answer.stop)
        if cause is None:
            self._report(Report(kind="broke_off", text=_broke_off(answer.stop)))
            cause = EndCause.PROVIDER
        if cause in (EndCause.CONCLUDED, EndCause.REFUSED) and not answer.text.strip():
            cause = EndCause.EMPTY_REPLY
        evidence = (number,) if cause is EndCause.CONCLUDED else ()
        return Ending(cause=cause, turns=self.count, evidence=evidence)

    def _arrived(self, point: SafePoint) -> Stop | None:
        arrived = self._hooks.interrupts.at(Place(point=point, turn=self.count))
        for one in arrived:
            if isinstance(one, Stop):
                return one
            if isinstance(one, Steer):
                self._words.append(spoken(one.source, one.text))
                self._scribe.hold(
                    SteerReceived(
                        run=self._plan.run,
                        t=self._scribe.now(),
                        source=one.source,
                        text=one.text,
                        point=point,
                    )
                )
        return None

    def _stopped(self, stop: Stop, point: str) -> Ending:
        self._scribe.hold(
            CancelReceived(
                run=self._plan.run,
                t=self._scribe.now(),
                cause=stop.cause,
                by=stop.by,
                point=point,
            )
        )
        return Ending(cause=stop.cause, turns=self.count)

    def _take_reports(self) -> None:
        while not self._reports.empty():
            self._report(self._reports.get_nowait())

    def _report(self, one: Report) -> None:
        self._scribe.hold(
            HarnessReported(
                run=self._plan.run,
                t=self._scribe.now(),
                what=one.kind,
                text=one.text,
                detail=one.detail,
            )
        )

    async def _checkpoint(self) -> None:
        """Commit what it left: nobody knows what a program writes, so it may be anything."""
        if self._hooks.checkpoint is None:
            return
        moment = self._scribe.now()
        done = await self._hooks.checkpoint(moment, _ANYTHING)
        self._scribe.hold(
            CheckpointCommitted(
                run=self._plan.run,
                t=moment,
                oid=done.oid,
                predecessor=done.predecessor,
                files=done.files,
                scope=_ANYTHING,
            )
        )


def _broke_off(stop: str) -> str:
    """Say of a turn how it ended, where that is no end of a turn and nobody had asked for it."""
    if stop == _CANCELLED:
        return "it broke off its turn, and nobody had asked it to."
    return f"it ended its turn with {one_line(stop, _WORD_MAX)!r}, a word that nobody knows."
