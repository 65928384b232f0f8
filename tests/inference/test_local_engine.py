"""That the thread of a local model serves, bounds, times out, cancels and ends as promised.

The batch here is a fake that grows a text by one word a step, so no model is needed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from perdure.base.errors import InternalError, UsageError
from perdure.inference.local import LocalProvider, LocalSettings, Weights
from perdure.inference.local.batch import Generated, Job, Prompt, PromptRefusedError
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    FinishReason,
    Message,
    Reply,
)
from perdure.records.usage import Usage

WEIGHTS = Weights(path="/nowhere/fake.gguf", name="fake", sha256="0" * 64)
# A reply of so many tokens never comes to its end.
ENDLESS = 10_000


class FakeBatch:
    """Says "w" once per step and request, up to the request's limit."""

    def __init__(self) -> None:
        self.live: dict[int, tuple[Job, int]] = {}
        self.started: list[str] = []
        self.dropped: list[int] = []
        self.most_live = 0
        self.fault: Exception | None = None
        self.broken: set[str] = set()
        self.may_step = threading.Event()
        self.may_step.set()

    def prompt(self, job: Job) -> Prompt:
        text = job.messages[0].content
        if text == "unfit":
            raise PromptRefusedError(text)
        return Prompt(tokens=len(text.split()), ids=text)

    def start(self, number: int, prompt: Prompt, job: Job) -> None:
        self.live[number] = (job, 0)
        self.started.append(prompt.ids)
        self.most_live = max(self.most_live, len(self.live))

    def drop(self, number: int) -> None:
        del self.live[number]
        self.dropped.append(number)

    def step(self) -> list[Generated | int]:
        assert self.may_step.wait(60)
        if self.fault is not None:
            raise self.fault
        done: list[Generated | int] = []
        for number, (job, said) in list(self.live.items()):
            self.live[number] = (job, said + 1)
            if job.messages[0].content in self.broken:
                done.append(number)
            elif said + 1 == job.tokens_max < ENDLESS:
                done.append(
                    Generated(
                        number=number,
                        text="w" * (said + 1),
                        tokens=said + 1,
                        finish=FinishReason.LENGTH,
                    )
                )
        for item in done:
            del self.live[item if isinstance(item, int) else item.number]
        return done


def request(text: str = "hello there", tokens_max: int = 3) -> ChatRequest:
    """Make a request that the fake batch takes `tokens_max` steps to answer."""
    return ChatRequest(
        role="tier_a", messages=(Message(role="user", content=text),), tokens_max=tokens_max
    )


def serve(
    use: Callable[[LocalProvider, FakeBatch], Coroutine[Any, Any, Any]],
    *,
    settings: LocalSettings | None = None,
) -> Any:
    """Open a provider over a fake batch, use it, close it, and check that its thread is gone."""
    batch = FakeBatch()

    async def run() -> Any:
        provider = LocalProvider(
            settings or LocalSettings(),
            weights=WEIGHTS,
            batch=lambda: batch,
        )
        await provider.open()
        try:
            return await use(provider, batch)
        finally:
            await provider.close()
            assert not alive()

    return asyncio.run(run())


def alive() -> list[threading.Thread]:
    """List the threads of local models."""
    return [thread for thread in threading.enumerate() if thread.name == "perdure-local-model"]


async def all_at_once(
    provider: LocalProvider, batch: FakeBatch, asked: list[ChatRequest]
) -> list[Reply | Failure]:
    """Make calls of which none is worked on before the last of them was made."""
    batch.may_step.clear()
    calls = [asyncio.ensure_future(provider.chat(item, 60.0)) for item in asked]
    await asyncio.sleep(0)
    batch.may_step.set()
    return await asyncio.gather(*calls)


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is true of the other thread."""
    while not true():  # noqa: ASYNC110 - the other side is a thread, which sets no event
        await asyncio.sleep(0.001)


def test_a_reply_has_text_served_name_finish_and_the_models_own_token_counts() -> None:
    """Usage is counted in the model's tokens, prompt and output apart."""
    reply = serve(lambda provider, _: provider.chat(request("one two three", 4), 60.0))
    assert reply == Reply(
        text="wwww",
        served="fake",
        finish=FinishReason.LENGTH,
        usage=Usage(input_fresh=3, output=4),
    )


def test_no_more_than_the_slots_are_worked_on_and_all_are_answered_in_turn() -> None:
    """Requests above the slots wait, first in first out, and each gets its own reply."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        asked = [request(f"call {n}", 1 + n % 5) for n in range(20)]
        replies = await all_at_once(provider, batch, asked)
        assert [len(reply.text) for reply in replies if isinstance(reply, Reply)] == [
            item.tokens_max for item in asked
        ]
        assert batch.most_live == 4
        assert batch.started == [item.messages[0].content for item in asked]

    serve(use, settings=LocalSettings(slots=4))


def test_the_cache_is_never_promised_twice() -> None:
    """Requests that together could outgrow the cache are not worked on together."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        await all_at_once(provider, batch, [request("a b", 8) for _ in range(6)])
        assert batch.most_live == 2

    serve(use, settings=LocalSettings(slots=6, cache_tokens=20))


