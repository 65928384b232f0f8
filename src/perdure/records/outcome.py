"""What became of a turn job: one outcome for every job, in job order. A failure is an outcome."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from perdure.records.persona import Memory
from perdure.records.reaction import Reaction
from perdure.records.record import Record
from perdure.records.request import FailureCause, FirstToken, Message
from perdure.records.scenario import Question
from perdure.records.tools import ToolCall

if TYPE_CHECKING:
    from perdure.records.drive import DriveLine


class TurnFailureCause(StrEnum):
    """The closed set of ways in which a turn fails."""

    CALL_FAILED = "call_failed"
    UNCONDITIONED = "unconditioned"
    CONTEXT_EXCEEDED = "context_exceeded"
    GUARDRAIL = "guardrail"
    NOTHING_SHOWN = "nothing_shown"
    AGENT_DECLINED = "agent_declined"


class Rule(StrEnum):
    """What an answer has to be: readable in the asked form, and only about what was shown."""

    UNREADABLE = "unreadable"
    NOT_SHOWN = "not_shown"


class Violation(Record):
    """An answer that broke a rule, with the prompt that it was given to."""

    rule: Rule
    messages: tuple[Message, ...]
    answer: str


class ProbeDone(Record):
    """A question whose answer is known: one of the persona's own attributes, and its code.

    `failed` is the failure of its model call, if that got no reply.
    """

    attribute: str
    code: str
    question: Question
    messages: tuple[Message, ...]
    answer: str = ""
    failed: FailureCause | None = None


class ReflectionDone(Record):
    """A reflection that a persona made after its turn, with the prompt that led to it.

    `failed` is the failure of its model call, if that got no reply; the turn itself still counts.
    """

    messages: tuple[Message, ...]
    text: str = ""
    memories: tuple[Memory, ...] = ()
    failed: FailureCause | None = None


if TYPE_CHECKING:
    Lines = tuple[DriveLine, ...]
else:
    # A line does not say of itself which kind it is, so that only its writer can decode it.
    Lines = tuple[Any, ...]


class DriveDone(Record):
    """What a drive left behind: its lines in order, and the bytes that they cite, by hash."""

    lines: Lines
    blobs: dict[str, bytes] = {}


class TurnDone(Record, tag="done"):
    """A turn that was taken: the prompt as sent, the answer in the model's own words.

    `reaction` is what the answer says that the persona does, where it could do something. `beliefs`
    are all that it holds after the turn, absent if the turn moved none. `recalled` are the numbers
    of the memories that the prompt tells. `violations` are the answers before this one that broke
    a rule. `first_tokens` are as in `Reply`. `drive` is what a turn with tools left behind, and
    `did` the actions that it took in the world.
    """

    messages: tuple[Message, ...]
    answer: str
    memories: tuple[Memory, ...] = ()
    reflection: ReflectionDone | None = None
    reaction: Reaction | None = None
    beliefs: dict[str, int] | None = None
    recalled: tuple[int, ...] = ()
    probe: ProbeDone | None = None
    violations: tuple[Violation, ...] = ()
    first_tokens: tuple[FirstToken, ...] = ()
    drive: DriveDone | None = None
    did: tuple[ToolCall, ...] = ()


class TurnFailed(Record, tag="failed"):
    """A turn that was not taken. `call` is the failure of the model call, if that was the cause.

    `drive` is what it left behind by then, where it had tools.
    """

    cause: TurnFailureCause
    call: FailureCause | None = None
    violations: tuple[Violation, ...] = ()
    drive: DriveDone | None = None


Outcome = TurnDone | TurnFailed


class UnscorableCause(StrEnum):
    """Why an answer has no score."""

    EMPTY = "empty"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    NO_CHOICE = "no_choice"
    SEVERAL_CHOICES = "several_choices"
    NOT_ALL_RANKED = "not_all_ranked"
    UNCLEAR_ORDER = "unclear_order"
    NO_NUMBER = "no_number"
    SEVERAL_NUMBERS = "several_numbers"
    OTHER_UNIT = "other_unit"
    ONLY_A_BOUND = "only_a_bound"
    OUT_OF_RANGE = "out_of_range"
    ONLY_A_NUMBER = "only_a_number"
    NOT_EMBEDDED = "not_embedded"
    NO_LOGPROBS = "no_logprobs"


class Scored(Record):
    """An answer, scored by what its question asks for; or the cause why it has no score.

    `choice` is the one that was given, `choices` those that were, empty for none of them: as the
    question lists several, and the first one first where they are ranked. `number` is in the
    question's unit. `masses` are the probabilities of the choices as the question lists them, and
    `similarities` what they come from: of each anchor set, the likeness to each of its points.
    """

    choice: str = ""
    unscorable: UnscorableCause | None = None
    choices: tuple[str, ...] | None = None
    number: float | None = None
    masses: tuple[float, ...] = ()
    similarities: tuple[tuple[float, ...], ...] = ()
