"""Where a drive may branch off another one, and the conversation that the branch starts from."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.agent.drive.conversation import Conversation
from perdure.records.drive import (
    CheckpointCommitted,
    Completion,
    DriveLine,
    ModelReturned,
    RunStarted,
    ToolCalled,
    ToolResult,
)
from perdure.records.request import Message
from perdure.records.tools import Effect


def cut_at(lines: Sequence[DriveLine], asked: int) -> int:
    """Give how many lines a branch takes over that was asked for after the line `asked`.

    No call of them waits for its result: a place within a wave is moved back to before the reply
    that asked for it.
    """
    waiting: set[str] = set()
    cut = 0
    for number, line in enumerate(lines[: asked + 1]):
        if isinstance(line, ModelReturned):
            waiting = {call.id for call in line.calls}
        elif isinstance(line, ToolResult):
            waiting.discard(line.call_id)
        if not waiting:
            cut = number + 1
    return cut


def conversation_at(
    lines: Sequence[DriveLine], inherited: Sequence[Message] = ()
) -> tuple[Message, ...]:
    """Rebuild what the model saw by the end of some lines of one drive, as they are stored."""
    conversation = Conversation(inherited)
    for line in lines:
        conversation.take(line)
    conversation.end(Completion.DONE)
    return conversation.messages


def checkpoint_at(lines: Sequence[DriveLine], cut: int) -> str:
    """Name the commit that is the workspace as it stood after so many lines.

    What a wave wrote is in the commit before the next one, whoever made that. Where nothing was
    committed by then, nothing was written either, and the first commit after is the workspace as it
    was. Empty if there is none: then it stands as it stood.
    """
    oid, has_written = "", False
    for line in lines[:cut]:
        if isinstance(line, CheckpointCommitted):
            oid, has_written = line.oid, False
        elif isinstance(line, ToolCalled):
            has_written |= line.effect is not Effect.READ
    if oid and not has_written:
        return oid
    later = (line.oid for line in lines[cut:] if isinstance(line, CheckpointCommitted))
    return next(later, "")


def started(lines: Sequence[DriveLine]) -> RunStarted | None:
    """Find how a drive was dispatched."""
    return next((line for line in lines if isinstance(line, RunStarted)), None)
