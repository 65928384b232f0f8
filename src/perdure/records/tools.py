"""Tools as a model is offered them and calls them, and what a call of one may do."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from perdure.records.record import Record


class ToolSpec(Record):
    """A tool as it is shown to a model: its name, what it does, and its arguments' JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any] = {}


class WorldTool(Record):
    """A tool that a world gives to a persona: it looks at what is there, or it `acts`.

    An action changes nothing before the next tick, which takes in what everybody did.
    """

    spec: ToolSpec
    acts: bool = False


class ToolCall(Record):
    """One call as a model asked for it. `arguments` is the JSON text that it wrote, unread."""

    id: str
    name: str
    arguments: str


class Effect(StrEnum):
    """What a tool can do beyond answering. It is declared with the tool, never shown to a model."""

    READ = "read"
    WRITE = "write"
    EGRESS = "egress"
    SPAWN = "spawn"


class Writes(Record):
    """What a call may write: nothing, some paths of the workspace, or anything in it.

    `paths` are relative to the workspace, with `/` between their parts.
    """

    paths: tuple[str, ...] = ()
    anywhere: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is written."""
        return not self.paths and not self.anywhere

    def joined(self, other: Writes) -> Writes:
        """Give what both may write together: anything absorbs, paths unite, each once, sorted."""
        if self.anywhere or other.anywhere:
            return Writes(anywhere=True)
        return Writes(paths=tuple(sorted({*self.paths, *other.paths})))


class AnswerStatus(StrEnum):
    """What became of a tool call. `unknown`: it may have acted, and nobody saw its result."""

    OK = "ok"
    ERROR = "error"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class ToolAnswer(Record):
    """What a tool call came to. `dropped` is how many bytes of its text an output cap cut away.

    `wrote` is what it really wrote, as far as the tool can say.
    """

    status: AnswerStatus
    text: str
    dropped: int = 0
    wrote: Writes | None = None
