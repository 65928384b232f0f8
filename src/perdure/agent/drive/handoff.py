"""What whoever goes on with a drive has to know: composed at its end, from its own lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from perdure.agent.drive.gauge import whole_input
from perdure.base.text import one_line
from perdure.records.drive import (
    CheckpointCommitted,
    ChildEnded,
    ChildStarted,
    Completion,
    DriveLine,
    EndCause,
    HandoffWritten,
    HarnessAnswered,
    ModelReturned,
    ProviderFailed,
    RunFrozen,
    RunStarted,
    ToolCalled,
    ToolResult,
    child_id,
)
from perdure.records.record import Record
from perdure.records.request import FailureCause
from perdure.records.tools import AnswerStatus, Effect, ToolCall

_TEXT_MAX = 2000
_SUBJECT_MAX = 200
_LISTED_MAX = 20

_ENDED = {
    EndCause.CONCLUDED: "It came to its end by itself.",
    EndCause.OUTPUT_CEILING: "Its last reply was cut at the output ceiling.",
    EndCause.EMPTY_REPLY: "Its last reply said nothing.",
    EndCause.REFUSED: "Its last reply was a refusal.",
    EndCause.TURNS: "It reached its ceiling of turns.",
    EndCause.TOKENS: "Another call did not fit under its ceiling of tokens.",
    EndCause.MONEY: "Another call did not fit under its ceiling of money.",
    EndCause.TIME: "It reached its ceiling of time.",
    EndCause.STUCK: "It went round in circles, was told so, and did again.",
    EndCause.CANCEL: "It was cancelled.",
    EndCause.HALT: "It was halted.",
    EndCause.PROVIDER: "The model could not be reached, or refused.",
    EndCause.CRASH: "Its process died.",
    EndCause.FAULT: "A part of the driver failed.",
}
assert set(_ENDED) == set(EndCause)


class Brief(Record):
    """What is known before a drive of whoever goes on with it: what to read, and what else."""

    must_read: tuple[str, ...] = ()
    context: str = ""


@dataclass(slots=True)
class Handed:
    """Work that was handed down: whether who got it began, how it ended, and who heard of that."""

    task: str
    began: bool = False
    end: ChildEnded | None = None
    is_heard: bool = False


class Facts:
    """The facts of a drive so far, as its lines tell them."""

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.failed: FailureCause | None = None
        self.is_over = False
        self._replies = 0
        self._text = ""
        self._tokens: int | None = None
        self._outcomes: Counter[tuple[str, AnswerStatus]] = Counter()
        self.open_calls: dict[str, ToolCalled] = {}
        self.handed: dict[str, Handed] = {}
        self._handed_in: Counter[int] = Counter()
        self._unknown: list[ToolCall] = []
        self._files: dict[str, None] = {}
        self._oid = ""

    def take(self, line: DriveLine) -> None:  # noqa: C901 - one case per kind
        """Take a line in."""
        match line:
            case RunStarted():
                self.started = line
            case ModelReturned():
                self._replies += 1
                self._hear()
                self._text = line.text or self._text
                tokens = whole_input(line.usage)
                self._tokens = self._tokens if tokens is None else tokens
            case ProviderFailed():
                self.failed = line.cause
            case HarnessAnswered():
                self._text = line.text or self._text
            case ToolCalled():
                self.open_calls[line.call.id] = line
            case ToolResult():
                self._answered(self.open_calls.pop(line.call_id), line)
            case ChildStarted():
                self.handed[line.child] = Handed(task=line.task, began=True)
            case ChildEnded():
                self.handed.setdefault(line.child, Handed(task="")).end = line
            case CheckpointCommitted():
                self._oid = line.oid
                self._files.update(dict.fromkeys(line.files))
            case RunFrozen():
                self.is_over = True
            case _:
                pass

    def _hear(self) -> None:
        for one in self.handed.values():
            one.is_heard = one.end is not None

    def _answered(self, called: ToolCalled, result: ToolResult) -> None:
        if called.effect is Effect.SPAWN and result.status is AnswerStatus.OK:
            # It is promised, and not done: what counts is what becomes of it.
            child = child_id(result.run, result.turn, self._handed_in[result.turn])
            self._handed_in[result.turn] += 1
            self.handed[child] = Handed(task=called.subject)
            return
        self._outcomes[result.name, result.status] += 1
        if result.status is AnswerStatus.UNKNOWN:
            self._unknown.append(called.call)

    @property
    def last_text(self) -> str:
        """The last words that the agent said."""
        return self._text

    @property
    def open_children(self) -> tuple[str, ...]:
        """The drives that work was handed down to, and of which no end is told."""
        return tuple(child for child, handed in self.handed.items() if handed.end is None)

    def handoff(
        self, *, run: str, t: int, cause: EndCause, completion: Completion, brief: Brief
    ) -> HandoffWritten:
        """Compose the handoff of a drive that ends with a cause."""
        started = self.started
        job = [started.job] if started else []
        files = list(self._files)[:_LISTED_MAX]
        return HandoffWritten(
            run=run,
            t=t,
            must_read=tuple(dict.fromkeys([*brief.must_read, *job, *files])),
            overview=self._overview(cause),
            progress=self._progress(),
            context=brief.context,
            next_step=self._next_step(completion),
        )

    def _overview(self, cause: EndCause) -> str:
        if self.started is None:
            return _ENDED[cause]
        goal = f" Done when: {self.started.goal}" if self.started.goal else ""
        return f"Task: {self.started.task}{goal} {_ENDED[cause]}"

    def _progress(self) -> str:
        parts = [f"{self._replies} {'reply' if self._replies == 1 else 'replies'} of the model."]
        for (name, status), count in sorted(self._outcomes.items()):
            parts.append(f"{name}: {status.value} {count} times.")
        for child, handed in self.handed.items():
            parts.append(f"Handed down to {child}: {_named(handed.task)} It {_state(handed)}.")
        if self._files:
            named = list(self._files)
            more = f" and {len(named) - _LISTED_MAX} more" if len(named) > _LISTED_MAX else ""
            parts.append(f"Files changed: {', '.join(named[:_LISTED_MAX])}{more}.")
        if self._oid:
            parts.append(f"Last checkpoint: {self._oid}.")
        if self._tokens is not None:
            parts.append(f"The last request took {self._tokens} tokens in.")
        if self._text:
            parts.append(f"Last said: {one_line(self._text, _TEXT_MAX)}")
        return " ".join(parts)

    def _next_step(self, completion: Completion) -> str:
        open_work = list(self._open_work())
        if open_work:
            return " ".join(open_work)
        if completion is Completion.DONE:
            return "Nothing is open; look whether the goal is met."
        return "Go on from the last checkpoint." if self._oid else "Begin from the task."

    def _open_work(self) -> Iterator[str]:
        """Say what nobody knows the outcome of, and what was handed down and came to no end."""
        if self._unknown:
            named = ", ".join(
                f"{call.name} {one_line(call.arguments, _SUBJECT_MAX)}" for call in self._unknown
            )
            yield f"Look first whether these calls had their effect, nobody knows: {named}."
        # What was heard of was dealt with, or is in the last words.
        unheard = {
            child: handed
            for child, handed in self.handed.items()
            if not handed.is_heard
            and not (handed.end is not None and handed.end.completion is Completion.DONE)
        }
        for child, handed in unheard.items():
            task = _named(handed.task)
            if handed.began:
                yield f"Look first how far {child} came, whose work broke off: {task}"
            else:
                yield f"What was handed down to {child} was never begun: {task}"


def _named(task: str) -> str:
    text = one_line(task, _SUBJECT_MAX)
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _state(handed: Handed) -> str:
    if not handed.began:
        return "was never begun"
    end = handed.end
    return "is open" if end is None else f"ended: {end.completion.value} ({end.cause.value})"
