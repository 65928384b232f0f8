"""That every body is a reply or a named failure, never an exception, and can be recorded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.base import canonical
from perdure.inference.http.key import Key
from perdure.inference.http.reply import billed, read_chat, read_embeddings
from perdure.records.request import Failure, FailureCause, FinishReason, Reply, Vectors
from perdure.records.scenario import ModelPin
from perdure.records.usage import Usage
from perdure.testing import replies

PIN = ModelPin(provider="http", model="m")
KEY = Key("sk-0123456789")
GOOD = replies.to_bytes(replies.chat_tree("Yes, I would.", "m", {}))
VECTORS = replies.to_bytes(replies.embedding_tree(["a", "b"], "m"))


def chat(body: bytes) -> Reply | Failure:
    """Read a chat body; whatever comes of it can be recorded."""
    outcome = read_chat(body, PIN, KEY)
    assert isinstance(outcome, Reply | Failure)
    assert canonical.encode(outcome)
    return outcome


def embed(body: bytes) -> Vectors | Failure:
    """Read a body of two vectors; whatever comes of it can be recorded."""
    outcome = read_embeddings(body, 2, PIN, KEY)
    assert isinstance(outcome, Vectors | Failure)
    assert canonical.encode(outcome)
    return outcome


READ = (
    *("choices", "message", "content", "refusal", "finish_reason", "model", "usage", "error"),
    *("data", "embedding", "index", "prompt_tokens", "completion_tokens", "total_tokens", "code"),
)
KEYS = st.sampled_from(READ)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["m", "stop", "length", "content", "", "\x00", "m-2024-01-01", "429"])
    | st.text(max_size=6)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@st.composite
def spliced(draw: st.DrawFn, good: bytes) -> bytes:
    """Damage a good body: cut out a piece, and put others in its place."""
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(good))] * 2)))
    piece = draw(
        st.sampled_from([b"", b'"', b"{", b"}", b"[", b",", b":", b"null", b"-1", b"NaN", b"1e999"])
        | st.sampled_from([b'"\\ud800"', b"\\u0000", b"\xff", b"\xef\xbb\xbf", good, good[5:60]])
        | st.binary(max_size=8)
    )
    return good[:start] + piece + good[end:]


@given(st.binary(max_size=300) | spliced(GOOD) | TREES.map(replies.to_bytes))
@settings(max_examples=200)
@example(b'{"choices":[{"message":{"content":"a\\udfff"},"finish_reason":"stop"}],"model":"m"}')
@example(b'{"choices":[{"message":{"content":"a"}}],"model":"m","usage":{"prompt_tokens":1e999}}')
@example(b"[" * 100_000)
@example(b'{"usage":' + b'{"a":' * 5_000)
@example(b"9" * 10_000)
def test_every_chat_body_is_a_reply_or_a_failure(body: bytes) -> None:
    """No bytes, however damaged, raise or become a reply that cannot be recorded."""
    chat(body)


@given(st.binary(max_size=300) | spliced(VECTORS) | TREES.map(replies.to_bytes))
@settings(max_examples=100)
def test_every_embedding_body_is_vectors_or_a_failure(body: bytes) -> None:
    """Vectors come one per text, of one length and finite, or not at all."""
    outcome = embed(body)
    if isinstance(outcome, Vectors):
        assert len(outcome.vectors) == 2
        assert len(outcome.vectors[0]) == len(outcome.vectors[1]) > 0


@pytest.mark.parametrize("key", ["choices", "model", "usage", "object"])
def test_a_key_twice_is_no_reply(key: str) -> None:
    """Two values for one key are not settled by taking the last, at any depth."""
    tree = msgspec.json.decode(GOOD)
    doubled = GOOD[:-1] + b',"%s":%s}' % (key.encode(), msgspec.json.encode(tree[key]))
    if key == "object":  # a key that nobody reads decides nothing
        assert isinstance(chat(doubled), Reply)
    else:
        assert chat(doubled) == Failure(cause=FailureCause.BAD_REPLY, status=200)
    deeper = GOOD.replace(b'"content":', b'"content":"No.","content":')
    assert isinstance(chat(deeper), Failure)


def test_a_text_that_looks_like_keys_is_only_text() -> None:
    """A model that writes JSON in its answer is not taken for a broken one."""
    text = '{"content": "x", "choices": [], "usage": {}, "model": "other"} "content" content'
    for said in (text, "content", "model"):
        outcome = chat(replies.to_bytes(replies.chat_tree(said, "m", {})))
        assert isinstance(outcome, Reply)
        assert outcome.text == said


def changed(**choice: Any) -> Reply | Failure:
    """Read a good body whose only choice was changed."""
    tree = replies.chat_tree("Yes.", "m", {})
    tree["choices"][0].update(choice)
    return chat(replies.to_bytes(tree))


def test_a_refusal_is_a_reply_however_it_is_said() -> None:
    """Refusals, and texts cut by a filter, are final answers and marked as such."""
    for choice in (
        {"message": {"content": None, "refusal": "I cannot."}},
        {"message": {"content": "I cannot."}, "finish_reason": "content_filter"},
        {"message": {"content": "I cannot."}, "finish_reason": "SAFETY"},
    ):
        outcome = changed(**choice)
        assert isinstance(outcome, Reply)
        assert (outcome.text, outcome.finish) == ("I cannot.", FinishReason.REFUSAL)


def test_an_error_inside_a_choice_is_a_failure() -> None:
    """A provider that broke off in the middle has not answered, whatever text is there."""
    for choice in ({"error": {"code": 502}}, {"finish_reason": "error"}):
        outcome = changed(**choice)
        assert isinstance(outcome, Failure)
        assert outcome.cause is FailureCause.SERVER_ERROR


@pytest.mark.parametrize(("chance", "kept"), [(-0.1, -0.1), (1e-9, 0.0), (0.5, None), (9.0, None)])
def test_what_is_likelier_than_certain_is_no_log_probability(
    chance: float, kept: float | None
) -> None:
    """A reply keeps its text, and no first tokens that cannot be; a rounded 0 is a 0."""
    tree = replies.chat_tree("A", "m", {})
    token = {"token": "A", "logprob": chance, "top_logprobs": [{"token": "A", "logprob": chance}]}
    tree["choices"][0]["logprobs"] = {"content": [token]}
    reply = chat(replies.to_bytes(tree))
    assert isinstance(reply, Reply)
    assert reply.text == "A"
    assert [one.logprob for one in reply.first_tokens] == ([] if kept is None else [kept])


def test_vectors_are_put_in_the_order_of_their_indices() -> None:
    """An endpoint may answer in any order; what it leaves out or repeats is no answer."""
    tree = replies.embedding_tree(["a", "b"], "m")
    good = embed(replies.to_bytes(tree))
    tree["data"].reverse()
    assert embed(replies.to_bytes(tree)) == good
    for broken in (
        tree["data"][:1],
        tree["data"] * 2,
        [tree["data"][0]] * 2,
        [{**tree["data"][0], "embedding": [1.0]}, tree["data"][1]],
        [{**tree["data"][0], "embedding": []}, {**tree["data"][1], "embedding": []}],
        [{**tree["data"][0], "embedding": "AAAA"}, tree["data"][1]],
        [{**tree["data"][0], "index": -1}, tree["data"][1]],
    ):
        assert isinstance(embed(replies.to_bytes({**tree, "data": broken})), Failure)
    for number in (b"NaN", b"1e999", b"-1e999", b"1e39", b"Infinity"):
        body = VECTORS.replace(b'"embedding":[', b'"embedding":[' + number + b",")
        assert isinstance(embed(body), Failure)


def test_vectors_of_another_model_are_refused() -> None:
    """A served name that is not the pinned one fails an embedding as it fails a chat."""
    body = replies.to_bytes(replies.embedding_tree(["a", "b"], "other"))
    assert embed(body) == Failure(cause=FailureCause.WRONG_MODEL, status=200, served="other")
    error = replies.to_bytes(replies.error_tree("no", "insufficient_quota"))
    assert embed(error) == Failure(cause=FailureCause.OUT_OF_MONEY, status=200, detail="no")


@pytest.mark.parametrize(
    ("body", "usage"),
    [
        (b'{"error": "no", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}', (7, 2)),
        (b'{"usage": {"prompt_tokens": 7, "completion_tokens": 0}}', (7, 0)),
        (b'{"usage": {"prompt_tokens": 0, "completion_tokens": 0}}', None),
        (b'{"usage": {"prompt_tokens": -1}}', None),
        (b'{"error": "no"}', None),
        (b"<html>502</html>", None),
        (b"", None),
    ],
)
def test_a_failure_says_what_its_body_was_billed(body: bytes, usage: tuple[int, int] | None):
    """P5: an error that reports usage is charged it; one that reports nothing says nothing."""
    failure = billed(Failure(cause=FailureCause.SERVER_ERROR, status=500), body, has_output=True)
    assert failure.cause is FailureCause.SERVER_ERROR
    wanted = None if usage is None else Usage(input_fresh=usage[0], output=usage[1])
    assert failure.usage == wanted
    assert failure.usage_impossible is (b"-1" in body)
