"""The contract of every provider: a reply or a named failure, never an exception, always storable.

A provider joins by a line in `PROVIDERS`: a context manager that yields it, not yet open.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

import pytest
from tests.support.real_server import why_not_local

from perdure.base import canonical
from perdure.base.errors import UsageError
from perdure.base.text import storable
from perdure.inference.asking import Outcome, ask_once
from perdure.inference.baseline import BaselineProvider
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.local import (
    LocalProvider,
    LocalSettings,
    LocalVectorProvider,
    check_local,
    check_vectors,
)
from perdure.inference.local.batch import Batch
from perdure.inference.local.onnx_vectors import OnnxVectors
from perdure.inference.local.openvino_batch import OpenVinoBatch
from perdure.inference.provider import Provider
from perdure.inference.running_clock import RunningClock
from perdure.inference.scripted import ScriptedProvider
from perdure.records.baseline_rule import BaselineRule, Distance
from perdure.records.facts import PersonaFacts
from perdure.records.increment import Increment, Said
from perdure.records.persona import Choice
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Message,
    Reply,
    Vectors,
)
from perdure.records.scenario import ModelPin, Question
from perdure.testing import MisbehavingServer

T = TypeVar("T")


@contextlib.contextmanager
def scripted() -> Iterator[Provider]:
    """Say the same to everybody."""
    yield ScriptedProvider(lambda _request: "I agree.")


@contextlib.contextmanager
def over_http() -> Iterator[Provider]:
    """Talk to a well-behaved endpoint on loopback."""
    with MisbehavingServer() as server:
        settings = HttpSettings(base_url=server.base_url)
        pin = ModelPin(provider="http", model="test-model")
        yield HttpProvider(settings, pin, environment={})


@contextlib.contextmanager
def by_rule() -> Iterator[Provider]:
    """Answer by a rule of the study."""
    rule = BaselineRule(distance=Distance(own="self", placements={"a": "at_a", "b": "at_b"}))
    yield BaselineProvider(rule)


@functools.cache
def weights_in_memory() -> Batch:
    """Load the local model once for all tests: it takes seconds."""
    return OpenVinoBatch(check_local(LOCAL), LOCAL)


@contextlib.contextmanager
def on_this_machine() -> Iterator[Provider]:
    """Run a language model here, if its weights are installed."""
    if reason := why_not_local():
        pytest.skip(reason)
    yield LocalProvider(LOCAL, batch=weights_in_memory)


@functools.cache
def vectors_in_memory() -> OnnxVectors:
    """Load the local model of vectors once for all tests."""
    return OnnxVectors(check_vectors())


@contextlib.contextmanager
def vectors_on_this_machine() -> Iterator[Provider]:
    """Run a model of vectors here, if its files are installed."""
    try:
        check_vectors()
    except UsageError as fault:
        pytest.skip(str(fault))
    yield LocalVectorProvider(load=vectors_in_memory)


LOCAL = LocalSettings(prompt_tokens_max=512, cache_tokens=8_192)
PROVIDERS: dict[str, Callable[[], AbstractContextManager[Provider]]] = {
    "scripted": scripted,
    "http": over_http,
    "baseline": by_rule,
    "local": on_this_machine,
    "local vectors": vectors_on_this_machine,
}
CHOICES = (Choice(id="a", label="Ann"), Choice(id="b", label="Bo"))
REQUEST = ChatRequest(
    role="tier_a",
    messages=(
        Message(role="system", content="You are 47 years old."),
        Message(role="user", content="Do you agree?"),
    ),
    tokens_max=8,
    temperature=0.7,
    seed=11,
    facts=PersonaFacts(
        persona="p1",
        attributes={"self": 2, "at_a": 2, "at_b": 6},
        question=Question(id="vote", text="Whom do you choose?", choices=CHOICES),
    ),
)


EMBED_REQUEST = EmbedRequest(role="embed", texts=("one", "two", "one"))


async def answer(provider: Provider) -> Reply | Vectors | Failure:
    """Ask for what a provider is made for: words, or else vectors."""
    said = await provider.chat(REQUEST, 30.0)
    if isinstance(said, Failure) and said.cause is FailureCause.UNSUPPORTED:
        return await provider.embed(EMBED_REQUEST, 30.0)
    return said


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """Give each provider in turn, not yet open."""
    with PROVIDERS[request.param]() as made:
        yield made


def opened(provider: Provider, use: Callable[[], Awaitable[T]]) -> T:
    """Use a provider from its opening to its closing, in a time that only a hang exceeds."""

    async def bounded() -> T:
        async with asyncio.timeout(60):
            await provider.open()
            try:
                return await use()
            finally:
                await provider.close()

    return asyncio.run(bounded())


def test_it_has_one_of_the_known_names(provider: Provider) -> None:
    """The name is what a study file says."""
    assert provider.name in {"baseline", "http", "local", "scripted"}


def test_it_answers_in_words_that_can_be_stored(provider: Provider) -> None:
    """An answer is a reply with text and the name of who gave it, or a named failure."""
    outcome = opened(provider, lambda: provider.chat(REQUEST, 30.0))
    assert isinstance(outcome, Reply | Failure)
    if isinstance(outcome, Reply):
        assert outcome.text == storable(outcome.text)
        assert outcome.served
    assert canonical.encode(outcome)


def test_it_answers_many_at_once_and_each_in_full(provider: Provider) -> None:
    """Calls that overlap do not disturb each other."""

    async def many() -> list[Reply | Vectors | Failure]:
        return await asyncio.gather(*(answer(provider) for _ in range(8)))

    outcomes = opened(provider, many)
    assert len(outcomes) == 8
    assert all(isinstance(outcome, Reply | Vectors) for outcome in outcomes)


def test_what_it_tells_while_it_speaks_is_what_it_says(provider: Provider) -> None:
    """Watched or not, the outcome is the same; what is told under way makes up its text."""
    if provider.name == "local":
        pytest.skip("it tells its reply in one piece, like any that cannot stream")
    told: list[Increment] = []

    async def twice() -> list[Outcome]:
        running = RunningClock()
        watched = await ask_once(provider, REQUEST, 30.0, running, told.append)
        return [watched, await ask_once(provider, REQUEST, 30.0, running)]

    watched, plain = opened(provider, twice)
    assert watched == plain
    assert isinstance(watched, Reply)
    assert "".join(one.text for one in told if isinstance(one, Said)) == watched.text


def test_it_embeds_or_says_that_it_does_not(provider: Provider) -> None:
    """A provider gives a vector per text, in order and of one length, or is not made for it."""
    outcome = opened(provider, lambda: provider.embed(EMBED_REQUEST, 30.0))
    if isinstance(outcome, Failure):
        assert outcome.cause is FailureCause.UNSUPPORTED
    else:
        assert isinstance(outcome, Vectors)
        assert len({len(vector) for vector in outcome.vectors}) == 1
        assert outcome.vectors[0] == outcome.vectors[2] != outcome.vectors[1]
        assert canonical.encode(outcome)


def test_a_call_that_is_cancelled_leaves_the_next_ones_alone(provider: Provider) -> None:
    """After a cancelled call the provider answers as if there had been none."""

    async def cancel_one() -> Reply | Vectors | Failure:
        task = asyncio.ensure_future(answer(provider))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return await answer(provider)

    assert isinstance(opened(provider, cancel_one), Reply | Vectors)
