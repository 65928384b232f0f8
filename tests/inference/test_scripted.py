"""That a scripted model says exactly what it is told to, and keeps what it was asked."""

from __future__ import annotations

import asyncio

import pytest

from perdure.base.errors import InternalError
from perdure.inference.scripted import HANG, Delay, Script, ScriptedProvider, wrong_model
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Message,
    Reply,
    Vectors,
)


class FakeClock:
    def __init__(self) -> None:
        self.slept: list[float] = []

    def wall_s(self) -> float:
        return 0.0

    def now_s(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def ask(role: str = "tier_a", text: str = "Well then?") -> ChatRequest:
    """Make a request of one message."""
    return ChatRequest(role=role, messages=(Message(role="user", content=text),), tokens_max=9)


def play(script: Script, *requests: ChatRequest) -> list[Reply | Failure]:
    """Ask a script for these requests, one after another."""

    async def run() -> list[Reply | Failure]:
        provider = ScriptedProvider(script, clock=FakeClock())
        return [await provider.chat(request, 5.0) for request in requests]

    return asyncio.run(run())


def text_of(outcome: Reply | Failure) -> str:
    """Give the text of what must be a reply."""
    assert isinstance(outcome, Reply)
    return outcome.text


def test_a_list_is_played_in_order_and_then_refuses() -> None:
    """Each call takes the next step; a call too many is the test's own mistake, and loud."""
    assert [text_of(said) for said in play(["one", "two"], ask(), ask())] == ["one", "two"]
    with pytest.raises(InternalError, match="no step left"):
        play(["one"], ask(), ask())


def test_a_mapping_gives_each_role_its_own_list() -> None:
    """Calls of two roles do not take each other's steps."""
    outcomes = play({"tier_a": ["a1", "a2"], "tier_b": ["b1"]}, ask(), ask("tier_b"), ask())
    assert [text_of(said) for said in outcomes] == ["a1", "b1", "a2"]


def test_a_function_sees_the_request() -> None:
    """A step may be made from what was asked."""
    (said,) = play(lambda request: request.messages[0].content.upper(), ask(text="hello"))
    assert text_of(said) == "HELLO"


@pytest.mark.parametrize("cause", list(FailureCause))
def test_every_cause_of_failure_can_be_played(cause: FailureCause) -> None:
    """Each named failure can be scripted by its cause alone or as a whole."""
    whole = Failure(cause=cause, status=500, retry_after_s=2.0)
    assert play([cause, whole], ask(), ask()) == [Failure(cause=cause), whole]


def test_a_reply_says_who_it_is_from() -> None:
    """Text is served as the script's model; a wrong model and refusals are given as they are."""
    (own, other) = play(["mine", wrong_model("theirs")], ask(), ask())
    assert isinstance(own, Reply)
    assert isinstance(other, Reply)
    assert (own.served, other.served) == ("scripted", "another-model")
    assert own.usage is not None
    assert own.usage.output == 1


def test_a_delay_waits_on_the_given_clock_and_respects_the_time_limit() -> None:
    """A short delay is answered, a long one times out after the limit and no later."""
    clock = FakeClock()

    async def run() -> list[Reply | Failure]:
        steps = [Delay(seconds=3.0, then="late"), Delay(seconds=30.0, then="never")]
        provider = ScriptedProvider(steps, clock=clock)
        return [await provider.chat(ask(), 5.0) for _ in steps]

    late, never = asyncio.run(run())
    assert text_of(late) == "late"
    assert never == Failure(cause=FailureCause.TIMEOUT)
    assert clock.slept == [3.0, 5.0]


def test_a_hanging_call_ends_only_by_cancellation() -> None:
    """A call that hangs ignores its limit, so that a caller's own limit can be tested."""

    async def run() -> bool:
        call = asyncio.ensure_future(ScriptedProvider([HANG]).chat(ask(), 0.0))
        for _ in range(10):
            await asyncio.sleep(0)
        pending = not call.done()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        return pending and call.cancelled()

    assert asyncio.run(run())


def test_what_was_asked_is_kept() -> None:
    """Requests are kept in order, failed ones included, and open and close are counted."""
    requests = [ask(text="first"), ask(text="second")]
    vectors = Vectors(vectors=((1.0, 0.0),), served="scripted")

    async def run() -> ScriptedProvider:
        provider = ScriptedProvider(["a", FailureCause.TIMEOUT], vectors=lambda _: vectors)
        await provider.open()
        for request in requests:
            await provider.chat(request, 1.0)
        assert await provider.embed(EmbedRequest(role="embed", texts=("x",)), 1.0) == vectors
        await provider.close()
        return provider

    provider = asyncio.run(run())
    assert provider.requests == requests
    assert (provider.calls, provider.opened, provider.closed) == (2, 1, 1)
    assert [request.texts for request in provider.embeddings] == [("x",)]


def test_embeddings_are_unsupported_unless_scripted() -> None:
    """Without a function for them, no vector is made up."""
    outcome = asyncio.run(ScriptedProvider([]).embed(EmbedRequest(role="embed", texts=("x",)), 1.0))
    assert outcome == Failure(cause=FailureCause.UNSUPPORTED)
