"""What one tool-using agent's run leaves behind: the lines of its ledger, a closed set of kinds.

Every line names its drive and a moment, an integer that the driver was handed: milliseconds where
an agent is driven alone, a counter from 0 inside a tick of a study. A moment is not an order; the
place of a line in the ledger is. A line refers to another one of its drive by that one's number
among the drive's own lines, from 0.
"""

from __future__ import annotations

from enum import StrEnum
from typing import get_args

from perdure.records.record import Record
from perdure.records.request import FailureCause, FinishReason
from perdure.records.tools import AnswerStatus, Effect, ToolCall, Writes
from perdure.records.usage import Usage


class Completion(StrEnum):
    """How a drive ended, in one word. `done` cites evidence that was really written."""

    DONE = "done"
    LIMIT = "limit"
    CANCELLED = "cancelled"


class EndCause(StrEnum):
    """Why a drive ended. `fault` is one of the driver's own parts: a tool face, a hook, a store."""

    CONCLUDED = "concluded"
    OUTPUT_CEILING = "output_ceiling"
    EMPTY_REPLY = "empty_reply"
    REFUSED = "refused"
    TURNS = "turns"
    TOKENS = "tokens"
    MONEY = "money"
    TIME = "time"
    CANCEL = "cancel"
    HALT = "halt"
    PROVIDER = "provider"
    STUCK = "stuck"
    CRASH = "crash"
    FAULT = "fault"


COMPLETION_OF: dict[EndCause, Completion] = {
    EndCause.CONCLUDED: Completion.DONE,
    EndCause.OUTPUT_CEILING: Completion.LIMIT,
    EndCause.EMPTY_REPLY: Completion.LIMIT,
    EndCause.REFUSED: Completion.LIMIT,
    EndCause.TURNS: Completion.LIMIT,
    EndCause.TOKENS: Completion.LIMIT,
    EndCause.MONEY: Completion.LIMIT,
    EndCause.TIME: Completion.LIMIT,
    EndCause.STUCK: Completion.LIMIT,
    EndCause.CANCEL: Completion.CANCELLED,
    EndCause.HALT: Completion.CANCELLED,
    EndCause.PROVIDER: Completion.CANCELLED,
    EndCause.CRASH: Completion.CANCELLED,
    EndCause.FAULT: Completion.CANCELLED,
}
assert set(COMPLETION_OF) == set(EndCause)


class Opening(StrEnum):
    """What a drive was handed: a written task, a conversation that went before, or a person."""

    FROM_JOB = "from_job"
    INHERITED = "inherited"
    WITH_PERSON = "with_person"


class Dispatcher(StrEnum):
    """Who sent a drive off."""

    PERSON = "person"
    STUDY = "study"
    AGENT = "agent"


class PlacePolicy(Record):
    """What the place of a drive allows, whoever works in it. A `confidential` one lets nothing out.

    Egress is refused there, and so is a model that is not on this machine.
    """

    confidential: bool = False


class RunPolicy(Record):
    """What this drive was allowed within that: to write, and under which paths; to reach outside.

    No path means the whole workspace. It can be changed in mid-run, by a person.
    """

    writes: bool = True
    paths: tuple[str, ...] = ()
    egress: bool = True


class SkillPin(Record):
    """A skill that the drive was given, and the hash of its text as it was read."""

    name: str
    sha256: str


class Line(Record):
    """One line of a drive's ledger: whose it is, and its moment."""

    run: str
    t: int


class JobPinned(Line):
    """What is to be done, fixed before anything else: where it stands, and its hash."""

    job: str
    sha256: str


class RunForked(Line):
    """The drive branches off another one's ledger, after the line of that with the number `at`.

    `asked` is where the branch was wanted: a place within a wave is moved back to before it.
    """

    mother: str
    at: int
    asked: int
    chain: str = ""


class Anew(Record):
    """What a drive that goes on was given anew: its ceilings, all of them, and its endpoint.

    A ceiling that is absent is none; `money` is in nano-units. An endpoint's address or key that is
    empty is the one that was asked for first.
    """

    turns: int | None = None
    tokens: int | None = None
    money: int | None = None
    seconds: float | None = None
    base_url: str = ""
    key_env: str = ""


