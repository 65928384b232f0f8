"""That a real OpenAI-compatible server answers over the same weights as the local model."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.real_server import MODEL, real_server, why_not

from perdure.base.errors import KeyOrModelRefusedError
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.records.request import ChatRequest, Failure, Message, Reply
from perdure.records.scenario import ModelPin

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Run one server for all tests of this file."""
    with real_server() as url:
        yield url


def post(url: str, body: dict[str, Any]) -> Any:
    """Send a body with a plain client and give the decoded answer."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_a_chat_completion_has_text_and_usage_that_adds_up(base_url: str) -> None:
    """A plain client gets words, the model's name, and token counts that add up."""
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Name one colour."}],
        "max_tokens": 12,
        "seed": 5,
        "temperature": 0.0,
    }
    answer = post(f"{base_url}/chat/completions", body)
    usage = answer["usage"]
    assert answer["model"] == MODEL
    assert answer["choices"][0]["message"]["content"].strip()
    assert answer["choices"][0]["finish_reason"] in {"stop", "length"}
    assert 0 < usage["completion_tokens"] <= 12
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]


def test_a_malformed_request_is_refused_as_a_client_error(base_url: str) -> None:
    """A real server's refusal has a 4xx status, so that a client can be tested against it."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(f"{base_url}/chat/completions", {"model": MODEL})
    with refused.value as response:
        assert 400 <= response.code < 500


def test_the_http_provider_gets_replies_with_usage_from_it(base_url: str) -> None:
    """Our own client finds the model, gets several replies at once, and reads their usage."""
    pin = ModelPin(provider="http", model=MODEL)
    provider = HttpProvider(HttpSettings(base_url=base_url), pin)
    requests = [
        ChatRequest(
            role="tier_a",
            messages=(Message(role="user", content=f"Say something nice about the number {n}."),),
            tokens_max=10,
            temperature=0.7,
            seed=n,
        )
        for n in range(4)
    ]

    async def run() -> list[Reply | Failure]:
        await provider.open()
        try:
            await provider.check()
            return await asyncio.gather(*(provider.chat(request, 60.0) for request in requests))
        finally:
            await provider.close()

    for reply in asyncio.run(run()):
        assert isinstance(reply, Reply)
        assert reply.text.strip()
        assert reply.served == MODEL
        assert reply.usage is not None
        assert 0 < reply.usage.output <= 10
        assert reply.usage.input_fresh + reply.usage.cache_read > 10


def test_the_http_provider_names_a_model_that_the_server_does_not_have(base_url: str) -> None:
    """A model that is not listed stops before anything is asked."""
    provider = HttpProvider(
        HttpSettings(base_url=base_url), ModelPin(provider="http", model="another-model")
    )

    async def run() -> None:
        await provider.open()
        try:
            await provider.check()
        finally:
            await provider.close()

    with pytest.raises(KeyOrModelRefusedError):
        asyncio.run(run())
