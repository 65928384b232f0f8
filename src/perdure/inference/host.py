"""The one place through which every model call of a run goes.

A call is admitted (`gate`), attempted, judged (`retry`), priced (`settlement`), and either
answered or failed with a named cause; every attempt is in its result. What every attempt passes
through is a `Sender`, so that a journal or a reservation can stand in front of the provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from perdure.base.canonical import encode
from perdure.base.chance import Stream
from perdure.base.clock import Clock
from perdure.base.errors import PluginError
from perdure.inference.asking import Outcome, ask_once
from perdure.inference.charges import spent
from perdure.inference.effects import without_secrets
from perdure.inference.gate import Gate
from perdure.inference.limits import Limits
from perdure.inference.offer import Bounds, Offer
from perdure.inference.provider import Checkable, Provider
from perdure.inference.reservations import NOTHING, Ceilings, Reservation, Reservations
from perdure.inference.retry import STOPS_RUN, RetryPolicy, attempt_timeout, wait_before_retry
from perdure.inference.running_clock import RunningClock
from perdure.inference.settlement import attempt_of, settle
from perdure.records.journal import Settled
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
from perdure.records.usage import CostSource, Price, Usage
from perdure.study.pricing import price_for

_CHARACTERS_PER_TOKEN = 4


class Respondent:
    """Who answers a role: a provider, and its price in nano-units per million tokens, if known.

    `retry` is the patience with its calls, where it has one of its own.
    """

    __slots__ = ("price", "provider", "retry")

    def __init__(
        self, provider: Provider, price: Price | None = None, *, retry: RetryPolicy | None = None
    ) -> None:
        self.provider = provider
        self.price = price_for(provider.name, price)
        self.retry = retry


class Sender(Protocol):
    """Makes one attempt at a call. Attempts of a call are numbered from 0."""

    async def send(self, key: CallKey, attempt: int, offer: Offer, timeout_s: float) -> Settled:
        """Send the offer's request once, within `timeout_s` seconds; give what it is charged."""
        ...


class ProviderSender:
    """Sends an attempt straight to the provider of the request's role.

    An attempt that ignores its deadline is cut off here, next to the provider: whatever stands in
    front of it gets a failure, like any other, and is never cut off itself.
    """

    def __init__(self, roles: Mapping[str, Respondent], running: RunningClock) -> None:
        self._roles = roles
        self._running = running

    async def send(
        self,
        key: CallKey,  # noqa: ARG002 - a sender that records needs it
        attempt: int,  # noqa: ARG002 - as above
        offer: Offer,
        timeout_s: float,
    ) -> Settled:
        """Send the offer's request once, within `timeout_s` seconds; give what it is charged."""
        provider = self._roles[offer.request.role].provider
        request = offer.request
        outcome = await ask_once(provider, request, timeout_s, self._running)
        if isinstance(request, ChatRequest) and request.tools and isinstance(outcome, Reply):
            # Here, before anybody stores it, acts on it, or sends it again.
            outcome = without_secrets(outcome)
        return settle(outcome, offer.worst, offer.price)


class HostStats(Record):
    """What a host has done and is doing. `calls` and `failed` count calls, `retries` attempts."""

    in_flight: int
    queued: int
    calls: int
    failed: int
    retries: int
    ceiling: int


