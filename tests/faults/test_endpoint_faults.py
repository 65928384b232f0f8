"""That every fault of an endpoint ends as healed, as a named failure, or as a named stop.

A small "run" of three calls goes through the inference host to a real server on loopback, which
plays one fault at the first, the middle or the last call. Never does a reply appear that the model
did not give, and never does a call hang.
"""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.expected import EXPECTED, Expected

from perdure.base import canonical
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.retry import RETRIED, STOPS_RUN, RetryPolicy
from perdure.records.request import (
    CallKey,
    CallResult,
    ChatRequest,
    FailureCause,
    Message,
    Reply,
)
from perdure.records.scenario import ModelPin
from perdure.records.usage import CostSource, Price
from perdure.testing import (
    ENDPOINT_FAULTS,
    FAULTS,
    Exchange,
    Fault,
    MisbehavingServer,
    SkippingClock,
)
from perdure.testing.faults_transport import STALE_TEXT

KEY = "sk-test-0123456789abcdef"
CALLS = 3
ATTEMPTS = 3
PLACES = {"first": 0, "middle": 1, "last": 2}
SLOW = {name for name, end in EXPECTED.items() if end.cause is FailureCause.TIMEOUT}
# Long enough for a reset to arrive before the connection is used again.
PAUSES = {"reset_after": 0.4}
PRICE = Price(input_fresh=150_000_000, output=600_000_000)


def said(request: dict[str, object]) -> str:
    """Answer each call with its own text, so that a reply to another call would show."""
    messages = request["messages"]
    assert isinstance(messages, list)
    return f"This is the answer to: {messages[-1]['content']}"


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    """Give one server to all tests of this file."""
    with MisbehavingServer(responder=said, key=KEY, hang_s=20.0) as running:
        yield running


def provider_at(base_url: str, *, reuse: bool = True) -> HttpProvider:
    """Make a provider that gives up soon on a connection."""
    settings = HttpSettings(base_url=base_url, key_env="K", connect_s=0.25, reuse_connections=reuse)
    pin = ModelPin(provider="http", model="test-model")
    return HttpProvider(settings, pin, environment={"K": KEY}, clock=SkippingClock())


def question(index: int) -> ChatRequest:
    """Ask something that no other call asks."""
    message = Message(role="user", content=f"question {index}")
    return ChatRequest(role="tier_a", messages=(message,), tokens_max=50)


def key(index: int) -> CallKey:
    """Name a call of the run."""
    return CallKey(world="0123456789ab", tick=1, job=index, purpose="turn", ordinal=0)


async def run(provider: HttpProvider, *, attempt_s: float, pause_s: float = 0) -> list[CallResult]:
    """Make the calls one after another, as a run of one persona would."""
    retry = RetryPolicy(attempts_max=ATTEMPTS, attempt_s=attempt_s)
    host = InferenceHost(
        {"tier_a": Respondent(provider, PRICE)}, retry=retry, clock=SkippingClock()
    )
    await host.open()
    try:
        results = []
        for index in range(CALLS):
            results.append(await host.call(key(index), question(index)))
            await asyncio.sleep(pause_s)
        assert host.stats().in_flight == 0
        return results
    finally:
        await host.close()


def assert_good(result: CallResult, index: int, expected: Expected) -> None:
    """Assert that a reply is the model's own words to this very question, and can be stored."""
    answer = result.answer
    assert isinstance(answer, Reply)
    own = said({"messages": [{"content": f"question {index}"}]})
    assert answer.text == (own if expected.text is None else expected.text)
    assert STALE_TEXT not in answer.text
    assert answer.finish is expected.finish
    assert (answer.usage is not None) is expected.has_usage
    assert answer.usage_impossible is expected.usage_impossible
    last = result.attempts[-1]
    # Without a usage that can be true it is charged the most that it may have cost.
    assert (last.charged is None) is expected.has_usage
    assert (last.source is CostSource.ESTIMATE) is (not expected.has_usage)
    assert canonical.encode(result)


def assert_expected(result: CallResult, index: int, expected: Expected) -> None:
    """Assert that a call which met a fault ended as the table says."""
    causes = [attempt.failed for attempt in result.attempts]
    if expected.end == "unharmed":
        assert causes == [None]
        assert_good(result, index, expected)
    elif expected.end == "healed":
        assert causes == [expected.cause, None]
        assert_good(result, index, expected)
    else:
        assert causes == [expected.cause]
        assert result.answer is None


def test_every_fault_has_an_expected_end() -> None:
    """The table of expectations and the server's table of faults name the same faults."""
    assert set(EXPECTED) == set(FAULTS)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fault", EXPECTED)
