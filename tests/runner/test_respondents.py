"""Each model of a run has its own patience; what may be in flight is the limit of who speaks."""

from __future__ import annotations

import asyncio
from typing import Any

from perdure.inference.limits import Limits
from perdure.records.request import (
    CallKey,
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Message,
)
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.runner import respondents

REFUSES = Failure(cause=FailureCause.CONNECT)
KEY = CallKey(world="0123456789ab", tick=0, job=0, purpose="turn", ordinal=0)


class Unreachable:
    """A model that nobody reaches."""

    name = "http"

    async def chat(self, _request: ChatRequest, _timeout_s: float) -> Failure:
        return REFUSES

    async def embed(self, _request: EmbedRequest, _timeout_s: float) -> Failure:
        return REFUSES


def model(name: str, **limits: Any) -> ModelSpec:
    """Give a model that is sent to, with limits of its own."""
    return ModelSpec(pin=ModelPin(provider="http", model=name), endpoint=Endpoint(**limits))


def test_the_speaking_model_is_not_asked_by_the_patience_of_another(monkeypatch: Any) -> None:
    """A record names `embed` before `tier_a`: each is tried as often as it says itself."""
    monkeypatch.setattr(respondents, "provider_for", lambda _spec, _currency: Unreachable())
    models = {
        "embed": model("vectors", retries_max=1, concurrency_max=2),
        "tier_a": model("speaks", retries_max=0, concurrency_max=64, requests_per_minute=600),
    }
    host = respondents.host_for(models, "USD")
    asked = ChatRequest(role="tier_a", messages=(Message(role="user", content="?"),), tokens_max=8)
    vectors = EmbedRequest(role="embed", texts=("a",))
    assert len(asyncio.run(host.call(KEY, asked)).attempts) == 1
    assert len(asyncio.run(host.call(KEY, vectors)).attempts) == 2
    assert host._limits == Limits(in_flight_max=64, requests_per_minute=600)
