"""What the model sees after the prefix, as a fold over the lines of its drive.

A message that was sent is never rewritten: what arrives later comes after it. The driver folds its
lines as it writes them, and whoever reads a ledger folds the same lines to the same requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from perdure.agent.drive.ports import SafePoint
from perdure.records.drive import (
    Completion,
    ContextReminded,
    DriveLine,
    ModelCalled,
    ModelReturned,
    Opening,
    PolicyChanged,
    PromptShapeCompared,
    RunFrozen,
    RunPolicy,
    RunStarted,
    SteerReceived,
    ToolResult,
    WatchdogAction,
    WatchdogFired,
)
from perdure.records.request import Message

USER = "user"


class Conversation:
    """The messages of a drive in order, without the prefix."""

    def __init__(self, inherited: Sequence[Message] = ()) -> None:
        self._messages = list(inherited)
        self._sent = len(self._messages)
        self._reply: ModelReturned | None = None
        self._results: list[ToolResult] = []
        self._notes: list[str] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the next request."""
        return tuple(self._messages)

    def take(self, line: DriveLine) -> None:  # noqa: C901 - one case per kind
        """Let a line have its effect, as the model was told it: with what a store leaves out."""
        match line:
            case RunStarted():
                self._say(opening(line))
            case SteerReceived(point=SafePoint.BEFORE_ASSEMBLE):
                self.close()
                self._say(spoken(line.source, line.text))
            case SteerReceived():
                self._notes.append(spoken(line.source, line.text))
            case PromptShapeCompared():
                self.close()
            case ModelCalled():
                self._sent = len(self._messages)
            case ModelReturned():
                self._reply = line
            case ToolResult():
                self._results.append(line)
            case PolicyChanged():
                self._notes.append(house(policy_note(line.policy)))
            case ContextReminded() | WatchdogFired(action=WatchdogAction.NUDGE):
                self._notes.append(house(line.text))
            case RunFrozen():
                self.end(line.completion)
            case _:
                pass

    def end(self, completion: Completion) -> None:
        """Let the last words in, where the drive is done; a turn that was cut is left out."""
        if completion is Completion.DONE:
            self.close()

    def close(self) -> None:
        """Let a whole exchange in: the reply, the results of its calls, then what else came up."""
        if self._reply is not None:
            reply = self._reply
            self._messages.append(Message(role="assistant", content=reply.text, calls=reply.calls))
            self._messages += [
                Message(role="tool", content=result.text, call_id=result.call_id)
                for result in self._results
            ]
        for note in self._notes:
            self._say(note)
        self._reply, self._results, self._notes = None, [], []

    def _say(self, text: str) -> None:
        """Add words to the last message, if that is of words and was not sent; else begin one."""
        if len(self._messages) > self._sent and self._messages[-1].role == USER:
            text = f"{self._messages.pop().content}\n\n{text}"
        self._messages.append(Message(role=USER, content=text))


def opening(started: RunStarted) -> str:
    """Write the first words of a drive: its task, and what would show that it is done."""
    task = started.task if started.opening is Opening.WITH_PERSON else f"Task: {started.task}"
    return f"{task}\n\nDone when: {started.goal}" if started.goal else task


def spoken(source: str, text: str) -> str:
    """Write down who says something: a letter is framed, so that it cannot speak as the user."""
    if source == USER:
        return f"user: {text}"
    return f'<letter from="{escape(source)}">\n{escape(text, quote=False)}\n</letter>'


def house(text: str) -> str:
    """Write down what the driver itself says."""
    return f"house: {text}"


def policy_note(policy: RunPolicy) -> str:
    """Tell a model what it may do from now on."""
    under = f" under {', '.join(policy.paths)}" if policy.paths else ""
    writes = f"You may write{under}" if policy.writes else "You may not write"
    egress = "may reach outside" if policy.egress else "may not reach outside"
    return f"What you may do has changed. {writes}, and you {egress}."