class RunStarted(Line):
    """A drive begins. All that is constant about it is here; nothing of it changes under way.

    `inherited` is the hash, among the blobs, of the conversation that it starts from; `naming` that
    of the identity that it was frozen with. `second_threshold` is a percentage of the window.
    `anew` is absent where everything is as it was asked for first.
    """

    task: str
    goal: str
    job: str
    model: str
    dispatched_by: Dispatcher
    opening: Opening
    place_policy: PlacePolicy = PlacePolicy()
    policy: RunPolicy = RunPolicy()
    parent: str = ""
    predecessor: str = ""
    skills: tuple[SkillPin, ...] = ()
    naming: str = ""
    inherited: str = ""
    tools: tuple[str, ...] = ()
    tokens_max: int = 0
    retries: int | None = None
    second_threshold: int = 65
    window: int = 0
    anew: Anew | None = None


class Source(Record):
    """A document within a segment of the prefix: how many of its bytes are in it, and not."""

    name: str
    kept: int
    dropped: int = 0


class SkipReason(StrEnum):
    """Why a document is not in the prefix."""

    DUPLICATE = "duplicate"
    UNREADABLE = "unreadable"
    NOT_UTF8 = "not_utf8"
    NO_BUDGET = "no_budget"


class Skipped(Record):
    """A document that is not in the prefix, and why."""

    name: str
    reason: SkipReason


