"""That every call of a run goes through one host, ends, and says what each attempt came to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from perdure.base.errors import PluginError
from perdure.inference.gate import Gate
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.limits import Limits
from perdure.inference.offer import Offer
from perdure.inference.reservations import NOTHING, Amounts, Ceilings, Reservations
from perdure.inference.retry import RetryPolicy
from perdure.inference.running_clock import RunningClock
from perdure.inference.settlement import settle
from perdure.records.journal import Settled
from perdure.records.request import (
    CallKey,
    CallResult,
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Message,
    Reply,
    Vectors,
)
from perdure.records.usage import CostSource, Price, Usage
from perdure.study.pricing import amount_of
from perdure.testing import HANG, ScriptedProvider, SkippingClock

T = TypeVar("T")
PRICE = Price(input_fresh=1_000_000, output=1_000_000)
ASKED = ChatRequest(
    role="tier_a", messages=(Message(role="user", content="x" * 400),), tokens_max=100
)
LIMITED = Failure(cause=FailureCause.RATE_LIMITED, status=429, retry_after_s=7.0)


class Remote:
    """A provider that costs something: a function of the attempt's number decides its outcome."""

    name = "http"

    def __init__(self, outcome: Callable[[int], Reply | Failure], hold: int = 1) -> None:
        self.outcome = outcome
        self.hold = hold
        self.attempts = 0
        self.in_flight = 0
        self.most = 0
        self.opened = 0
        self.timeouts: list[float] = []

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        self.opened -= 1

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        number = self.attempts
        self.attempts += 1
        self.timeouts.append(timeout_s)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        for _ in range(self.hold):
            await asyncio.sleep(0)
        self.in_flight -= 1
        return self.outcome(number)

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:
        return Vectors(vectors=tuple((1.0,) for _ in request.texts), served="m")


def reply(_number: int) -> Reply:
    """Answer well."""
    return Reply(text="yes", served="m", usage=Usage(input_fresh=100, output=10))


def always(outcome: Reply | Failure) -> Callable[[int], Reply | Failure]:
    """End every attempt in the same way."""
    return lambda _number: outcome


def key(job: int = 0) -> CallKey:
    """Name a call."""
    return CallKey(world="0123456789ab", tick=2, job=job, purpose="turn", ordinal=0)


def host_of(
    remote: Remote,
    *,
    limits: Limits | None = None,
    retry: RetryPolicy | None = None,
    clock: SkippingClock | None = None,
) -> InferenceHost:
    """Make a host whose waits take no time."""
    return InferenceHost(
        {"tier_a": Respondent(remote, PRICE), "embed": Respondent(remote, PRICE)},
        retry=retry,
        limits=limits,
        clock=clock or SkippingClock(),
    )


async def calls(host: InferenceHost, count: int) -> list[CallResult]:
    """Make many calls at once."""
    return await asyncio.gather(*(host.call(key(job), ASKED) for job in range(count)))


def run(awaited: Awaitable[T]) -> T:
    """Run to the end, within a time that only a hang exceeds."""

    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await awaited

    return asyncio.run(bounded())


def test_an_answer_comes_with_its_cost() -> None:
    """A call that is answered at once has one attempt, priced by the table."""
    host = host_of(Remote(reply))
    [result] = run(calls(host, 1))
    assert result.answer == reply(0)
    [attempt] = result.attempts
    assert (attempt.amount, attempt.source) == (110, CostSource.PRICE_TABLE)
    stats = host.stats()
    assert (stats.calls, stats.failed, stats.retries, stats.in_flight) == (1, 0, 0, 0)


def test_an_embedding_goes_the_same_way() -> None:
    """A request for vectors is answered by its own role."""
    result = run(host_of(Remote(reply)).call(key(), EmbedRequest(role="embed", texts=("a", "b"))))
    assert isinstance(result.answer, Vectors)
    assert len(result.answer.vectors) == 2


