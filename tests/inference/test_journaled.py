"""That a host with a journal makes no finished call twice, however often it is killed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest
from tests.support.calls import WORLD, key, opening

from perdure.base.errors import InternalError, PluginError, StorageFullError
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.journaled import JournaledHost
from perdure.inference.retry import RetryPolicy
from perdure.records.journal import Intent, Settled
from perdure.records.registry import CallsLost, CallsOrphaned
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
from perdure.testing import HANG, ScriptedProvider, SkippingClock
from perdure.trace.journal_memory import MemoryCalls, MemoryJournal

T = TypeVar("T")
PRICE = Price(input_fresh=1_000_000, output=1_000_000)
TIMED_OUT = Failure(cause=FailureCause.TIMEOUT)
REJECTED = Failure(cause=FailureCause.REJECTED, status=400)


def ask(text: str = "What now?") -> ChatRequest:
    """Ask something."""
    return ChatRequest(
        role="tier_a", messages=(Message(role="user", content=text),), tokens_max=100
    )


class Remote:
    """A provider that costs something, and says what its script says; then it never comes back."""

    name = "http"

    def __init__(self, script: Sequence[str | Failure]) -> None:
        self.script = list(script)
        self.asked: list[ChatRequest] = []
        self.embedded = 0

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        self.asked.append(request)
        if not self.script:
            await asyncio.Event().wait()
        said = self.script.pop(0)
        if isinstance(said, Failure):
            return said
        return Reply(text=said, served="m", usage=Usage(input_fresh=10, output=2))

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:
        self.embedded += 1
        return Vectors(vectors=tuple((0.1, 1 / 3) for _ in request.texts), served="m")


class Life:
    """One life of a process: a host, its provider, and the journal that outlives it."""

    def __init__(
        self,
        held: MemoryCalls,
        epoch: int,
        script: Sequence[str | Failure] = (),
        *,
        attempts_max: int = 1,
        price: Price | None = PRICE,
    ) -> None:
        self.remote = Remote(script)
        self.journal = MemoryJournal(held, epoch)
        roles = {role: Respondent(self.remote, price) for role in ("tier_a", "embed")}
        inner = InferenceHost(
            roles, retry=RetryPolicy(attempts_max=attempts_max), clock=SkippingClock()
        )
        self.host = JournaledHost(inner, self.journal)


def run(awaited: Awaitable[T]) -> T:
    """Run to the end, within a time that only a hang exceeds."""

    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await awaited

    return asyncio.run(bounded())


def lives(*each: Callable[[MemoryCalls, int], Awaitable[None]]) -> None:
    """Live one life after another over one journal; each is a loop of its own."""
    held = MemoryCalls()
    for epoch, one in enumerate(each, start=1):
        run(one(held, epoch))


async def killed(*calls: Awaitable[CallResult]) -> None:
    """Begin some calls and be gone before they end."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    for _ in range(10):
        await asyncio.sleep(0)
    for task in tasks:
        assert not task.done()
        task.cancel()
    await asyncio.wait(tasks)


def test_a_finished_call_is_never_made_again() -> None:
    """P3: whatever kind it is, its answer and its cost come from the journal."""
    texts = EmbedRequest(role="embed", texts=("a", "b"))
    first: list[CallResult] = []

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes", REJECTED])
        await life.host.open_tick(opening())
        first.append(await life.host.call(key(0), ask()))
        first.append(await life.host.call(key(1), ask()))
        first.append(await life.host.call(key(2), texts))
        assert life.host.stats().calls == 3

    async def two(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch)
        await life.host.open_tick(opening())
        requests: tuple[ChatRequest | EmbedRequest, ...] = (ask(), ask(), texts)
        for job, request in enumerate(requests):
            assert await life.host.call(key(job), request) == first[job]
        assert (life.remote.asked, life.remote.embedded) == ([], 0)
        assert (life.host.replayed, life.host.stats().calls) == (3, 3)
        used = {key(job) for job in range(3)}
        assert await life.host.lost(WORLD, 0) == ()
        assert await life.host.orphans(WORLD, 0, used) is None

    lives(one, two)
    assert [result.failed for result in first] == [None, FailureCause.REJECTED, None]
    assert isinstance(first[2].answer, Vectors)
    assert [attempt.amount for attempt in first[0].attempts] == [12]


