"""What an agent of a user's own did with tools becomes a record that is sound, or none at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.office import asks, furnish, office
from tests.support.town import OwnParts, Ran, run_in_memory

from perdure.agent import Models
from perdure.records.drive import (
    Completion,
    Dispatcher,
    DriveLine,
    EndCause,
    HandoffWritten,
    HarnessReported,
    JobPinned,
    Opening,
    PromptAssembled,
    RunFrozen,
    RunStarted,
    Segment,
    ToolCalled,
    ToolResult,
    drive_id,
)
from perdure.records.events import Turn
from perdure.records.outcome import DriveDone, Outcome, TurnDone
from perdure.records.presentation import Plan, TurnJob
from perdure.records.registry import WorldState
from perdure.records.request import Message
from perdure.records.scenario import Header
from perdure.records.tools import AnswerStatus, ToolCall
from perdure.testing import ScriptedProvider
from perdure.trace.rules import Tally

CALL = asks("send_note", 0, to="p1", text="It is I.")
RULES = b"Be brief."
CITED = hashlib.sha256(RULES).hexdigest()
Change = Callable[[DriveDone], DriveDone]


def left_by(job: TurnJob) -> DriveDone:
    """Give the lines of a drive that made the call."""
    run = drive_id(job.tick, job.index)
    end: dict[str, Any] = {"completion": Completion.LIMIT, "cause": EndCause.TURNS}
    texts = dict.fromkeys(("overview", "progress", "context", "next_step"), "")
    lines: tuple[DriveLine, ...] = (
        JobPinned(run=run, t=0, job="room", sha256="0" * 64),
        RunStarted(
            run=run,
            t=1,
            task="",
            goal="",
            job="room",
            model="own",
            dispatched_by=Dispatcher.STUDY,
            opening=Opening.WITH_PERSON,
        ),
        PromptAssembled(
            run=run, t=2, segments=(Segment(slot="house", sha256=CITED, size=len(RULES)),)
        ),
        HarnessReported(run=run, t=3, what="said"),
        ToolCalled(run=run, t=4, turn=0, call=CALL),
        ToolResult(
            run=run,
            t=5,
            turn=0,
            call_id=CALL.id,
            name=CALL.name,
            status=AnswerStatus.OK,
            text="Sent.",
        ),
        HandoffWritten(run=run, t=6, must_read=(), **texts),
        RunFrozen(run=run, t=7, turns=1, **end),
    )
    return DriveDone(lines=lines, blobs={CITED: RULES})


class Handy:
    """Leaves a note by itself, and tells of it as a test wants it told."""

    def __init__(self, drive: Change | None, did: tuple[ToolCall, ...] = (CALL,)) -> None:
        self._drive = drive
        self._did = did

    def reset(self, header: Header) -> None:
        """Need nothing of it."""

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Models) -> Sequence[Outcome]:
        """Take one turn after the other."""
        return [await self._turn(job, models) for job in jobs]

    async def _turn(self, job: TurnJob, models: Models) -> Outcome:
        own = models.for_job(job.index)
        messages = (Message(role="user", content="Can the move go ahead?"),)
        assert (await own.use(CALL, ())).status is AnswerStatus.OK
        reply = await own.chat("turn", messages, tokens_max=9)
        drive = None if self._drive is None else self._drive(left_by(job))
        return TurnDone(messages=messages, answer=reply.text, drive=drive, did=self._did)


def ran(folder: Path, agent: Handy) -> Ran:
    """Run an office of two people and two days with the agent."""
    config = office(furnish(folder / "study"), personas=2, horizon=2)
    parts = OwnParts(config, agent=lambda _header: agent)
    return run_in_memory(config, ScriptedProvider(lambda _: "I agree."), parts=parts)


def complaints(done: Ran) -> list[str]:
    """Say what `verify` would say of the events of its world."""
    tally = Tally(horizon=2)
    return [wrong for event in done.events() if (wrong := tally.follow(event)) is not None]


@pytest.mark.parametrize("drive", [None, lambda left: left], ids=["no drive", "a drive"])
def test_what_was_done_is_sound_with_a_drive_or_without(
    tmp_path: Path, drive: Change | None
) -> None:
    """Who uses the tools of the world as the page on agents says leaves a record that is sound."""
    done = ran(tmp_path, Handy(drive))
    assert done.result.exit_status == 0, done.result
    assert complaints(done) == []
    turns = [event.payload for event in done.events() if isinstance(event.payload, Turn)]
    assert [turn.did for turn in turns] == [(CALL,)] * 4


def without(place: int) -> Change:
    """Leave one line out."""
    return lambda left: msgspec.structs.replace(
        left, lines=left.lines[:place] + left.lines[place:][1:]
    )


def of_another(left: DriveDone) -> DriveDone:
    """Let all lines be of another job's drive."""
    lines = tuple(msgspec.structs.replace(line, run="t0-j9") for line in left.lines)
    return msgspec.structs.replace(left, lines=lines)


BROKEN: dict[str, tuple[Change, str]] = {
    "no pin": (without(0), "a drive begins with its job"),
    "not started": (without(1), "a drive is started after its job is pinned"),
    "no result": (without(5), "has no result"),
    "never called": (without(4), "was not made"),
    "no handoff": (without(6), "a drive is frozen after its handoff"),
    "not frozen": (without(7), "has not ended"),
    "of another job": (of_another, "a line is of the drive 't0-j9'"),
    "no bytes": (lambda left: msgspec.structs.replace(left, blobs={}), "which are not there"),
    "other bytes": (
        lambda left: msgspec.structs.replace(left, blobs={CITED: b"Be long."}),
        "not those of their hash",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_drive_that_would_not_be_sound_is_not_recorded(tmp_path: Path, name: str) -> None:
    """The world fails and says what is wrong with the lines; nothing of the tick is kept."""
    change, said = BROKEN[name]
    (world,) = ran(tmp_path, Handy(change)).result.worlds
    assert (world.state, world.tick) == (WorldState.FAILED, -1)
    assert "In its outcome of job 0" in world.cause
    assert said in world.cause


def test_what_a_drive_did_not_do_is_not_told_of_its_turn(tmp_path: Path) -> None:
    """Where there are lines, they have every action that the turn is said to have taken."""
    other = asks("send_note", 1, to="p0", text="It is I.")
    (world,) = ran(tmp_path, Handy(lambda left: left, (CALL, other))).result.worlds
    assert world.state is WorldState.FAILED
    assert "which no drive of it did" in world.cause
