"""That a reply which is shown while it is said is whole or a named failure, over real sockets.

What is told under way is a beginning of the reply, and a stream that breaks off is never a shorter
answer: it is told as far as it came, and then failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.faults.expected import EXPECTED

from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.provider import Streaming
from perdure.records.increment import Increment, Said
from perdure.records.request import ChatRequest, Failure, FailureCause, Message, Reply
from perdure.records.scenario import ModelPin
from perdure.records.tools import ToolCall, ToolSpec
from perdure.testing import FAULTS, STREAM_FAULTS, MisbehavingServer, SkippingClock

TEXT = "The answer is \u2603 \U0001f600, and it takes some words to say so."
LIMIT_S = 1.0
IDLE_S = 0.4
REQUEST = ChatRequest(
    role="tier_a", messages=(Message(role="user", content="question"),), tokens_max=50
)
WHOLE = (
    *("finish_without_done", "done_unended", "comments", "other_fields", "crlf", "bom"),
    *("multi_line", "no_space", "bytes", "crlf_bytes", "after_done", "stream_model_first"),
    *("stall_after_done", "in_one_piece", "empty_object", "usage_never"),
)
CAUSES: dict[str, FailureCause] = {
    **dict.fromkeys(
        (
            *("cut_at_once", "cut_between", "cut_inside", "cut_by_reset", "cut_after_finish"),
            *("end_without_finish", "done_without_finish", "empty_stream", "done_only"),
        ),
        FailureCause.TRANSPORT,
    ),
    **dict.fromkeys(("error_inside", "error_named"), FailureCause.SERVER_ERROR),
    "limit_inside": FailureCause.RATE_LIMITED,
    **dict.fromkeys(
        (
            *("not_json", "not_utf8", "json_nan_inside", "key_twice_inside", "null_event"),
            "no_stream",
            *("stream_model_moves", "stream_two_choices", "text_after_finish"),
        ),
        FailureCause.BAD_REPLY,
    ),
    "stream_model_wrong": FailureCause.WRONG_MODEL,
    **dict.fromkeys(("stream_stall", "trickle", "alive_for_ever"), FailureCause.TIMEOUT),
    **dict.fromkeys(("endless_stream", "huge_event"), FailureCause.REPLY_TOO_LARGE),
}


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    """Give one server to all tests of this file."""
    with MisbehavingServer(responder=lambda _: TEXT, hang_s=20.0) as running:
        yield running


def provider_at(server: MisbehavingServer) -> HttpProvider:
    """Make a provider that gives up soon on a stream that says nothing."""
    settings = HttpSettings(
        base_url=server.base_url, connect_s=0.25, idle_s=IDLE_S, reply_bytes_max=1 << 20
    )
    pin = ModelPin(provider="http", model="test-model")
    return HttpProvider(settings, pin, environment={}, clock=SkippingClock())


def ask(
    server: MisbehavingServer, *faults: str | None, limit_s: float = 20.0
) -> list[tuple[Reply | Failure, list[Increment]]]:
    """Ask as often as there are faults, one played for each; give what came of it and was told."""
    met = server.calls
    server.play({met + place: name for place, name in enumerate(faults) if name})
    provider = provider_at(server)
    assert isinstance(provider, Streaming)

    async def asked() -> list[tuple[Reply | Failure, list[Increment]]]:
        await provider.open()
        found = []
        for fault in faults:
            told: list[Increment] = []
            slow = fault in {"trickle", "alive_for_ever"}
            outcome = await provider.stream(REQUEST, LIMIT_S if slow else limit_s, told.append)
            found.append((outcome, told))
        await provider.close()
        return found

    return asyncio.run(asked())


def said(told: list[Increment]) -> str:
    """Put the text together that was told."""
    return "".join(one.text for one in told if isinstance(one, Said))


def test_every_fault_of_a_stream_has_an_expected_end() -> None:
    """The tables here and the server's table name the same faults."""
    assert {*WHOLE, *CAUSES} == set(STREAM_FAULTS)
    assert not set(STREAM_FAULTS) & set(FAULTS)


