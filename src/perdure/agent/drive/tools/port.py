"""What the bench asks of one tool, and what one call of it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from perdure.agent.drive.tools.permit import May
from perdure.records.tools import ToolAnswer, ToolCall, ToolSpec, Writes


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that can run: its arguments as read, what it may do, and what it is about."""

    arguments: Mapping[str, Any]
    may: May
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Traits:
    """What holds of every call of a tool.

    `may` is the most that any may do. `deadline_s` is how long one may take; none, if the tool sees
    to that. `grace_s` is how long the end of one that is told to end is waited for. `output_max` is
    how many bytes of an answer a model is told; none for what the bench says.
    """

    may: May
    deadline_s: float | None = None
    grace_s: float = 0.05
    output_max: int | None = None


class Tool(Protocol):
    """One tool on a bench."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is shown it."""
        ...

    @property
    def traits(self) -> Traits:
        """What holds of every call of it."""
        ...

    def prepare(self, call: ToolCall) -> Prepared:
        """Read a call.

        Raises:
            ArgumentsError: what is wrong with its arguments.
            PathRefusedError: a path is not one of the workspace.

        """
        ...

    async def run(self, call: ToolCall, prepared: Prepared) -> ToolAnswer:
        """Run a call. Cancelled, it ends what it started before it returns.

        Whatever it raises becomes an answer.
        """
        ...

    async def close(self) -> tuple[str, ...]:
        """End what still runs, and name it."""
        ...


ANYTHING = Writes(anywhere=True)
