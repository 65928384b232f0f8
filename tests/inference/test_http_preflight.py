"""That a wrong key, an unknown model or an absent endpoint is one sentence before a run."""

from __future__ import annotations

import asyncio

import pytest

from perdure.base.errors import (
    EndpointUnreachableError,
    KeyOrModelRefusedError,
    PerdureError,
    ProviderPausedError,
)
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.http.preflight import verdict
from perdure.inference.http.transport import Answer
from perdure.records.scenario import ModelPin
from perdure.testing import ENDPOINT_FAULTS, MisbehavingServer

PIN = ModelPin(provider="http", model="gpt-4o")


async def check(base_url: str, pin: ModelPin = PIN) -> None:
    """Check an endpoint, as a run does before it creates anything."""
    settings = HttpSettings(base_url=base_url, key_env="K", connect_s=0.25, check_s=5.0)
    provider = HttpProvider(settings, pin, environment={"K": "sk-0123456789"})
    await provider.open()
    try:
        await provider.check()
    finally:
        await provider.close()


def test_a_good_endpoint_passes_and_nothing_is_asked_of_a_model() -> None:
    """The check makes one GET request, and no call."""
    with MisbehavingServer(models=("gpt-4o", "other")) as server:
        asyncio.run(check(server.base_url))
        assert [(seen.method, seen.path) for seen in server.requests] == [("GET", "/v1/models")]
        assert server.calls == 0


def test_an_unknown_model_is_named_with_those_that_are_known() -> None:
    """The sentence says which model is not there, where, and what there is."""
    with (
        MisbehavingServer(models=("small", "large\x1b[2J")) as server,
        pytest.raises(KeyOrModelRefusedError) as refused,
    ):
        asyncio.run(check(server.base_url))
    sentence = str(refused.value)
    assert "gpt-4o" in sentence
    assert "small" in sentence
    assert "\x1b" not in sentence
    assert server.base_url in sentence


def test_a_refused_key_is_said() -> None:
    """The check ends in the error that stops a run."""
    with (
        MisbehavingServer(key="another") as server,
        pytest.raises(KeyOrModelRefusedError, match="refused the key"),
    ):
        asyncio.run(check(server.base_url))


@pytest.mark.parametrize("fault", ENDPOINT_FAULTS)
def test_an_endpoint_that_is_not_there_is_said(fault: str) -> None:
    """Each way of not being there is the same typed error, with the address."""
    with MisbehavingServer() as server:
        base_url = server.endpoint(fault)
        with pytest.raises(EndpointUnreachableError) as met:
            asyncio.run(check(base_url))
    assert base_url in str(met.value)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, b'{"data":[{"id":"gpt-4o-2024-08-06"}]}', None),
        (200, b'{"data":[{"id":"models/gpt-4o"}]}', None),
        (200, b'{"data":[]}', None),
        (200, b'{"data":[{"id":"other"}],"has_more":true}', None),
        (200, b'{"data":[{"id":"other"}]}', KeyOrModelRefusedError),
        (200, b"<html>", None),
        (200, b'{"data":' + b"[" * 90_000, None),
        (404, b"", None),
        (405, b"", None),
        (429, b"", None),
        (500, b"", None),
        (401, b"", KeyOrModelRefusedError),
        (403, b"", KeyOrModelRefusedError),
        (402, b"", ProviderPausedError),
        (301, b"", EndpointUnreachableError),
        (503, b"", EndpointUnreachableError),
    ],
)
def test_only_what_speaks_against_a_run_stops_it(
    status: int, body: bytes, error: type[PerdureError] | None
) -> None:
    """An endpoint that has no list of models, or a partial one, is not refused for it."""
    met = verdict(Answer(status, None, body), PIN, "http://x/v1")
    assert met is None if error is None else type(met) is error