def test_a_stream_says_in_pieces_what_a_body_says_at_once(server: MisbehavingServer) -> None:
    """The reply is the one that comes without a stream, and is told while it comes."""

    async def plain() -> Reply | Failure:
        provider = provider_at(server)
        await provider.open()
        outcome = await provider.chat(REQUEST, 20.0)
        await provider.close()
        return outcome

    ((outcome, told),) = ask(server, None)
    assert outcome == asyncio.run(plain())
    assert isinstance(outcome, Reply)
    assert outcome.usage is not None
    assert said(told) == TEXT
    assert len(told) > 5
    asked, bare = (seen.body for seen in server.requests[-2:])
    assert asked.pop("stream") is True
    assert asked.pop("stream_options") == {"include_usage": True}
    assert asked == bare


@pytest.mark.parametrize("fault", WHOLE)
def test_a_whole_stream_is_a_whole_reply(server: MisbehavingServer, fault: str) -> None:
    """However it is written, cut into packets and ended: the text, all of it, and the next too."""
    for outcome, told in ask(server, fault, None):
        assert isinstance(outcome, Reply), outcome
        assert outcome.text == said(told) == TEXT
    (first, _), *_ = ask(server, fault)
    assert isinstance(first, Reply)
    assert (first.usage is None) is (fault == "usage_never")


@pytest.mark.parametrize("fault", CAUSES)
def test_a_broken_stream_is_a_failure_by_name(server: MisbehavingServer, fault: str) -> None:
    """Cut, contradictory, endless or silent: no reply, whatever was told before, and never a hang.

    The next call is answered as if there had been none.
    """
    (outcome, told), (after, _) = ask(server, fault, None)
    assert isinstance(outcome, Failure), outcome
    assert outcome.cause is CAUSES[fault]
    if fault not in {"stream_model_wrong", "endless_stream"}:
        assert TEXT.startswith(said(told))
    assert isinstance(after, Reply)
    if fault in {"stream_stall", "cut_between", "error_inside"}:
        assert said(told), "nothing was told while it was said"


def test_a_long_reply_in_one_piece_is_told_whole() -> None:
    """An endpoint that knows no streams is read to the end of its body, however long."""
    text = "x\u2603" * 100_000
    with MisbehavingServer(responder=lambda _: text) as own:
        ((outcome, told),) = ask(own, "in_one_piece")
    assert isinstance(outcome, Reply)
    assert outcome.text == said(told) == text


def test_a_failed_stream_is_charged_what_it_reported(server: MisbehavingServer) -> None:
    """Usage that came before a stream turned out to be no reply is on the failure."""
    ((outcome, _),) = ask(server, "stream_model_wrong")
    assert isinstance(outcome, Failure)
    assert outcome.usage is not None
    assert outcome.served == "other-2"
    ((cut, _),) = ask(server, "cut_between")
    assert isinstance(cut, Failure)
    assert cut.usage is None


STATUSES = [
    name
    for name, fault in FAULTS.items()
    if (fault.group == "status" and EXPECTED[name].end != "unharmed")
    or name in {"gzip_unasked", "encoding_unknown", "choices_two"}
]


@pytest.mark.parametrize("fault", STATUSES)
def test_an_error_is_the_same_error_to_whoever_wants_a_stream(
    server: MisbehavingServer, fault: str
) -> None:
    """Statuses, error bodies, waits and encodings are read as they are without a stream."""
    ((outcome, told),) = ask(server, fault)
    assert isinstance(outcome, Failure)
    assert outcome.cause is EXPECTED[fault].cause
    assert told == []


def test_calls_of_tools_are_told_before_the_reply_is_whole() -> None:
    """Over a socket: each call as soon as it is whole, and all of them in the reply."""
    calls = tuple(
        ToolCall(id=f"c{number}", name="look", arguments=f'{{"thing": "{number}\u2603"}}')
        for number in range(3)
    )
    spec = ToolSpec(name="look", description="Look.")
    request = ChatRequest(role="tier_a", messages=REQUEST.messages, tokens_max=50, tools=(spec,))
    told: list[Increment] = []

    async def asked(server: MisbehavingServer) -> Reply | Failure:
        provider = provider_at(server)
        await provider.open()
        outcome = await provider.stream(request, 20.0, told.append)
        await provider.close()
        return outcome

    with MisbehavingServer(responder=lambda _: calls) as own:
        outcome = asyncio.run(asked(own))
        own.play("cut_after_finish")
        cut = asyncio.run(asked(own))
    assert isinstance(outcome, Reply)
    assert outcome.calls == calls
    assert [one.call for one in told if not isinstance(one, Said)] == [*calls, *calls]
    assert isinstance(cut, Failure), "calls that were told do not make a cut stream whole"