@pytest.mark.parametrize("text", ["word " * 11, "unfit"], ids=["too long", "template"])
def test_a_prompt_that_the_model_cannot_take_is_rejected(text: str) -> None:
    """A prompt over the limit, or one the template refuses, fails by name and never is cut."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        assert await provider.chat(request(text), 60.0) == Failure(cause=FailureCause.REJECTED)
        assert batch.started == []
        assert isinstance(await provider.chat(request(), 60.0), Reply)

    serve(use, settings=LocalSettings(prompt_tokens_max=10))


def test_a_call_that_could_never_fit_the_cache_is_rejected() -> None:
    """Prompt and reply together larger than the cache would wait for ever; they fail at once."""

    async def use(provider: LocalProvider, _: FakeBatch) -> None:
        outcome = await provider.chat(request("a b", 99), 60.0)
        assert outcome == Failure(cause=FailureCause.REJECTED)

    serve(use, settings=LocalSettings(cache_tokens=100))


def test_a_timeout_fails_by_name_and_frees_its_slot() -> None:
    """After a time-out the only slot is free for the next call."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        outcome = await provider.chat(request("slow", ENDLESS), 0.05)
        assert outcome == Failure(cause=FailureCause.TIMEOUT)
        await until(lambda: not batch.live)

    serve(use, settings=LocalSettings(slots=1))


def test_a_cancelled_call_frees_its_slot_for_one_that_waits() -> None:
    """Cancelling what is worked on lets the next one in; cancelling one that waits, too."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        endless = asyncio.ensure_future(provider.chat(request("endless", ENDLESS), 60.0))
        await until(lambda: batch.started == ["endless"])
        second = asyncio.ensure_future(provider.chat(request("second", ENDLESS), 60.0))
        third = asyncio.ensure_future(provider.chat(request("third", 2), 60.0))
        await asyncio.sleep(0)
        second.cancel()
        endless.cancel()
        reply = await third
        assert isinstance(reply, Reply)
        assert batch.started == ["endless", "third"]
        assert len(batch.dropped) == 1
        assert endless.cancelled()
        assert second.cancelled()

    serve(use, settings=LocalSettings(slots=1))


def test_the_queue_is_bounded() -> None:
    """A call beyond slots and waiting room fails at once as queue full."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        open_calls = [
            asyncio.ensure_future(provider.chat(request(f"c{n}", ENDLESS), 60.0)) for n in range(3)
        ]
        await until(lambda: bool(batch.started))
        outcome = await provider.chat(request(), 60.0)
        assert outcome == Failure(cause=FailureCause.QUEUE_FULL)
        for call in open_calls:
            call.cancel()
        await asyncio.gather(*open_calls, return_exceptions=True)
        assert isinstance(await provider.chat(request(), 60.0), Reply)

    serve(use, settings=LocalSettings(slots=1, waiting_max=2))


def test_one_request_that_breaks_leaves_the_others_alone() -> None:
    """A request that the engine gives up fails by name; its neighbours are answered."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        batch.broken.add("bad")
        bad, good = await asyncio.gather(
            provider.chat(request("bad"), 60.0), provider.chat(request("good"), 60.0)
        )
        assert bad == Failure(cause=FailureCause.SERVER_ERROR)
        assert isinstance(good, Reply)

    serve(use)


def test_an_engine_that_breaks_fails_every_call_and_never_hangs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After a fault of the engine all calls, open and later, end as server errors, logged."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        calls = [
            asyncio.ensure_future(provider.chat(request(f"c{n}", ENDLESS), 60.0)) for n in range(3)
        ]
        await until(lambda: len(batch.started) == 1)
        batch.fault = RuntimeError("out of luck")
        broken = Failure(cause=FailureCause.SERVER_ERROR)
        assert await asyncio.gather(*calls) == [broken] * 3
        await until(lambda: not alive())
        assert await provider.chat(request(), 60.0) == broken

    serve(use, settings=LocalSettings(slots=1))
    assert "out of luck" in caplog.text


def test_closing_ends_the_thread_and_what_is_in_flight() -> None:
    """A call that is open when the model closes fails by name, as does every later one."""

    async def use(provider: LocalProvider, batch: FakeBatch) -> None:
        call = asyncio.ensure_future(provider.chat(request("open", ENDLESS), 60.0))
        await until(lambda: bool(batch.started))
        await provider.close()
        assert not alive()
        broken_off = Failure(cause=FailureCause.TRANSPORT)
        assert await call == broken_off
        assert await provider.chat(request(), 60.0) == broken_off

    serve(use)


def test_what_loading_raises_is_raised_by_open() -> None:
    """A model that cannot be loaded is one typed error, and leaves no thread."""

    def load() -> FakeBatch:
        raise UsageError("No such model.")

    async def run() -> None:
        provider = LocalProvider(LocalSettings(), weights=WEIGHTS, batch=load)
        with pytest.raises(UsageError, match="No such model"):
            await provider.open()
        await provider.close()

    asyncio.run(run())
    assert not alive()


def test_a_call_before_open_and_a_second_open_are_refused() -> None:
    """Misuse is an error of ours, never a reply."""

    async def unopened() -> None:
        provider = LocalProvider(LocalSettings(), weights=WEIGHTS, batch=FakeBatch)
        with pytest.raises(InternalError):
            await provider.chat(request(), 60.0)

    async def twice(provider: LocalProvider, _: FakeBatch) -> None:
        with pytest.raises(InternalError):
            await provider.open()

    asyncio.run(unopened())
    serve(twice)


def test_embeddings_are_unsupported() -> None:
    """No vector is made up from a chat model."""
    embed = EmbedRequest(role="embed", texts=("x",))
    outcome = serve(lambda provider, _: provider.embed(embed, 60.0))
    assert outcome == Failure(cause=FailureCause.UNSUPPORTED)
