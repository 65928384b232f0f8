"""The Agent port: how a batch of turn jobs becomes outcomes, and the models that serve it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from perdure.agent.drive.ports import Tools
from perdure.base.errors import EXIT_UNREACHABLE, PerdureError
from perdure.records.drive import EndCause
from perdure.records.facts import PersonaFacts
from perdure.records.outcome import Outcome
from perdure.records.presentation import Plan, TurnJob
from perdure.records.request import FailureCause, Message, Reply, Vectors
from perdure.records.scenario import Header
from perdure.records.tools import ToolAnswer, ToolCall, ToolSpec, WorldTool


class CallFailedError(PerdureError):
    """A model call ended without a reply, after every retry; `cause` says how.

    An agent turns it into a failed turn, or goes on without what the call was for. It never puts
    a text of its own in the place of the missing reply.
    """

    exit_status: ClassVar[int] = EXIT_UNREACHABLE
    code: ClassVar[str] = "call-failed"

    def __init__(self, cause: FailureCause) -> None:
        self.cause = cause
        super().__init__(f"A model call failed: {cause.value}.")


class JobModels(Protocol):
    """The models, as one job may call them.

    `purpose` names what a call is for. The calls of one purpose within a job are made one after
    another; different purposes may overlap. Sampling seeds and the identity of each call are
    given by whoever implements this.
    """

    async def chat(
        self,
        purpose: str,
        messages: tuple[Message, ...],
        *,
        role: str = "tier_a",
        tokens_max: int,
        temperature: float = 0.0,
        facts: PersonaFacts | None = None,
        logprobs: bool = False,
        tools: tuple[ToolSpec, ...] = (),
    ) -> Reply:
        """Ask the model of a role for one reply; with `logprobs` for the first tokens' chances too.

        `tools` are those that it may ask for.

        Raises:
            CallFailedError: there is no reply.

        """
        ...

    @property
    def tools(self) -> tuple[WorldTool, ...]:
        """The tools that the world gives to the persona of this job in this tick."""
        ...

    async def use(self, call: ToolCall, did: Sequence[ToolCall]) -> ToolAnswer:
        """Use one of them, on the tick's opening state and what the persona `did` since."""
        ...

    @property
    def outside(self) -> Tools | None:
        """The tools outside the world that the study gives, for one drive; None for none.

        What they do is done in earnest, at most once over all sittings of a run.
        """
        ...

    def limit(self) -> EndCause | None:
        """Say which limit of a turn is reached by the calls of this job, if one is."""
        ...

    async def embed(self, purpose: str, texts: tuple[str, ...], *, role: str = "embed") -> Vectors:
        """Ask for one vector per text.

        Raises:
            CallFailedError: there are no vectors.

        """
        ...


class Models(Protocol):
    """The models, for a batch of jobs."""

    def for_job(self, index: int) -> JobModels:
        """Give the models to the job with this index, so that its calls are recorded as its own."""
        ...


@runtime_checkable
class Agent(Protocol):
    """Who answers: turns jobs into outcomes, carrying nothing from tick to tick.

    A class is constructed without arguments and gets its settings from `header.agent`. A persona's
    state comes with its job; the runner may build the agent anew at every tick.
    """

    def reset(self, header: Header) -> None:
        """Forget everything and get ready for the world that the header describes."""
        ...

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Models) -> Sequence[Outcome]:
        """Take every turn of a tick: one outcome per job, in the order of the jobs.

        A turn that could not be taken is an outcome, `TurnFailed`, and leaves the others alone.
        """
        ...
