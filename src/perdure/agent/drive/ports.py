"""What a drive is given from outside: its ledger, its model, and the hooks for all else.

The driver decides what is left behind, in which order. Time, chance, storage, tools, waits, people
and displays are on the other side of these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from perdure.base.errors import EXIT_UNREACHABLE, PerdureError
from perdure.records.drive import Completion, DriveLine, EndCause, RunPolicy
from perdure.records.increment import Increment
from perdure.records.record import Record
from perdure.records.request import ChatRequest, FailureCause, Reply
from perdure.records.tools import Effect, ToolAnswer, ToolCall, ToolSpec, Writes
from perdure.records.usage import Usage


class Ledger(Protocol):
    """Where the lines of a drive go. The only thing that a drive leaves behind."""

    async def append(self, lines: Sequence[DriveLine], blobs: dict[str, bytes]) -> None:
        """Append lines in order, with the bytes that they cite by their SHA-256 in hex.

        All of them are durable when this returns, or none is there.

        Raises:
            StorageError: they could not be written.

        """
        ...


class ModelFailedError(PerdureError):
    """A model call got no reply. `again` says whether asking once more can help.

    `usage` is what it used all the same, if that was said.
    """

    exit_status = EXIT_UNREACHABLE
    code = "model-failed"

    def __init__(
        self,
        cause: FailureCause,
        *,
        again: bool,
        status: int = 0,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
        detail: str = "",
        where: str = "",
        remedy: str = "",
    ) -> None:
        self.cause = cause
        self.again = again
        self.status = status
        self.retry_after_s = retry_after_s
        self.usage = usage
        wrong = detail or f"A model call failed: {cause.value}."
        super().__init__(wrong, where=where, remedy=remedy)


class Model(Protocol):
    """Who answers: one attempt at one reply. The driver asks again itself where that can help."""

    @property
    def name(self) -> str:
        """The model's name, as it is recorded."""
        ...

    async def chat(
        self, request: ChatRequest, on_increment: Callable[[Increment], None] | None
    ) -> Reply:
        """Ask for one whole reply; with `on_increment`, told piece by piece under way as well.

        A stream is asked for only with `on_increment`. What is returned is the same either way,
        and a stream that breaks off is a failure.

        Raises:
            ModelFailedError: there is no whole reply.

        """
        ...


class SafePoint(StrEnum):
    """Where a drive asks whether something arrived."""

    BEFORE_ASSEMBLE = "before_assemble"
    BEFORE_CALL = "before_call"
    BEFORE_WAVE = "before_wave"
    BEFORE_TOOL_CALL = "before_tool_call"
    BEFORE_SPAWN = "before_spawn"


class Place(Record):
    """A safe point of a drive: its turn, and before a tool call which one of the wave, from 0."""

    point: SafePoint
    turn: int
    call: int = 0


class Stop(Record, tag="stop"):
    """The drive is to end: by whom, and with which cause. A ceiling that is reached is one too."""

    cause: EndCause
    by: str


class Steer(Record, tag="steer"):
    """Words for the model. `source` is `user`, or the name of the agent whose letter it is."""

    text: str
    source: str = "user"


class NewPolicy(Record, tag="policy"):
    """What the drive may do from now on. It is taken before a wave, and only there."""

    policy: RunPolicy
    by: str


Interrupt = Stop | Steer | NewPolicy


class Interrupts(Protocol):
    """What may arrive while a drive works."""

    def at(self, place: Place) -> Sequence[Interrupt]:
        """Take what has arrived, in order. A stop among it wins over everything else."""
        ...

    async def halted(self) -> Stop:
        """Wait until a halt, or a limit in time, cuts what is in flight. May never return."""
        ...


class Ticket(Record):
    """A call that was let through: what it is about, in a few words.

    A call that hands work down carries the `task`, and is not run.
    """

    subject: str = ""
    task: str = ""


class Tools(Protocol):
    """The tools of a drive. They hold no clock and write no line.

    A call passes in three steps: `admit` in the order of the calls, `run` maybe at the same time
    as others, `account` in the order of the calls again.
    """

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is shown them. They never change within a drive."""
        ...

    def effect(self, call: ToolCall) -> Effect | None:
        """Say what a call may do, by its declaration; None if there is no such tool."""
        ...

    def writes(self, call: ToolCall) -> Writes:
        """Say what a call may write, before it runs. An unknown tool may write anything."""
        ...

    def admit(
        self, call: ToolCall, policy: RunPolicy, *, checkpointed: bool
    ) -> Ticket | ToolAnswer:
        """Let a call through, or answer it at once: refused, or an error in its arguments.

        Where nothing is `checkpointed`, what may delete is refused.
        """
        ...

    async def run(self, call: ToolCall) -> ToolAnswer:
        """Run a call that was let through. What the tool does wrong is an answer, never raised.

        When it is cancelled, everything that it started is killed before it returns.
        """
        ...

    def account(self, call: ToolCall, answer: ToolAnswer) -> ToolAnswer:
        """Give an answer as the model is told it: capped, and packaged."""
        ...

    async def close(self, cause: EndCause) -> tuple[str, ...]:
        """Kill every command that still runs; name those. Called once, before the freeze."""
        ...


class Checkpoint(Record):
    """A state of the workspace in its history: its id, and which files it moved."""

    oid: str
    files: tuple[str, ...] = ()
    predecessor: str = ""


class Child(Record):
    """Work handed down by a call: the id that the new drive gets, its task, and its parent's."""

    run: str
    call_id: str
    task: str
    parent: str


class ChildEnd(Record):
    """How a child ended, and the last text that it said."""

    completion: Completion
    cause: EndCause
    text: str = ""


@dataclass(slots=True)
class ContextReading:
    """The tokens of the last request as the provider counted them, and what the window holds."""

    used: int | None = None
    window: int = 0


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the driver cannot decide for itself.

    `now` gives the moment, in milliseconds or counts, and is asked by the driver alone. `wait`
    returns at a moment, and is cut by the driver when a halt arrives. `checkpoint` commits the
    workspace: None works without a net, and refuses whatever may delete. `sink` is shown what is
    said while it is said; it can neither fail a call nor change the record. `reading` is how full
    the window is: the drive writes it, and nothing else does. `secrets` gives a text without them,
    as it is stored. `spawn` drives a child to its end; it hears the same halts. `forbids` is asked
    before each request is sent, and gives the stop of one that may take more than is left.
    """

    now: Callable[[], int]
    interrupts: Interrupts
    tools: Tools
    wait: Callable[[int], Awaitable[None]]
    secrets: Callable[[str], str]
    checkpoint: Callable[[int, Writes], Awaitable[Checkpoint]] | None = None
    sink: Callable[[Increment], None] | None = None
    reading: ContextReading = field(default_factory=ContextReading)
    spawn: Callable[[Child], Awaitable[ChildEnd]] | None = None
    forbids: Callable[[ChatRequest], Stop | None] | None = None
