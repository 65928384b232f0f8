"""What became of a turn job: one outcome for every job, in job order. A failure is an outcome."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.persona import Memory
from perdure.records.record import Record
from perdure.records.request import FailureCause, Message


class TurnFailureCause(StrEnum):
    """The closed set of ways in which a turn fails."""

    CALL_FAILED = "call_failed"
    UNCONDITIONED = "unconditioned"
    CONTEXT_EXCEEDED = "context_exceeded"
    NOTHING_SHOWN = "nothing_shown"
    AGENT_DECLINED = "agent_declined"


class ReflectionDone(Record):
    """A reflection that a persona made after its turn, with the prompt that led to it.

    `failed` is the failure of its model call, if that got no reply; the turn itself still counts.
    """

    messages: tuple[Message, ...]
    text: str = ""
    memories: tuple[Memory, ...] = ()
    failed: FailureCause | None = None


class TurnDone(Record, tag="done"):
    """A turn that was taken: the prompt as sent, the answer in the model's own words."""

    messages: tuple[Message, ...]
    answer: str
    memories: tuple[Memory, ...] = ()
    reflection: ReflectionDone | None = None


class TurnFailed(Record, tag="failed"):
    """A turn that was not taken. `call` is the failure of the model call, if that was the cause."""

    cause: TurnFailureCause
    call: FailureCause | None = None


Outcome = TurnDone | TurnFailed


class UnscorableCause(StrEnum):
    """Why an answer has no score."""

    EMPTY = "empty"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    NO_CHOICE = "no_choice"
    SEVERAL_CHOICES = "several_choices"


class Scored(Record):
    """An answer to a closed question, scored: the choice's id, or the cause why there is none."""

    choice: str = ""
    unscorable: UnscorableCause | None = None
