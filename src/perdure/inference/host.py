"""The one place through which every model call of a run goes.

A call is admitted (`gate`), attempted, judged (`retry`), priced (`settlement`), and either
answered or failed with a named cause; every attempt is in its result. What every attempt passes
through is a `Sender`, so that a journal or a reservation can stand in front of the provider.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Protocol

from perdure.base.chance import Stream
from perdure.base.clock import Clock, SystemClock
from perdure.base.errors import InternalError
from perdure.inference.gate import Gate
from perdure.inference.limits import Limits
from perdure.inference.overdue import Overdue
from perdure.inference.provider import Checkable, Provider
from perdure.inference.retry import STOPS_RUN, RetryPolicy, attempt_timeout, wait_before_retry
from perdure.inference.settlement import settle
from perdure.records.record import Record
from perdure.records.request import (
    Attempt,
    CallKey,
    CallResult,
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Reply,
    Vectors,
)
from perdure.records.usage import Price, Usage
from perdure.study.pricing import price_for

Outcome = Reply | Vectors | Failure

# A provider keeps its own deadline; one that does not is cut off this much later.
_GRACE_S = 1.0
_CHARACTERS_PER_TOKEN = 4


class Respondent:
    """Who answers a role: a provider, and its price in nano-units per million tokens, if known."""

    __slots__ = ("price", "provider")

    def __init__(self, provider: Provider, price: Price | None = None) -> None:
        self.provider = provider
        self.price = price_for(provider.name, price)


class Sender(Protocol):
    """Makes one attempt at a call. Attempts of a call are numbered from 0."""

    async def send(
        self, key: CallKey, attempt: int, request: ChatRequest | EmbedRequest, timeout_s: float
    ) -> Outcome:
        """Send the request once, within `timeout_s` seconds."""
        ...


class ProviderSender:
    """Sends an attempt straight to the provider of the request's role.

    An attempt that ignores its deadline is cut off here, next to the provider: whatever stands in
    front of it gets a failure, like any other, and is never cut off itself.
    """

    def __init__(self, roles: Mapping[str, Respondent]) -> None:
        self._roles = roles
        self._overdue = Overdue()

    async def send(
        self,
        key: CallKey,  # noqa: ARG002 - a sender that records needs it
        attempt: int,  # noqa: ARG002 - as above
        request: ChatRequest | EmbedRequest,
        timeout_s: float,
    ) -> Outcome:
        """Send the request once, within `timeout_s` seconds."""
        provider = self._roles[request.role].provider
        asked: Awaitable[Outcome]
        if isinstance(request, ChatRequest):
            asked = provider.chat(request, timeout_s)
        else:
            asked = provider.embed(request, timeout_s)
        try:
            return await self._overdue.within(timeout_s + _GRACE_S, asked)
        except TimeoutError:
            return Failure(cause=FailureCause.TIMEOUT)


class HostStats(Record):
    """What a host has done and is doing. `calls` and `failed` count calls, `retries` attempts."""

    in_flight: int
    queued: int
    calls: int
    failed: int
    retries: int
    ceiling: int


class InferenceHost:
    """Makes the model calls of a whole run: all worlds, all roles, one set of limits."""

    def __init__(
        self,
        roles: Mapping[str, Respondent],
        *,
        retry: RetryPolicy | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        sender: Sender | None = None,
    ) -> None:
        self._roles = dict(roles)
        self._retry = retry or RetryPolicy()
        self._limits = limits or Limits()
        self._clock = clock or SystemClock()
        self.sender = sender or ProviderSender(self._roles)
        self._gate = Gate(self._limits, self._clock)
        self._calls = 0
        self._failed = 0
        self._retries = 0
        self.stop_cause: FailureCause | None = None

    async def open(self) -> None:
        """Open every provider once, however many roles it answers."""
        for provider in self._providers():
            await provider.open()

    async def check(self) -> None:
        """Ask every provider that can say so beforehand whether it will answer, at no cost.

        Raises:
            EndpointUnreachableError: nobody answers there.
            KeyOrModelRefusedError: the key is refused, or the model is not known there.
            ProviderPausedError: the account is out of money.

        """
        for provider in self._providers():
            if isinstance(provider, Checkable):
                await provider.check()

    async def close(self) -> None:
        """Close every provider."""
        for provider in self._providers():
            await provider.close()

    def stats(self) -> HostStats:
        """Count what was done and is in flight."""
        return HostStats(
            in_flight=self._gate.in_flight,
            queued=self._gate.queued,
            calls=self._calls,
            failed=self._failed,
            retries=self._retries,
            ceiling=self._gate.ceiling.limit,
        )

    def price_of(self, role: str) -> Price | None:
        """Give the price of a role, in nano-units per million tokens; None if it is not known.

        Raises:
            InternalError: nobody answers the role.

        """
        return self._respondent(role).price

    async def call(
        self,
        key: CallKey,
        request: ChatRequest | EmbedRequest,
        *,
        sender: Sender | None = None,
    ) -> CallResult:
        """Make one call to its end: an answer, or the cause of its last attempt.

        Its attempts go through `sender`, or else through the host's own. Once a cause has stopped
        the run (`stop_cause`), every further call ends with that cause without being sent.

        Raises:
            InternalError: nobody answers the request's role.

        """
        price = self.price_of(request.role)
        attempts: list[Attempt] = []
        answer = await self._attempts(key, request, price, attempts, sender or self.sender)
        self._calls += 1
        self._failed += answer is None
        return CallResult(key=key, attempts=tuple(attempts), answer=answer)

    async def _attempts(
        self,
        key: CallKey,
        request: ChatRequest | EmbedRequest,
        price: Price | None,
        attempts: list[Attempt],
        sender: Sender,
    ) -> Reply | Vectors | None:
        tokens = _estimate(request) if self._gate.counts_tokens else 0
        patience_s = self._limits.queue_s
        started_s: float | None = None
        draws: Stream | None = None
        while True:
            right = None if self.stop_cause else await self._gate.enter(tokens, patience_s)
            elapsed_s = 0.0
            if right is None:
                outcome: Outcome = Failure(cause=self.stop_cause or FailureCause.QUEUE_FULL)
            else:
                used: int | None = None
                try:
                    now_s = self._clock.now_s()
                    started_s = now_s if started_s is None else started_s
                    timeout_s = attempt_timeout(self._retry, now_s - started_s)
                    outcome = await self._send(sender, key, len(attempts), request, timeout_s)
                    used = self._learn(outcome, right.generation)
                finally:
                    self._gate.leave(right, used)
                elapsed_s = self._clock.now_s() - started_s
            attempts.append(settle(outcome, price))
            if not isinstance(outcome, Failure):
                return outcome
            draws = draws or _jitter(key)
            wait_s = wait_before_retry(
                self._retry,
                outcome,
                attempts=len(attempts),
                elapsed_s=elapsed_s,
                draw=draws.uniform(),
            )
            if wait_s is None:
                return None
            self._retries += 1
            await self._clock.sleep(wait_s)
            patience_s = self._retry.total_s - elapsed_s - wait_s

    async def _send(
        self,
        sender: Sender,
        key: CallKey,
        attempt: int,
        request: ChatRequest | EmbedRequest,
        timeout_s: float,
    ) -> Outcome:
        if self.stop_cause is not None:
            return Failure(cause=self.stop_cause)
        if timeout_s <= 0:
            return Failure(cause=FailureCause.QUEUE_FULL)
        return await sender.send(key, attempt, request, timeout_s)

    def _learn(self, outcome: Outcome, generation: int) -> int | None:
        """Draw the conclusions that concern other calls; give the tokens used, if known."""
        if isinstance(outcome, Failure):
            if outcome.cause is FailureCause.RATE_LIMITED:
                self._gate.ceiling.turned_away(generation)
            elif outcome.cause in STOPS_RUN and self.stop_cause is None:
                self.stop_cause = outcome.cause
                self._gate.wake_all()
            return None
        self._gate.ceiling.answered()
        return None if outcome.usage is None else _sum(outcome.usage)

    def _respondent(self, role: str) -> Respondent:
        respondent = self._roles.get(role)
        if respondent is None:
            raise InternalError(f"No model answers the role {role!r}.")
        return respondent

    def _providers(self) -> Iterable[Provider]:
        return {id(item.provider): item.provider for item in self._roles.values()}.values()


def _jitter(key: CallKey) -> Stream:
    return Stream(key.world, key.tick, "retry", f"{key.job}/{key.purpose}/{key.ordinal}")


def _estimate(request: ChatRequest | EmbedRequest) -> int:
    if isinstance(request, EmbedRequest):
        return sum(map(len, request.texts)) // _CHARACTERS_PER_TOKEN + 1
    said = sum(len(message.content) for message in request.messages)
    return said // _CHARACTERS_PER_TOKEN + request.tokens_max + 1


def _sum(usage: Usage) -> int:
    return usage.input_fresh + usage.cache_write + usage.cache_read + usage.output
