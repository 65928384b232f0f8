"""The events of a world's record: a closed set of kinds, and which of them are content.

Content is what the digest of a world covers. Content refers to other events only by content
number, never by seq; usage, attempts and retries appear only in cost events. No wall-clock time,
latency, host or process enters an event.
"""

from __future__ import annotations

from typing import get_args

from perdure.records.budget import Rung
from perdure.records.drive import DRIVE_KIND_OF, DriveLine
from perdure.records.outcome import Rule, TurnFailureCause, UnscorableCause
from perdure.records.persona import Memory
from perdure.records.presentation import (
    DroppedExposure,
    Intervention,
    Plan,
    Presentation,
    Stimulus,
)
from perdure.records.reaction import Reaction
from perdure.records.record import Record
from perdure.records.request import FailureCause, FinishReason, FirstToken
from perdure.records.tools import ToolCall
from perdure.records.usage import CostSource, Usage


class PromptPart(Record):
    """One message of a prompt as sent: its role, and the hash of its text among the blobs.

    `calls` and `call_id` are as in `Message`.
    """

    role: str
    sha256: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class Started(Record):
    """The first event of a world."""


class StimulusPublished(Record):
    """A stimulus entered the world."""

    stimulus: Stimulus


class InterventionApplied(Record):
    """A scheduled change took effect."""

    intervention: Intervention


class ExposureDropped(Record):
    """Something was not shown that would have been."""

    dropped: DroppedExposure


class AnswerGiven(Record):
    """The answer to a model call that no other event tells, or why there is none.

    Such are the calls of the world itself, in the order of its needs, and of a `job` what its
    outcome does not tell: that has the call's `ordinal` among those of its purpose. Vectors are
    kept as a blob of little-endian f32. `finish` and `calls` are as in `Reply`.
    """

    purpose: str
    text: str = ""
    vectors: str = ""
    count: int = 0
    failed: FailureCause | None = None
    job: int = -1
    ordinal: int = 0
    finish: FinishReason = FinishReason.STOP
    calls: tuple[ToolCall, ...] = ()


class Turn(Record):
    """A turn that was taken: what was shown, the prompt as sent, the answer as given.

    `recalled` are the content numbers of the memories that the prompt tells; `reaction` is what the
    persona did, where it could do something. `order` has the ids of the choices as they were
    listed, where that order was drawn. `first_tokens` are those with which the answer could have
    begun, where they are what is scored. `did` are the actions taken with tools of the world.
    """

    job: int
    presentation: Presentation
    prompt: tuple[PromptPart, ...]
    answer: str
    recalled: tuple[int, ...] = ()
    reaction: Reaction | None = None
    order: tuple[str, ...] = ()
    first_tokens: tuple[FirstToken, ...] = ()
    did: tuple[ToolCall, ...] = ()


class TurnNotTaken(Record):
    """A turn that failed, with its cause. `order` is as in `Turn`."""

    job: int
    presentation: Presentation
    cause: TurnFailureCause
    call: FailureCause | None = None
    order: tuple[str, ...] = ()


class GuardrailViolation(Record):
    """An answer to the job that broke a rule, and is therefore not the outcome of its turn.

    It stands before that outcome.
    """

    job: int
    rule: Rule
    prompt: tuple[PromptPart, ...]
    answer: str


class MemoryFormed(Record):
    """A persona's new memory, after the turn with content number `turn`.

    `vector` is the hash of the memory's vector among the blobs, if it has one.
    """

    turn: int
    memory: Memory
    vector: str = ""


class BeliefsHeld(Record):
    """All beliefs of a persona after the turn with content number `turn`, which moved some."""

    turn: int
    beliefs: dict[str, int]


class Reflected(Record):
    """A persona's reflection, after the turn with content number `turn`; or why there is none."""

    turn: int
    prompt: tuple[PromptPart, ...]
    text: str = ""
    failed: FailureCause | None = None


class Probed(Record):
    """A question about the persona itself, asked after the turn with content number `turn`.

    `code` is what is known of the attribute, and `choice` what the answer was scored as; or there
    is the cause why there is no score, or of the failed call.
    """

    turn: int
    attribute: str
    code: str
    prompt: tuple[PromptPart, ...]
    answer: str = ""
    choice: str = ""
    unscorable: UnscorableCause | None = None
    failed: FailureCause | None = None