def test_a_free_call_is_journaled_too() -> None:
    """P4: a model of our own may answer otherwise the second time, so it is not asked twice."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        scripted = ScriptedProvider(["once"] if epoch == 1 else [])
        inner = InferenceHost({"tier_a": Respondent(scripted)})
        host = JournaledHost(inner, MemoryJournal(held, epoch))
        await host.open_tick(opening())
        result = await host.call(key(), ask())
        assert isinstance(result.answer, Reply)
        assert (result.answer.text, result.attempts[0].amount) == ("once", 0)
        assert scripted.calls == (epoch == 1)

    lives(one, one)


def test_a_lost_call_is_charged_and_made_again_as_the_next_attempt() -> None:
    """P3: at most what was in flight is lost; it is charged at its worst case, never forgotten."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch)
        await life.host.open_tick(opening())
        await killed(life.host.call(key(0), ask()), life.host.call(key(1), ask()))

    async def two(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes"])
        [charged] = await life.host.lost(WORLD, 0)
        worst = (len("What now?") + 32) + 100
        lost = CallsLost(world_id=WORLD, tick=0, epoch=1, calls=2, cost=2 * worst, tokens=282)
        assert charged == lost
        await life.host.open_tick(opening())
        result = await life.host.call(key(0), ask())
        assert [attempt.amount for attempt in result.attempts] == [12]
        stored = await life.journal.calls(WORLD, 0)
        assert stored is not None
        assert [(one.epoch, one.intent.attempt) for one in stored.calls] == [(1, 0), (1, 0), (2, 1)]
        assert await life.host.lost(WORLD, 0) == (charged,)

    lives(one, two)


def test_what_a_lost_call_costs_is_unknown_without_a_price() -> None:
    """P5: an unknown amount stays unknown; it is never zero."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, price=None)
        await life.host.open_tick(opening())
        await killed(life.host.call(key(), ask()))
        [charged] = await life.host.lost(WORLD, 0)
        assert (charged.calls, charged.cost, charged.unknown_costs) == (1, 0, 1)

    lives(one)


def test_an_endpoint_failure_is_tried_again_after_a_stop() -> None:
    """Its failed attempts stay in the call's result, so that their cost is in the record once."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, [TIMED_OUT, TIMED_OUT], attempts_max=2)
        await life.host.open_tick(opening())
        result = await life.host.call(key(), ask())
        assert (result.failed, len(result.attempts)) == (FailureCause.TIMEOUT, 2)

    async def two(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes"])
        await life.host.open_tick(opening())
        result = await life.host.call(key(), ask())
        assert [attempt.failed for attempt in result.attempts] == [
            FailureCause.TIMEOUT,
            FailureCause.TIMEOUT,
            None,
        ]
        assert [attempt.source for attempt in result.attempts] == [
            CostSource.ESTIMATE,
            CostSource.ESTIMATE,
            CostSource.PRICE_TABLE,
        ]
        stored = await life.journal.calls(WORLD, 0)
        assert stored is not None
        assert [one.intent.attempt for one in stored.calls] == [0, 1, 2]
        assert await life.host.orphans(WORLD, 0, {key()}) is None

    async def three(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch)
        await life.host.open_tick(opening())
        assert len((await life.host.call(key(), ask())).attempts) == 3
        assert not life.remote.asked

    lives(one, two, three)


def test_an_agent_that_asks_something_else_is_not_deterministic() -> None:
    """P4: exit 70 names the call; nothing is sent, whether the call was finished or lost."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes"])
        await life.host.open_tick(opening())
        await life.host.call(key(0), ask())
        await killed(life.host.call(key(1), ask()))

    async def two(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes"])
        await life.host.open_tick(opening())
        for job in range(2):
            with pytest.raises(InternalError, match=f"answer 0 of job {job}.*not deterministic"):
                await life.host.call(key(job), ask("What else?"))
        assert not life.remote.asked

    lives(one, two)


def test_a_tick_that_goes_another_way_for_a_reason_is_no_mismatch() -> None:
    """A call that failed and now succeeds may change what is asked next: that is not a bug."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, [TIMED_OUT, "a fallback"])
        await life.host.open_tick(opening())
        assert (await life.host.call(key(0), ask())).answer is None
        await life.host.call(key(0, ordinal=1), ask("Then in short?"))

    async def two(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes", "as it should be"])
        await life.host.open_tick(opening())
        assert (await life.host.call(key(0), ask())).answer is not None
        other = await life.host.call(key(0, ordinal=1), ask("And why?"))
        assert isinstance(other.answer, Reply)
        assert (other.answer.text, len(other.attempts)) == ("as it should be", 1)
        used = {key(0), key(0, ordinal=1)}
        assert await life.host.orphans(WORLD, 0, used) == CallsOrphaned(
            world_id=WORLD, tick=0, epoch=1, calls=1, cost=12, tokens=12
        )

    async def three(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch)
        await life.host.open_tick(opening())
        await life.host.call(key(0), ask())
        again = await life.host.call(key(0, ordinal=1), ask("And why?"))
        assert isinstance(again.answer, Reply)
        assert again.answer.text == "as it should be"

    lives(one, two, three)


def test_a_call_that_its_tick_did_not_need_is_orphaned() -> None:
    """P5: it was paid for, and is charged where the record does not have it."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes", "yes"])
        await life.host.open_tick(opening())
        await life.host.call(key(0), ask())
        await life.host.call(key(1), ask())
        assert await life.host.orphans(WORLD, 0, {key(0), key(1)}) is None
        orphan = CallsOrphaned(world_id=WORLD, tick=0, epoch=1, calls=1, cost=12, tokens=12)
        assert await life.host.orphans(WORLD, 0, {key(0)}) == orphan
        await life.host.close_tick(WORLD, 0)
        assert await life.host.orphans(WORLD, 0, ()) is None
        assert await life.host.lost(WORLD, 0) == ()

    lives(one)


def test_a_plain_tick_is_closed_without_reading_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick that ran once and whole costs nothing to check."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes"])
        monkeypatch.setattr(life.journal, "calls", None)
        await life.host.open_tick(opening())
        await life.host.call(key(), ask())
        assert await life.host.lost(WORLD, 0) == ()
        assert await life.host.orphans(WORLD, 0, {key()}) is None

    lives(one)


def test_a_call_that_is_cut_short_is_charged_when_its_tick_closes() -> None:
    """An agent may give up on a call: it was sent all the same."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch)
        await life.host.open_tick(opening())
        await killed(life.host.call(key(), ask()))
        [charged] = await life.host.lost(WORLD, 0)
        assert (charged.epoch, charged.calls) == (1, 1)

    lives(one)


def test_a_call_cut_off_at_its_deadline_is_a_failure_like_any_other() -> None:
    """A provider that never comes back costs one failed attempt, settled, and nothing is lost."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        scripted = ScriptedProvider([HANG])
        inner = InferenceHost(
            {"tier_a": Respondent(scripted)}, retry=RetryPolicy(attempt_s=0.1, attempts_max=1)
        )
        journal = MemoryJournal(held, epoch)
        host = JournaledHost(inner, journal)
        await host.open_tick(opening())
        assert (await host.call(key(), ask())).failed is FailureCause.TIMEOUT
        assert await host.lost(WORLD, 0) == ()
        stored = await journal.calls(WORLD, 0)
        assert stored is not None
        assert stored.calls[0].settled == Settled(
            outcome=TIMED_OUT, amount=0, source=CostSource.PRICE_TABLE
        )

    lives(one)


def test_nothing_is_sent_whose_intent_is_not_durable() -> None:
    """P3: on a full disk the call fails before it costs anything."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes"])
        await life.host.open_tick(opening())

        async def full(intent: Intent) -> None:
            raise StorageFullError("The disk is full.")

        life.journal.intend = full  # type: ignore[method-assign]
        with pytest.raises(StorageFullError):
            await life.host.call(key(), ask())
        assert not life.remote.asked

    lives(one)


def test_nobody_sees_an_answer_that_is_not_durable() -> None:
    """P3: the reply is given out after it is settled, and not at all if that fails."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes", "yes"])
        await life.host.open_tick(opening())
        let = asyncio.Event()
        real = life.journal.settle

        async def slow(key: CallKey, attempt: int, settled: Settled) -> None:
            await let.wait()
            await real(key, attempt, settled)

        life.journal.settle = slow  # type: ignore[method-assign]
        calling = asyncio.ensure_future(life.host.call(key(), ask()))
        for _ in range(10):
            await asyncio.sleep(0)
        assert life.remote.asked
        assert not calling.done()
        let.set()
        assert (await calling).answer is not None

        async def full(key: CallKey, attempt: int, settled: Settled) -> None:
            raise StorageFullError("The disk is full.")

        life.journal.settle = full  # type: ignore[method-assign]
        with pytest.raises(StorageFullError):
            await life.host.call(key(1), ask())

    lives(one)


def test_a_call_outside_an_open_tick_is_refused() -> None:
    """P9: nothing is sent that the journal could not keep."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes"])
        with pytest.raises(InternalError, match="not open"):
            await life.host.call(key(), ask())
        await life.host.open_tick(opening())
        with pytest.raises(PluginError, match="no model of the study answers"):
            await life.host.call(key(), ChatRequest(role="nobody", messages=(), tokens_max=1))

    lives(one)