def test_a_healed_call_records_every_attempt_and_keeps_the_wait_it_was_asked_for() -> None:
    """Two failures and an answer are three attempts, with two waits between them."""
    script: list[Reply | Failure] = [LIMITED, Failure(cause=FailureCause.TRANSPORT), reply(0)]
    clock = SkippingClock()
    host = host_of(Remote(script.__getitem__), clock=clock)
    [result] = run(calls(host, 1))
    assert [attempt.failed for attempt in result.attempts] == [
        *(FailureCause.RATE_LIMITED, FailureCause.TRANSPORT, None)
    ]
    worst = result.attempts[1].charged
    assert worst is not None
    assert [attempt.amount for attempt in result.attempts] == [0, amount_of(worst, PRICE), 110]
    assert result.attempts[0].status == 429
    assert 7.0 <= clock.slept[0] <= 7.5
    assert host.stats().retries == 2


def test_jitter_is_drawn_from_the_call() -> None:
    """The same call waits the same on every machine, and another call waits differently."""

    def waits(job: int) -> list[float]:
        clock = SkippingClock()
        remote = Remote(always(Failure(cause=FailureCause.SERVER_ERROR, status=500)))
        result = run(host_of(remote, clock=clock).call(key(job), ASKED))
        assert result.failed is FailureCause.SERVER_ERROR
        return clock.slept

    assert waits(0) == waits(0)
    assert waits(0) != waits(1)


def test_the_deadline_holds_over_all_attempts_and_waits() -> None:
    """Attempts get what is left of the call's time, and no wait begins that would outlast it."""
    clock = SkippingClock()
    remote = Remote(always(Failure(cause=FailureCause.RATE_LIMITED, retry_after_s=40.0)))
    retry = RetryPolicy(attempts_max=50, attempt_s=60.0, total_s=100.0)
    result = run(host_of(remote, retry=retry, clock=clock).call(key(), ASKED))
    assert result.failed is FailureCause.RATE_LIMITED
    assert len(result.attempts) == 3
    assert clock.now_s() < 100.0
    assert remote.timeouts[0] == 60.0
    assert remote.timeouts[2] == pytest.approx(20.0, abs=1.0)


def test_a_provider_that_ignores_its_deadline_is_cut_off() -> None:
    """A call that never comes back on its own ends as a timeout."""
    host = InferenceHost(
        {"tier_a": Respondent(ScriptedProvider([HANG]))},
        retry=RetryPolicy(attempts_max=1, attempt_s=0.01),
    )
    result = run(host.call(key(), ASKED))
    assert result.failed is FailureCause.TIMEOUT
    assert result.attempts[0].amount == 0
    assert host.stats().in_flight == 0


@pytest.mark.parametrize(
    "cause", [FailureCause.KEY_REFUSED, FailureCause.MODEL_UNKNOWN, FailureCause.OUT_OF_MONEY]
)
def test_a_cause_that_stops_the_run_is_remembered(cause: FailureCause) -> None:
    """After a stop nothing more is sent: not what waits, nor what comes later."""
    remote = Remote(lambda number: Failure(cause=cause) if number == 2 else reply(number))
    host = host_of(remote, limits=Limits(in_flight_max=2))
    results = run(calls(host, 50))
    assert host.stop_cause is cause
    sent = remote.attempts
    assert sent <= 4
    assert {result.failed for result in results} == {None, cause}
    assert sum(result.answer is not None for result in results) == sent - 1
    [later] = run(calls(host, 1))
    assert (later.failed, remote.attempts) == (cause, sent)
    assert later.attempts[0].amount == 0


def test_a_stop_reaches_calls_that_wait_for_their_next_attempt() -> None:
    """A call in back-off when the run stops ends with the cause of the stop, unsent."""
    script = [LIMITED, Failure(cause=FailureCause.OUT_OF_MONEY, status=402)]
    remote = Remote(script.__getitem__)
    host = host_of(remote)

    async def both() -> list[CallResult]:
        first = asyncio.create_task(host.call(key(0), ASKED))
        await asyncio.sleep(0)
        return [await host.call(key(1), ASKED), await first]

    stopper, waiter = run(both())
    assert stopper.failed is FailureCause.OUT_OF_MONEY
    assert [attempt.failed for attempt in waiter.attempts] == [
        *(FailureCause.RATE_LIMITED, FailureCause.OUT_OF_MONEY)
    ]
    assert remote.attempts == 2


