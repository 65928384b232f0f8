"""Lines of a drive for tests of its ledger: a script that always says the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from perdure.records.drive import (
    CancelReceived,
    Completion,
    Dispatcher,
    DriveLine,
    EndCause,
    HandoffWritten,
    JobPinned,
    ModelCalled,
    ModelReturned,
    Opening,
    PromptAssembled,
    RunFrozen,
    RunStarted,
    Segment,
    ToolCalled,
    ToolResult,
)
from perdure.records.record import Record
from perdure.records.request import FinishReason
from perdure.records.tools import AnswerStatus, Effect, ToolCall
from perdure.records.usage import Usage

RUN = "run-1"
Append = tuple[Sequence[DriveLine], Mapping[str, bytes]]


class Asked(Record):
    """What was asked of a drive, for a test."""

    task: str
    model: str = "scripted"


ASKED = Asked(task="Tidy up.")


def named(text: str) -> tuple[str, bytes]:
    """Give a text as bytes, and their hash."""
    data = text.encode()
    return hashlib.sha256(data).hexdigest(), data


def opening(run: str = RUN) -> Append:
    """Dispatch: the job, and the start, which cites the conversation that it inherits."""
    name, data = named('[{"role":"user","content":"before"}]')
    started = RunStarted(
        run=run,
        t=1,
        task="Tidy up.",
        goal="A tidy folder.",
        job="job",
        model="scripted",
        dispatched_by=Dispatcher.PERSON,
        opening=Opening.INHERITED,
        inherited=name,
    )
    return (JobPinned(run=run, t=0, job="job", sha256="0" * 64), started), {name: data}


def turn(number: int, run: str = RUN, padding: str = "") -> list[Append]:
    """One turn: what is sent, what comes back, and a call of a tool, each durable before the next.

    Its texts are of every kind that a store could get wrong.
    """
    name, data = named(f"You are tidy. {padding}")
    nothing, _ = named("")
    segments = (
        Segment(slot="city", sha256=name, size=len(data)),
        Segment(slot="run", sha256=nothing, size=0),
    )
    call = ToolCall(id=f"c{number}", name="erase", arguments='{"path": "a\u2603\\u0000"}')
    t = 10 * number
    return [
        (
            (
                PromptAssembled(run=run, t=t, segments=segments),
                ModelCalled(
                    run=run, t=t + 1, turn=number, attempt=0, model="m", segments=(name, nothing)
                ),
            ),
            {name: data},
        ),
        (
            (
                ModelReturned(
                    run=run,
                    t=t + 2,
                    turn=number,
                    text="\x1b[0m ja \u2603 null",
                    finish=FinishReason.TOOL_CALLS,
                    calls=(call,),
                    usage=Usage(input_fresh=10, output=2),
                ),
                ToolCalled(run=run, t=t + 3, turn=number, call=call, effect=Effect.WRITE),
            ),
            {},
        ),
        (
            (
                ToolResult(
                    run=run,
                    t=t + 4,
                    turn=number,
                    call_id=call.id,
                    name=call.name,
                    status=AnswerStatus.OK,
                    text=f"gone {padding}",
                ),
            ),
            {},
        ),
    ]


def closing(run: str = RUN) -> Append:
    """Freeze: the handoff and the end."""
    handoff = HandoffWritten(
        run=run, t=99, must_read=("job",), overview="", progress="", context="", next_step=""
    )
    frozen = RunFrozen(
        run=run, t=100, completion=Completion.CANCELLED, cause=EndCause.HALT, turns=2
    )
    cancelled = CancelReceived(run=run, t=98, cause=EndCause.HALT, by="test", point="wait")
    return (cancelled, handoff, frozen), {}


def script(turns: int = 2, padding: str = "") -> list[Append]:
    """Give all appends of a whole drive, in order."""
    between = [one for number in range(turns) for one in turn(number, padding=padding)]
    return [opening(), *between, closing()]