class ScoreGiven(Record):
    """The score of the turn with content number `turn`, or why there is none; as in `Scored`."""

    turn: int
    question: str
    choice: str = ""
    unscorable: UnscorableCause | None = None
    choices: tuple[str, ...] | None = None
    number: float | None = None
    masses: tuple[float, ...] = ()
    similarities: tuple[tuple[float, ...], ...] = ()


class Cost(Record):
    """One attempt at one model call, and what it cost.

    `role` is the model role, `model` the pinned name, `served` the name that answered. `amount` is
    in nano-units of the run's currency and absent exactly when `source` is unknown. It is for
    `usage`, or for `charged` where nobody knows what was used: what may have been, at most.
    `above_reservation` marks an attempt that used more than was reserved for it.
    """

    job: int
    purpose: str
    ordinal: int
    attempt: int
    role: str
    model: str
    source: CostSource
    served: str = ""
    amount: int | None = None
    usage: Usage | None = None
    failed: FailureCause | None = None
    usage_impossible: bool = False
    charged: Usage | None = None
    above_reservation: bool = False


class Degraded(Record):
    """A rung of the run's ladder takes effect in this world, from this tick on.

    That of a pause is the one event between ticks: its tick is the one that did not open.
    """

    rung: Rung


class Restored(Record):
    """A rung of the run's ladder was lifted: from this tick on it has no effect any more."""

    rung: Rung


class Completed(Record):
    """The world reached its horizon."""


class TickClosed(Record):
    """The last event of a tick: the plan it ran under, its jobs, and how many had no reply."""

    plan: Plan
    jobs: int
    unanswered: int = 0


Payload = (
    Started
    | StimulusPublished
    | InterventionApplied
    | ExposureDropped
    | AnswerGiven
    | Turn
    | TurnNotTaken
    | GuardrailViolation
    | MemoryFormed
    | BeliefsHeld
    | Reflected
    | Probed
    | ScoreGiven
    | Cost
    | Degraded
    | Restored
    | Completed
    | TickClosed
    | DriveLine
)

KIND_OF: dict[type[Record], str] = {
    Started: "started",
    StimulusPublished: "stimulus_published",
    InterventionApplied: "intervention",
    ExposureDropped: "exposure_dropped",
    AnswerGiven: "answer",
    Turn: "turn",
    TurnNotTaken: "turn_failed",
    GuardrailViolation: "guardrail_violation",
    MemoryFormed: "memory",
    BeliefsHeld: "belief_snapshot",
    Reflected: "reflection",
    Probed: "probe",
    ScoreGiven: "score",
    Cost: "cost",
    Degraded: "degraded",
    Restored: "restored",
    Completed: "completed",
    TickClosed: "tick_closed",
    # A tool-using persona's turn, line by line; they stand before its turn.
    **DRIVE_KIND_OF,
}

IS_CONTENT: dict[str, bool] = {
    "started": False,
    "stimulus_published": True,
    "intervention": True,
    "exposure_dropped": True,
    "answer": True,
    "turn": True,
    "turn_failed": True,
    "guardrail_violation": True,
    "memory": True,
    "belief_snapshot": True,
    "reflection": True,
    "probe": True,
    "score": True,
    "cost": False,
    "degraded": False,
    "restored": False,
    "completed": False,
    "tick_closed": False,
    **dict.fromkeys(DRIVE_KIND_OF.values(), True),
}

TYPE_OF: dict[str, type[Record]] = {kind: cls for cls, kind in KIND_OF.items()}

assert set(KIND_OF) == set(get_args(Payload))
assert set(IS_CONTENT) == set(TYPE_OF)


class Event(Record):
    """One event to be written. `seq` counts all events of a world, `content` only content ones.

    `content` is absent for events that are not content. `persona` is empty where none is concerned.
    """

    seq: int
    tick: int
    payload: Payload
    persona: str = ""
    content: int | None = None


class Head(Record):
    """Where a record ends: the last seq (-1 if none), the chain, and the digest so far (hex).

    `content` is the count of content events, `tick` the last closed tick (-1 if none).
    """

    seq: int
    chain: str
    content: int
    digest: str
    tick: int = -1


class Batch(Record):
    """What one transaction writes: a tick's events in order, and the blobs that they cite."""

    events: tuple[Event, ...]
    blobs: dict[str, bytes] = {}