class Segment(Record):
    """One of the four parts of the prefix; its text is among the blobs under its hash."""

    slot: str
    sha256: str
    size: int
    sources: tuple[Source, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class PromptAssembled(Line):
    """The prefix of every request of the drive. `breakpoints` are the edges worth caching at."""

    segments: tuple[Segment, ...]
    breakpoints: tuple[str, ...] = ()


class Region(Record):
    """A part of a request, by its canonical bytes: how many, and their hash."""

    size: int
    sha256: str


class PromptShapeCompared(Line):
    """How a request compares with the one before it: which regions moved. None did in the first.

    `upper_bound` is the size of the request in bytes, which no tokenizer exceeds in tokens.
    `moved` names segments, `tools`, and `conversation` where what was sent before is not a prefix.
    """

    turn: int
    tools: Region
    conversation: Region
    upper_bound: int
    first: bool = False
    moved: tuple[str, ...] = ()


class SteerReceived(Line):
    """Words that reached the drive under way; `source` is who spoke, and the text as they did."""

    source: str
    text: str
    point: str


class PolicyChanged(Line):
    """What the drive may do was changed; it holds from the wave before which it was taken."""

    policy: RunPolicy
    by: str


class ModelCalled(Line):
    """A request is sent. Attempts of a turn are numbered from 0; `segments` are the hashes sent."""

    turn: int
    attempt: int
    model: str
    segments: tuple[str, ...]


class ModelReturned(Line):
    """A whole reply. `usage` and `billed` are absent where a tick's cost events tell them."""

    turn: int
    text: str
    finish: FinishReason
    calls: tuple[ToolCall, ...] = ()
    served: str = ""
    usage: Usage | None = None
    billed: int | None = None


class CheckpointCommitted(Line):
    """The workspace as it stands is in its history, under `oid`."""

    oid: str
    predecessor: str = ""
    files: tuple[str, ...] = ()
    scope: Writes = Writes()


class ToolCalled(Line):
    """A call that the model asked for, before it runs. `subject` is what it is about, for a reader.

    It has no `effect` where there is no such tool.
    """

    turn: int
    call: ToolCall
    effect: Effect | None = None
    subject: str = ""


class ToolResult(Line):
    """What a call came to, as told to the model."""

    turn: int
    call_id: str
    name: str
    status: AnswerStatus
    text: str
    dropped: int = 0


class CancelReceived(Line):
    """A safe point, a wait or a call was told to end: `by` whom, with the cause that this gives."""

    cause: EndCause
    by: str
    point: str


class WatchdogAction(StrEnum):
    """What the watchdog did."""

    BACK_OFF = "back_off"
    NUDGE = "nudge"
    STUCK = "stuck"


class WatchdogFired(Line):
    """The watchdog stepped in: it waits until a moment before it asks again, says a word, or ends.

    `failures` are those of the provider since its last answer.
    """

    action: WatchdogAction
    cause: FailureCause | None = None
    until: int = 0
    failures: int = 0
    text: str = ""


class ContextReminded(Line):
    """The window is fuller than a rung, in percent; `text` is what the model is told of it."""

    rung: int
    used: int
    window: int
    text: str


class ProviderFailed(Line):
    """A model call failed and is not made again: the drive ends with this."""

    cause: FailureCause
    status: int = 0
    text: str = ""


class DriverFailed(Line):
    """A part of the driver itself failed: the error, as far as it can be told."""

    code: str
    text: str


class ChildStarted(Line):
    """Work was handed down to a drive of its own, by the call with this id."""

    child: str
    call_id: str
    task: str


class ChildEnded(Line):
    """A drive that work was handed down to has ended, or was never started."""

    child: str
    completion: Completion
    cause: EndCause


class CommandsKilled(Line):
    """Commands that still ran were killed, with everything that they had started."""

    commands: tuple[str, ...]
    cause: EndCause


class HarnessReported(Line):
    """An agent program that drives its own turns said what it does. It is never evidence."""

    what: str
    text: str = ""
    detail: str = ""


class HarnessAnswered(Line):
    """An agent program ended its turn: why, in its own word, and with which text."""

    stop: str
    text: str = ""


class HandoffWritten(Line):
    """What whoever goes on with this has to know, from the facts of the drive."""

    must_read: tuple[str, ...]
    overview: str
    progress: str
    context: str
    next_step: str


class RunFrozen(Line):
    """A drive is over. `evidence` are the numbers of its own lines that show it, where it is done.

    `turns` counts the whole ones.
    """

    completion: Completion
    cause: EndCause
    turns: int
    evidence: tuple[int, ...] = ()


DriveLine = (
    JobPinned
    | RunForked
    | RunStarted
    | PromptAssembled
    | PromptShapeCompared
    | SteerReceived
    | PolicyChanged
    | ModelCalled
    | ModelReturned
    | CheckpointCommitted
    | ToolCalled
    | ToolResult
    | CancelReceived
    | WatchdogFired
    | ContextReminded
    | ProviderFailed
    | DriverFailed
    | ChildStarted
    | ChildEnded
    | CommandsKilled
    | HarnessReported
    | HarnessAnswered
    | HandoffWritten
    | RunFrozen
)

DRIVE_KIND_OF: dict[type[Record], str] = {
    JobPinned: "job_pinned",
    RunForked: "run_forked",
    RunStarted: "run_started",
    PromptAssembled: "prompt_assembled",
    PromptShapeCompared: "prompt_shape_compared",
    SteerReceived: "steer_received",
    PolicyChanged: "policy_changed",
    ModelCalled: "model_called",
    ModelReturned: "model_returned",
    CheckpointCommitted: "checkpoint_committed",
    ToolCalled: "tool_called",
    ToolResult: "tool_result",
    CancelReceived: "cancel_received",
    WatchdogFired: "watchdog_fired",
    ContextReminded: "context_reminded",
    ProviderFailed: "provider_failed",
    DriverFailed: "driver_failed",
    ChildStarted: "child_started",
    ChildEnded: "child_ended",
    CommandsKilled: "commands_killed",
    HarnessReported: "harness_reported",
    HarnessAnswered: "harness_answered",
    HandoffWritten: "handoff_written",
    RunFrozen: "run_frozen",
}

# What decides the bytes of a later request. The others only say what happened.
IS_IN_WINDOW: dict[str, bool] = {
    "job_pinned": False,
    "run_forked": False,
    "run_started": True,
    "prompt_assembled": True,
    "prompt_shape_compared": False,
    "steer_received": True,
    "policy_changed": True,
    "model_called": True,
    "model_returned": True,
    "checkpoint_committed": False,
    "tool_called": False,
    "tool_result": True,
    "cancel_received": False,
    "watchdog_fired": True,
    "context_reminded": True,
    "provider_failed": False,
    "driver_failed": False,
    "child_started": False,
    "child_ended": False,
    "commands_killed": False,
    "harness_reported": False,
    "harness_answered": False,
    "handoff_written": False,
    "run_frozen": False,
}


def drive_id(tick: int, job: int) -> str:
    """Name the drive of a job in a tick of a world."""
    return f"t{tick}-j{job}"


def child_id(run: str, turn: int, number: int) -> str:
    """Name the drive that gets the work which a drive hands down: by its turn, and from 0 there."""
    return f"{run}.{turn}.{number}"


def job_of(run: str) -> int:
    """Say which job of its tick a drive of a world is."""
    return int(run.rpartition("-j")[2])


DRIVE_TYPE_OF: dict[str, type[Record]] = {kind: cls for cls, kind in DRIVE_KIND_OF.items()}

assert set(DRIVE_KIND_OF) == set(get_args(DriveLine))
assert set(IS_IN_WINDOW) == set(DRIVE_TYPE_OF)