def test_no_more_calls_are_in_flight_than_the_ceiling_allows() -> None:
    """The ceiling holds at every instant, and every call gets its turn."""
    remote = Remote(reply, hold=3)
    results = run(calls(host_of(remote, limits=Limits(in_flight_max=5)), 100))
    assert remote.most == 5
    assert all(result.answer for result in results)


def test_the_ceiling_shrinks_on_rate_limits_alone() -> None:
    """Server errors and timeouts do not lower the ceiling; one flight of 429 halves it once."""
    for cause, ceiling in ((FailureCause.SERVER_ERROR, 16), (FailureCause.RATE_LIMITED, 8)):
        remote = Remote(always(Failure(cause=cause)))
        host = host_of(remote, limits=Limits(in_flight_max=16), retry=RetryPolicy(attempts_max=1))
        run(calls(host, 16))
        assert host.stats().ceiling == ceiling


def test_a_full_queue_turns_calls_away_unsent() -> None:
    """What does not fit the queue fails at once, with its cause and at no cost."""
    remote = Remote(reply, hold=5)
    results = run(calls(host_of(remote, limits=Limits(in_flight_max=2, queue_max=3)), 10))
    turned_away = [result for result in results if result.answer is None]
    assert len(turned_away) == 5
    assert {result.failed for result in turned_away} == {FailureCause.QUEUE_FULL}
    assert {result.attempts[0].amount for result in turned_away} == {0}
    assert remote.attempts == 5


def test_nothing_waits_longer_than_the_queue_allows() -> None:
    """A call whose turn would come too late is turned away instead of waiting for ever."""
    clock = SkippingClock()
    limits = Limits(requests_per_minute=6, queue_s=60.0)
    results = run(calls(host_of(Remote(reply), limits=limits, clock=clock), 20))
    answered = sum(result.answer is not None for result in results)
    assert 0 < answered < 20
    assert max(clock.slept) <= 60.0


def test_tokens_per_minute_are_corrected_by_what_was_used() -> None:
    """An estimate far too high slows the run down only until the usage is known."""
    clock = SkippingClock()
    host = host_of(
        Remote(reply), limits=Limits(in_flight_max=1, tokens_per_minute=3000), clock=clock
    )
    results = run(calls(host, 30))
    assert all(result.answer for result in results)
    # 30 calls use 3,300 tokens; estimated at 201 each they would be 6,030.
    assert clock.now_s() < 90


def test_a_cancelled_call_gives_its_place_back() -> None:
    """Neither a call in flight nor one in the queue leaves anything behind when it is cancelled."""

    async def cancel() -> None:
        remote = Remote(reply, hold=50)
        host = host_of(remote, limits=Limits(in_flight_max=2))
        tasks = [asyncio.create_task(host.call(key(job), ASKED)) for job in range(6)]
        for _ in range(3):
            await asyncio.sleep(0)
        for task in tasks[1:5]:
            task.cancel()
        assert (await tasks[0]).answer
        assert (await tasks[5]).answer
        await asyncio.gather(*tasks, return_exceptions=True)
        stats = host.stats()
        assert (stats.in_flight, stats.queued) == (0, 0)

    run(cancel())


def test_a_broken_provider_gives_its_place_back() -> None:
    """An exception of a provider is ours to see, and does not use up the ceiling."""

    def broken(_number: int) -> Reply:
        raise RuntimeError("broken")

    host = host_of(Remote(broken))
    with pytest.raises(RuntimeError, match="broken"):
        run(calls(host, 1))
    assert host.stats().in_flight == 0


