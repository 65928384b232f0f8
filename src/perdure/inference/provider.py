"""The port behind which a model answers: one attempt per call, a reply or a named failure."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from perdure.inference.telling import OnIncrement
from perdure.records.request import ChatRequest, EmbedRequest, Failure, Reply, Vectors


class Provider(Protocol):
    """A model that answers one role.

    An attempt never raises for anything the other side does: whatever comes back is a reply or a
    `Failure`. A provider does not retry, wait for a rate limit, or know prices; the host does.
    """

    @property
    def name(self) -> str:
        """The provider's kind: `baseline`, `http`, `local` or `scripted`."""
        ...

    async def open(self) -> None:
        """Get ready to answer. Called once, before the first attempt."""
        ...

    async def close(self) -> None:
        """Release what `open` took. No attempt follows."""
        ...

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        """Make one attempt at a reply, within `timeout_s` seconds."""
        ...

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:
        """Make one attempt at a vector per text, within `timeout_s` seconds."""
        ...


@runtime_checkable
class Checkable(Protocol):
    """A provider that can say, before a run and at no cost, whether it will answer."""

    async def check(self) -> None:
        """Look, once it is open; raise what speaks against a run."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A provider that can tell a reply while it is being said."""

    async def stream(
        self, request: ChatRequest, timeout_s: float, on_increment: OnIncrement
    ) -> Reply | Failure:
        """Make one attempt like `chat`, and tell it piece by piece.

        The reply is what `chat` would have given. A stream that breaks off is a failure, whatever
        was told of it before.
        """
        ...