def test_one_fault_ends_as_the_table_says(
    server: MisbehavingServer, fault: str, place: str
) -> None:
    """One fault at the first, middle or last call is healed, or fails or stops with its cause."""
    expected = EXPECTED[fault]
    met, position = server.calls, PLACES[place]
    server.play({met + position: fault})
    # A late answer on an idle connection can only be told apart by not using the connection again.
    provider = provider_at(server.base_url, reuse=fault != "answered_again_later")
    results = asyncio.run(
        run(provider, attempt_s=1.0 if fault in SLOW else 20.0, pause_s=PAUSES.get(fault, 0))
    )
    sent = 0
    for index, result in enumerate(results):
        if index == position:
            assert_expected(result, index, expected)
            sent += len(result.attempts)
        elif expected.end == "stopped" and index > position:
            assert [attempt.failed for attempt in result.attempts] == [expected.cause]
            assert result.answer is None
        else:
            assert_good(result, index, Expected("unharmed"))
            sent += len(result.attempts)
    assert server.calls - met == sent, "what was sent and what was recorded differ"
    assert provider.bytes_read < 9 * 1024 * 1024


PERSISTENT = sorted(
    name
    for name, expected in EXPECTED.items()
    if expected.end == "healed" and name not in SLOW - {"stall", "drip_body"}
)


@pytest.mark.parametrize("fault", PERSISTENT)
def test_a_fault_that_stays_ends_each_call_with_its_cause(
    server: MisbehavingServer, fault: str
) -> None:
    """A fault that does not go away ends every call after the last attempt, and none for ever."""
    server.play(fault)
    attempt_s = 0.15 if fault in SLOW else 20.0
    results = asyncio.run(run(provider_at(server.base_url), attempt_s=attempt_s))
    for result in results:
        assert result.answer is None
        assert [attempt.failed for attempt in result.attempts] == [EXPECTED[fault].cause] * ATTEMPTS


@pytest.mark.parametrize("fault", ENDPOINT_FAULTS)
def test_an_unreachable_endpoint_fails_each_call_unsent(
    server: MisbehavingServer, fault: str
) -> None:
    """Refused, unknown, not TLS, or never accepted: nothing was sent, so nothing was paid."""
    met = server.calls
    results = asyncio.run(run(provider_at(server.endpoint(fault)), attempt_s=5.0))
    for result in results:
        assert result.answer is None
        assert [attempt.failed for attempt in result.attempts] == [FailureCause.CONNECT] * ATTEMPTS
        assert {attempt.amount for attempt in result.attempts} == {0}
    assert server.calls == met


@pytest.mark.parametrize("fault", ["answered_twice", "answered_again_later", "same_answer_twice"])
def test_an_unasked_reply_is_dropped_with_its_connection(
    server: MisbehavingServer, fault: str
) -> None:
    """A reply that nobody waits for ends its connection, and is never given to the next call."""
    met = server.calls
    server.play({met: fault})
    results = asyncio.run(run(provider_at(server.base_url), attempt_s=20.0, pause_s=0.4))
    for index, result in enumerate(results):
        assert_good(result, index, Expected("unharmed"))


def test_a_reply_after_the_deadline_is_never_given_to_another_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reply to a call that timed out arrives later, and the next calls get their own."""

    async def when_it_is_asked_again(exchange: Exchange) -> None:
        while late.calls <= exchange.seen.index + 1:  # noqa: ASYNC110 - a count, no event
            await asyncio.sleep(0.01)
        await exchange.reply(exchange.good_body)

    fault = Fault("late", "transport", "a good reply, too late", when_it_is_asked_again)
    monkeypatch.setitem(FAULTS, "late", fault)
    with MisbehavingServer(responder=said) as late:
        late.play({0: "late", 2: "late"})
        results = asyncio.run(run(provider_at(late.base_url), attempt_s=1.0, pause_s=0.15))
    assert [len(result.attempts) for result in results] == [2, 2, 1]
    for index, result in enumerate(results):
        assert_good(result, index, Expected("unharmed"))


def test_no_encoding_is_asked_for_and_the_key_is_sent(server: MisbehavingServer) -> None:
    """A request carries the key and the sampling settings, and never the facts of a persona."""
    met = len(server.requests)
    server.play({})
    asyncio.run(run(provider_at(server.base_url), attempt_s=20.0))
    seen = server.requests[met]
    assert seen.key == KEY
    assert "accept-encoding" not in seen.headers
    assert set(seen.body) == {"model", "messages", "max_tokens", "temperature", "seed"}


def test_an_untrusted_certificate_is_refused(tmp_path: Path) -> None:
    """An endpoint whose certificate nobody vouches for is not reached, and sees no key."""
    certificate, secret = tmp_path / "cert.pem", tmp_path / "key.pem"
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("openssl is not installed")
    wanted = f"req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {secret} -out {certificate}"
    named = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, *wanted.split(), *named], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    with MisbehavingServer(tls=context) as secure:
        results = asyncio.run(run(provider_at(secure.base_url), attempt_s=5.0))
        assert not secure.requests
    assert {result.failed for result in results} == {FailureCause.CONNECT}


def test_the_policy_and_the_table_agree() -> None:
    """Every healed fault has a cause that is retried, and every stop one that stops the run."""
    for expected in EXPECTED.values():
        if expected.cause is not None:
            assert (expected.end == "healed") is (expected.cause in RETRIED)
            assert (expected.end == "stopped") is (expected.cause in STOPS_RUN)
