"""One attempt at a request, held to its time by whoever asks, and shown while it is said."""

from __future__ import annotations

from collections.abc import Awaitable

from perdure.base.vectors import has_direction
from perdure.inference.provider import Provider, Streaming
from perdure.inference.running_clock import RunningClock
from perdure.inference.telling import OnIncrement, tell_whole
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Reply,
    Vectors,
)

Outcome = Reply | Vectors | Failure

# A provider keeps its own deadline; one that does not is cut off this much later.
_GRACE_S = 1.0


async def ask_once(
    provider: Provider,
    request: ChatRequest | EmbedRequest,
    timeout_s: float,
    running: RunningClock,
    on_increment: OnIncrement | None = None,
) -> Outcome:
    """Ask a provider once. A provider that ignores its deadline is cut off here.

    With `on_increment` a reply is told piece by piece; in one piece, where the provider cannot.
    """
    asked: Awaitable[Outcome]
    if isinstance(request, EmbedRequest):
        asked = provider.embed(request, timeout_s)
    elif on_increment is None:
        asked = provider.chat(request, timeout_s)
    else:
        asked = _told(provider, request, timeout_s, on_increment)
    try:
        outcome = await running.within(timeout_s + _GRACE_S, asked)
    except TimeoutError:
        return Failure(cause=FailureCause.TIMEOUT)
    if isinstance(outcome, Vectors) and not all(map(has_direction, outcome.vectors)):
        # Whoever gave them: nothing can be compared with all zeros.
        return Failure(cause=FailureCause.BAD_REPLY, usage=outcome.usage)
    return outcome


async def _told(
    provider: Provider, request: ChatRequest, timeout_s: float, on_increment: OnIncrement
) -> Reply | Failure:
    if isinstance(provider, Streaming):
        return await provider.stream(request, timeout_s, on_increment)
    outcome = await provider.chat(request, timeout_s)
    tell_whole(outcome, on_increment)
    return outcome