class _Call:
    """One call on its way through its attempts."""

    __slots__ = (
        "attempts",
        "key",
        "offer",
        "patience_s",
        "retry",
        "sender",
        "started_s",
        "version",
    )

    def __init__(
        self,
        key: CallKey,
        offer: Offer,
        version: int,
        *,
        sender: Sender,
        retry: RetryPolicy,
        patience_s: float,
    ) -> None:
        self.key = key
        self.offer = offer
        self.version = version
        self.sender = sender
        self.retry = retry
        self.patience_s = patience_s
        self.attempts: list[Attempt] = []
        self.started_s: float | None = None


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
        reservations: Reservations | None = None,
    ) -> None:
        self._roles = dict(roles)
        self._retry = retry or RetryPolicy()
        self._limits = limits or Limits()
        running = RunningClock()
        self._clock = clock or running
        self.sender = sender or ProviderSender(self._roles, running)
        self._gate = Gate(self._limits, self._clock, running)
        self.reservations = reservations or Reservations(Ceilings(), NOTHING, self._clock)
        self._bounds = Bounds()
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

    def offer_of(self, request: ChatRequest | EmbedRequest) -> Offer:
        """Say what a request may use at most, and its price.

        Raises:
            PluginError: no model of the study answers the role that the request asks for.

        """
        return self._bounds.offer(request, self._respondent(request.role).price)

    async def call(
        self,
        key: CallKey,
        request: ChatRequest | EmbedRequest,
        *,
        sender: Sender | None = None,
    ) -> CallResult:
        """Make one call to its end: an answer, or the cause of its last attempt.

        Its attempts go through `sender`, or else through the host's own, each with its worst case
        reserved. Once a cause has stopped the run (`stop_cause`), every further call ends with
        that cause without being sent; once a reservation of a tick was refused, so does every
        further call of that tick.

        Raises:
            PluginError: no model of the study answers the role that the request asks for.

        """
        offer, version = self.offer_of(request), self._bounds.version
        call = _Call(
            key,
            offer,
            version,
            sender=sender or self.sender,
            retry=self._respondent(request.role).retry or self._retry,
            patience_s=self._limits.queue_s,
        )
        answer = await self._attempts(call)
        self._calls += 1
        self._failed += answer is None
        return CallResult(key=key, attempts=tuple(call.attempts), answer=answer)

    async def _attempts(self, call: _Call) -> Reply | Vectors | None:
        draws: Stream | None = None
        while True:
            settled = await self._reserve_and_send(call)
            call.attempts.append(attempt_of(settled, call.offer.worst, call.offer.worst_amount))
            outcome = settled.outcome
            if not isinstance(outcome, Failure):
                return outcome
            elapsed_s = 0.0 if call.started_s is None else self._clock.now_s() - call.started_s
            draws = draws or _jitter(call.key)
            wait_s = wait_before_retry(
                call.retry,
                outcome,
                attempts=len(call.attempts),
                elapsed_s=elapsed_s,
                draw=draws.uniform(),
            )
            if wait_s is None:
                return None
            self._retries += 1
            await self._clock.sleep(wait_s)
            call.patience_s = call.retry.total_s - elapsed_s - wait_s

    async def _reserve_and_send(self, call: _Call) -> Settled:
        """Make one attempt under a reservation; whatever becomes of it, none is left open."""
        key, kind = call.key, (call.offer.request.role, call.key.purpose)
        settled: Settled | None = None
        while settled is None:
            if self.stop_cause is not None:
                return _unsent(self.stop_cause)
            version = self._bounds.version
            if call.version != version:
                call.offer, call.version = self.offer_of(call.offer.request), version
            # Before the gate: who waits for others to settle holds nobody up, and no deadline runs.
            reservation = await self.reservations.reserve(
                (key.world, key.tick), kind, call.offer.reserved
            )
            if reservation is None:
                return _unsent(FailureCause.STOPPED)
            try:
                settled = await self._admit_and_send(call, reservation)
            finally:
                reservation.release()
        return settled

    async def _admit_and_send(self, call: _Call, reservation: Reservation) -> Settled | None:
        """Send one attempt once it is its turn; None if more has to be reserved for it by then."""
        tokens = _estimate(call.offer.request) if self._gate.counts_tokens else 0
        right = await self._gate.enter(tokens, call.patience_s)
        if right is None:
            return _unsent(self.stop_cause or FailureCause.QUEUE_FULL)
        used: int | None = None
        try:
            # Before the call begins, so that no deadline runs while more is reserved for it.
            if call.version != self._bounds.version:
                return None
            now_s = self._clock.now_s()
            call.started_s = now_s if call.started_s is None else call.started_s
            timeout_s = attempt_timeout(call.retry, now_s - call.started_s)
            if self.stop_cause is not None:
                return _unsent(self.stop_cause)
            if timeout_s <= 0:
                return _unsent(FailureCause.QUEUE_FULL)
            settled = await self._send(call, timeout_s, reservation)
            used = self._learn(settled.outcome, right.generation)
        finally:
            self._gate.leave(right, used)
        return settled

    async def _send(self, call: _Call, timeout_s: float, reservation: Reservation) -> Settled:
        offer = call.offer
        try:
            settled = await call.sender.send(call.key, len(call.attempts), offer, timeout_s)
        except BaseException:
            reservation.abandon()
            raise
        reservation.settle(spent(settled))
        self._bounds.look(offer, settled)
        return settled

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
            raise PluginError(
                f"A call asks for the model role {role!r}, which no model of the study answers.",
                remedy=f"Write `roles: {{{role}: MODEL}}` in the study, with the name of a model, "
                f"or ask one of: {', '.join(self._roles)}.",
            )
        return respondent

    def _providers(self) -> Iterable[Provider]:
        return {id(item.provider): item.provider for item in self._roles.values()}.values()


def _unsent(cause: FailureCause) -> Settled:
    return Settled(outcome=Failure(cause=cause), amount=0, source=CostSource.PRICE_TABLE)


def _jitter(key: CallKey) -> Stream:
    return Stream(key.world, key.tick, "retry", f"{key.job}/{key.purpose}/{key.ordinal}")


def _estimate(request: ChatRequest | EmbedRequest) -> int:
    if isinstance(request, EmbedRequest):
        return sum(map(len, request.texts)) // _CHARACTERS_PER_TOKEN + 1
    said = sum(len(message.content) for message in request.messages)
    said += sum(
        len(call.name) + len(call.arguments)
        for message in request.messages
        for call in message.calls
    )
    said += sum(len(encode(spec)) for spec in request.tools)
    return said // _CHARACTERS_PER_TOKEN + request.tokens_max + 1


def _sum(usage: Usage) -> int:
    return usage.input_fresh + usage.cache_write + usage.cache_read + usage.output
