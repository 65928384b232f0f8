"""How every drive opens and closes, whoever takes its turns: written here, and nowhere else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from perdure.agent.drive.handoff import Brief, Facts
from perdure.agent.drive.plan import DrivePlan
from perdure.agent.drive.scribe import Scribe
from perdure.base.crashpoints import crashpoint
from perdure.records.drive import (
    COMPLETION_OF,
    ChildEnded,
    Completion,
    DriveLine,
    EndCause,
    JobPinned,
    RunForked,
    RunFrozen,
    RunStarted,
    ToolResult,
)
from perdure.records.record import Record
from perdure.records.tools import AnswerStatus, ToolSpec

_NO_RESULT = (
    "Nobody saw what this call came to. It may have had its effect: look before it is made again."
)


class Ending(Record):
    """Why a drive ends, after how many whole turns, and the lines that show that it is done."""

    cause: EndCause
    turns: int
    evidence: tuple[int, ...] = ()

    @property
    def completion(self) -> Completion:
        """The cause, in one word."""
        return COMPLETION_OF[self.cause]


def open_drive(scribe: Scribe, plan: DrivePlan, tools: Sequence[ToolSpec]) -> RunStarted:
    """Hold the lines of a dispatch: what is to be done, where from, and all that is constant."""
    inherited = plan.inherited_bytes
    scribe.hold(
        JobPinned(run=plan.run, t=scribe.now(), job=plan.job, sha256=plan.job_sha256),
    )
    if plan.forked is not None:
        fork = plan.forked
        scribe.hold(
            RunForked(
                run=plan.run,
                t=scribe.now(),
                mother=fork.mother,
                at=fork.at,
                asked=fork.asked,
                chain=fork.chain,
            )
        )
    started = plan.started(scribe.now(), tuple(tool.name for tool in tools))
    scribe.hold(started, {hashlib.sha256(inherited).hexdigest(): inherited} if inherited else None)
    return started


def closing(
    facts: Facts,
    ending: Ending,
    brief: Brief,
    *,
    run: str,
    moment: Callable[[], int],
    ends: Mapping[str, RunFrozen] | None = None,
) -> Iterator[DriveLine]:
    """Give the lines that close a drive: what was still open, its handoff, and its end.

    Each is to be told to the facts before the next one is asked for. `ends` are those of drives
    that work was handed down to, where they are known; the others end with this one.
    """
    for called in tuple(facts.open_calls.values()):
        yield ToolResult(
            run=run,
            t=moment(),
            turn=called.turn,
            call_id=called.call.id,
            name=called.call.name,
            status=AnswerStatus.UNKNOWN,
            text=_NO_RESULT,
        )
    for child in facts.open_children:
        known = (ends or {}).get(child)
        end = ending if known is None else known
        yield ChildEnded(
            run=run, t=moment(), child=child, completion=end.completion, cause=end.cause
        )
    yield facts.handoff(
        run=run, t=moment(), cause=ending.cause, completion=ending.completion, brief=brief
    )
    yield RunFrozen(
        run=run,
        t=moment(),
        completion=ending.completion,
        cause=ending.cause,
        turns=ending.turns,
        evidence=ending.evidence,
    )


async def freeze(scribe: Scribe, ending: Ending, brief: Brief) -> None:
    """Close a drive, and make that durable with all that is held.

    Raises:
        StorageError: it could not be written; the next start-up closes the drive.

    """
    crashpoint("drive.before-freeze")
    for line in closing(scribe.facts, ending, brief, run=scribe.run, moment=scribe.now_or_last):
        scribe.hold(line)
    await scribe.flush()