def test_a_turn_in_the_queue_runs_out() -> None:
    """Whoever waits in the queue longer than its patience leaves it, without a place."""

    async def wait() -> None:
        gate = Gate(Limits(in_flight_max=1), SkippingClock(), RunningClock())
        right = await gate.enter(0, 1.0)
        assert right is not None
        assert await gate.enter(0, 0.01) is None
        assert gate.queued == 0
        gate.leave(right, None)
        assert gate.in_flight == 0

    run(wait())


def test_a_role_that_nobody_answers_is_named() -> None:
    """A study's own code may ask for any role: one that no model answers is refused unsent."""
    request = ChatRequest(role="tier_b", messages=(), tokens_max=1)
    with pytest.raises(PluginError, match="tier_b"):
        run(host_of(Remote(reply)).call(key(), request))


def test_a_provider_of_two_roles_is_opened_and_closed_once() -> None:
    """Roles may share a provider."""
    remote = Remote(reply)
    host = host_of(remote)
    run(host.open())
    assert remote.opened == 1
    run(host.close())
    assert remote.opened == 0


def test_a_sender_stands_before_every_attempt() -> None:
    """What is put in front of the providers sees each attempt with its key and number."""

    class Recorder:
        def __init__(self, remote: Remote) -> None:
            self.remote = remote
            self.seen: list[tuple[int, int]] = []

        async def send(self, key: CallKey, attempt: int, offer: Offer, timeout_s: float) -> Settled:
            self.seen.append((key.job, attempt))
            assert isinstance(offer.request, ChatRequest)
            outcome = await self.remote.chat(offer.request, timeout_s)
            return settle(outcome, offer.worst, offer.price)

    remote = Remote(lambda number: LIMITED if number == 0 else reply(number))
    recorder = Recorder(remote)
    host = InferenceHost({"tier_a": Respondent(remote)}, clock=SkippingClock(), sender=recorder)
    run(host.call(key(4), ASKED))
    assert recorder.seen == [(4, 0), (4, 1)]


def test_what_does_not_fit_is_not_sent_and_says_so() -> None:
    """P5: a call that is refused its reservation ends without an attempt at the provider."""
    remote = Remote(reply)
    host = host_of(remote)
    worst = host.offer_of(ASKED).reserved
    clock = SkippingClock()
    host.reservations = Reservations(Ceilings(money=worst.money + 110), NOTHING, clock)
    results = run(calls(host, 3))
    assert [result.failed for result in results] == [None, None, FailureCause.STOPPED]
    assert results[2].attempts[0].amount == 0
    assert len(remote.timeouts) == 2
    assert host.reservations.settled == Amounts(money=220, calls=2, tokens=2 * 110)


@pytest.mark.parametrize("at_once", [1, 4, 64])
def test_only_what_was_under_way_goes_above_its_reservation(at_once: int) -> None:
    """P5: what is reserved by then, and waits, is reserved anew; and near what was reported."""
    used = Usage(input_fresh=2_000, output=700)
    remote = Remote(lambda _: Reply(text="Yes.", served="m", usage=used), hold=3)
    host = host_of(remote, limits=Limits(in_flight_max=at_once))
    host.reservations = Reservations(Ceilings(money=60 * 2_700), NOTHING, SkippingClock())
    results = run(calls(host, 60))
    attempts = [attempt for result in results for attempt in result.attempts]
    assert 0 < sum(attempt.above_reservation for attempt in attempts) <= at_once
    assert all(result.failed is None for result in results[:-1])
    assert host.reservations.settled.money <= 60 * 2_700


def test_a_call_that_is_cut_off_is_charged_what_it_may_have_cost() -> None:
    """P5: nobody knows whether it was billed."""

    class Hanging(Remote):
        async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
            asked.set()
            await asyncio.Event().wait()
            return reply(0)

    asked = asyncio.Event()

    async def cut() -> None:
        host = InferenceHost({"tier_a": Respondent(Hanging(reply), PRICE)})
        call = asyncio.create_task(host.call(key(), ASKED))
        await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert host.reservations.settled == host.offer_of(ASKED).reserved
        assert host.reservations.reserved == NOTHING

    run(cut())