def test_a_tick_that_is_run_again_by_a_new_worker_has_its_answers() -> None:
    """A dead worker loses no call: the same host gives the same tick what it had."""

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes"])
        await life.host.open_tick(opening())
        first = await life.host.call(key(), ask())
        hanging = asyncio.ensure_future(life.host.call(key(1), ask()))
        for _ in range(10):
            await asyncio.sleep(0)
        with pytest.raises(InternalError, match="1 of its calls"):
            await life.host.open_tick(opening())
        hanging.cancel()
        await asyncio.wait({hanging})
        await life.host.open_tick(opening())
        assert await life.host.call(key(), ask()) == first
        assert len(life.remote.asked) == 2

    lives(one)


def test_the_stop_of_a_host_is_the_stop_of_its_journaled_calls() -> None:
    """A refused key ends the run; the failure that says so is journaled, and not final."""
    refused = Failure(cause=FailureCause.KEY_REFUSED, status=401)

    async def one(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, [refused])
        await life.host.open_tick(opening())
        assert (await life.host.call(key(), ask())).failed is FailureCause.KEY_REFUSED
        assert life.host.stop_cause is FailureCause.KEY_REFUSED
        assert (await life.host.call(key(1), ask())).failed is FailureCause.KEY_REFUSED
        assert len(life.remote.asked) == 1

    async def two(held: MemoryCalls, epoch: int) -> None:
        life = Life(held, epoch, ["yes", "yes"])
        await life.host.open_tick(opening())
        for job in range(2):
            assert (await life.host.call(key(job), ask())).answer is not None
        assert life.host.stop_cause is None

    lives(one, two)
