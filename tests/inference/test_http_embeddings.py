"""That vectors over HTTP are whole and paid for, or a named failure: against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.offer import worst_case
from perdure.inference.retry import RetryPolicy
from perdure.inference.settlement import tokens_of
from perdure.records.request import CallKey, CallResult, EmbedRequest, FailureCause, Vectors
from perdure.records.scenario import ModelPin
from perdure.records.usage import CostSource, Price, Usage
from perdure.testing import FAULTS, Exchange, Fault, MisbehavingServer, SkippingClock
from perdure.testing.replies import embedding_of, to_bytes

TEXTS = ("one price for any ride", "short rides become dearer", "")
REQUEST = EmbedRequest(role="embed", texts=TEXTS)
KEY = CallKey(world="0123456789ab", tick=1, job=-1, purpose="rank", ordinal=0)
# A price per token; an output would be dear, and there must be none.
PRICE = Price(input_fresh=20_000_000, output=10**15)
GOOD = tuple(tuple(embedding_of(text)) for text in TEXTS)
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    """Give one server to all tests of this file."""
    with MisbehavingServer(hang_s=20.0) as running:
        yield running


def embed(server: MisbehavingServer, request: EmbedRequest = REQUEST) -> tuple[CallResult, int]:
    """Make one call through the inference host; say how much it read of what came."""
    provider = HttpProvider(
        HttpSettings(base_url=server.base_url),
        ModelPin(provider="http", model="vectors-1"),
        environment={},
        clock=SkippingClock(),
    )
    host = InferenceHost(
        {"embed": Respondent(provider, PRICE)},
        retry=RetryPolicy(attempts_max=3, attempt_s=20.0),
        clock=SkippingClock(),
    )

    async def call() -> CallResult:
        await host.open()
        try:
            return await host.call(KEY, request)
        finally:
            await host.close()

    return asyncio.run(call()), provider.bytes_read


def play_once(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch, make: Callable[[bytes], bytes]
) -> None:
    """Let the server change its next reply."""

    async def play(exchange: Exchange) -> None:
        await exchange.reply(make(exchange.good_body))

    monkeypatch.setitem(FAULTS, "own", Fault("own", "content", "a changed reply", play))
    server.play({server.calls: "own"})


def changed(change: Change) -> Callable[[bytes], bytes]:
    """Change a good reply as a tree."""

    def make(body: bytes) -> bytes:
        tree = msgspec.json.decode(body)
        change(tree)
        return to_bytes(tree)

    return make


def written(number: bytes) -> Callable[[bytes], bytes]:
    """Write something else for the first number of the first vector."""

    def make(body: bytes) -> bytes:
        head, _, rest = body.partition(b'"embedding":[')
        _, _, tail = rest.partition(b",")
        return head + b'"embedding":[' + number + b"," + tail

    return make


def test_good_vectors_arrive_in_the_order_of_the_texts(server: MisbehavingServer) -> None:
    """One vector per text, an empty one too; it is paid by its tokens in, and nothing else."""
    met = len(server.requests)
    server.play({})
    result, _ = embed(server)
    answer = result.answer
    assert isinstance(answer, Vectors)
    assert answer.vectors == GOOD
    (attempt,) = result.attempts
    assert attempt.usage is not None
    assert attempt.usage == Usage(input_fresh=attempt.usage.input_fresh)
    assert (attempt.source, attempt.charged) == (CostSource.PRICE_TABLE, None)
    assert attempt.amount == attempt.usage.input_fresh * 20
    seen = server.requests[met]
    assert seen.path.endswith("/embeddings")
    assert seen.body == {"model": "vectors-1", "input": list(TEXTS), "encoding_format": "float"}


BROKEN: dict[str, tuple[Callable[[bytes], bytes], FailureCause]] = {
    "one too few": (changed(lambda tree: tree["data"].pop()), FailureCause.BAD_REPLY),
    "one too many": (
        changed(lambda tree: tree["data"].append({"index": 3, "embedding": [0.5] * 8})),
        FailureCause.BAD_REPLY,
    ),
    "one twice": (
        changed(lambda tree: tree["data"][1].update(index=0)),
        FailureCause.BAD_REPLY,
    ),
    "none": (changed(lambda tree: tree.update(data=[])), FailureCause.BAD_REPLY),
    "unequal lengths": (
        changed(lambda tree: tree["data"][1]["embedding"].pop()),
        FailureCause.BAD_REPLY,
    ),
    "empty vectors": (
        changed(lambda tree: [one.update(embedding=[]) for one in tree["data"]]),
        FailureCause.BAD_REPLY,
    ),
    "all zeros": (
        changed(lambda tree: tree["data"][1].update(embedding=[0.0] * 8)),
        FailureCause.BAD_REPLY,
    ),
    "zeros in 32 bits": (
        changed(lambda tree: tree["data"][2].update(embedding=[1e-60] * 8)),
        FailureCause.BAD_REPLY,
    ),
    "not a number": (written(b"NaN"), FailureCause.BAD_REPLY),
    "null": (written(b"null"), FailureCause.BAD_REPLY),
    "infinite": (written(b"1e999"), FailureCause.BAD_REPLY),
    "beyond 32 bits": (written(b"1e39"), FailureCause.BAD_REPLY),
    "base64": (
        changed(lambda tree: tree["data"][0].update(embedding="AAAAPw==")),
        FailureCause.BAD_REPLY,
    ),
    "cut short": (lambda body: body[:-20], FailureCause.BAD_REPLY),
    "another model": (
        changed(lambda tree: tree.update(model="other-2")),
        FailureCause.WRONG_MODEL,
    ),
    "a huge body": (
        changed(lambda tree: tree.update(note="x" * 50_000_000)),
        FailureCause.REPLY_TOO_LARGE,
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_vectors_that_are_not_whole_are_a_failure_and_charged(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nothing is filled in or cut off: no vectors, one attempt, and what it may have cost at most.

    The most is that of its input: an embedding says nothing.
    """
    make, cause = BROKEN[name]
    play_once(server, monkeypatch, make)
    result, bytes_read = embed(server)
    assert result.answer is None
    (attempt,) = result.attempts
    assert attempt.failed is cause
    worst = worst_case(REQUEST)
    assert worst.output == 0
    assert attempt.amount is not None
    assert 0 < attempt.amount <= tokens_of(worst) * 20
    assert bytes_read < 9 * 1024 * 1024


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("status_429", FailureCause.RATE_LIMITED),
        ("status_503", FailureCause.SERVER_ERROR),
        ("reset_mid_body", FailureCause.TRANSPORT),
    ],
)
def test_a_passing_fault_is_tried_again(
    server: MisbehavingServer, fault: str, cause: FailureCause
) -> None:
    """What a chat call gets over, an embedding gets over, and the vectors are the same."""
    server.play({server.calls: fault})
    result, _ = embed(server)
    assert [attempt.failed for attempt in result.attempts] == [cause, None]
    assert isinstance(result.answer, Vectors)
    assert result.answer.vectors == GOOD
    released = result.attempts[0].amount == 0
    assert released is (cause is FailureCause.RATE_LIMITED)


def test_a_usage_with_an_output_cannot_be(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors whose usage speaks of output tokens are vectors, and charged at most, not by it."""
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    play_once(server, monkeypatch, changed(lambda tree: tree.update(usage=usage)))
    result, _ = embed(server)
    assert isinstance(result.answer, Vectors)
    (attempt,) = result.attempts
    assert attempt.usage_impossible
    assert attempt.charged == worst_case(REQUEST)
    assert attempt.amount == tokens_of(worst_case(REQUEST)) * 20
