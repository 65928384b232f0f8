"""The World port: what the runner asks of a world, tick by tick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from perdure.records.people import People
from perdure.records.presentation import CompletedTurn, Need, NeedAnswer, Plan, WorldDelta
from perdure.records.scenario import Header
from perdure.records.tools import ToolAnswer, ToolCall, WorldTool


@runtime_checkable
class World(Protocol):
    """What personas see, as a deterministic machine that the runner steps.

    A class is constructed without arguments and gets its settings from `header.scenario.settings`.
    It is synchronous, makes no model call itself, and draws chance only from
    `perdure.base.chance.Stream`, keyed by `header.world_seed`. Its whole state follows from
    `reset` and from the arguments of its steps, so that the runner may rebuild it at any tick by
    repeating them. Ids and numbers of events are the runner's own.
    """

    def reset(self, header: Header) -> None:
        """Forget everything and become the world that the header describes, before tick 0."""
        ...

    def needs(self, tick: int, turns: Sequence[CompletedTurn], plan: Plan) -> Sequence[Need]:
        """Name the model calls whose answers this tick's step wants. It changes no state."""
        ...

    def step(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,
        answers: Sequence[NeedAnswer],
    ) -> WorldDelta:
        """Open `tick`: take in the turns of the tick before (none at 0), say what is shown now.

        `answers` has one entry per need, in order; a call that failed says so in its entry.
        """
        ...


@runtime_checkable
class Acquainted(Protocol):
    """A world that also wants to know who lives in it: it is told once, before its first reset."""

    def meet(self, people: People) -> None:
        """Take note of the people of the world and of their ties. They never change."""
        ...


@runtime_checkable
class Furnished(Protocol):
    """A world with tools for its personas, where the study's agent can use them.

    Both are asked between two steps, about the tick that is open, maybe from another thread, and
    change no state: what a persona does takes effect when the next `step` is given its turn.
    """

    def tools(self, persona: str) -> Sequence[WorldTool]:
        """Name the tools of a persona in this tick, in the order in which they are shown."""
        ...

    def use(self, persona: str, call: ToolCall, did: Sequence[ToolCall]) -> ToolAnswer:
        """Answer a call of one of them.

        It goes by the tick's opening state, and by what this persona `did` in this tick so far. An
        action that is answered with `ok` is among what it did; anything else did not happen.
        """
        ...


class BaseWorld:
    """A world that asks for no model call of its own. Derive from it, write `reset` and `step`.

    `people` are the personas of the run, with their graph.
    """

    people = People()

    def meet(self, people: People) -> None:
        """Keep the people of the world."""
        self.people = people

    def needs(
        self,
        tick: int,  # noqa: ARG002 - the port's signature
        turns: Sequence[CompletedTurn],  # noqa: ARG002 - the port's signature
        plan: Plan,  # noqa: ARG002 - the port's signature
    ) -> Sequence[Need]:
        """Ask for nothing."""
        return ()
