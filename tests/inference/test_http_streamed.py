"""That a reply that comes in pieces is the reply that would have come in one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.base import canonical
from perdure.inference.http.body import chat_body
from perdure.inference.http.key import Key
from perdure.inference.http.reply import Asked, read_chat, read_chat_tree
from perdure.inference.http.settings import HttpSettings
from perdure.inference.http.streamed import StreamedChat, joined
from perdure.records.increment import Asked as AskedFor
from perdure.records.increment import Increment, Said
from perdure.records.request import (
    ChatRequest,
    Failure,
    FailureCause,
    FinishReason,
    Message,
    Reply,
)
from perdure.records.scenario import ModelPin
from perdure.records.tools import ToolCall
from perdure.testing import replies

PIN = ModelPin(provider="http", model="m")
SECRET = "sk-0123456789"
KEY = Key(SECRET)
OFFERED = Asked(tools=True, ids=frozenset({"taken"}))
BAD = Failure(cause=FailureCause.BAD_REPLY, status=200)
CUT = Failure(cause=FailureCause.TRANSPORT, status=200)


def stream(
    parts: Iterable[bytes], asked: Asked = OFFERED, bytes_max: int = 1 << 20
) -> tuple[Reply | Failure, list[Increment]]:
    """Take a stream in; give what it comes to, and what was told."""
    told: list[Increment] = []
    chat = StreamedChat(told.append, asked=asked, key=KEY, bytes_max=bytes_max)
    for part in parts:
        if chat.feed(part):
            break
    tree = chat.end()
    if not isinstance(tree, Failure):
        tree = joined(tree)
    outcome = tree if isinstance(tree, Failure) else read_chat_tree(tree, PIN, KEY, asked=asked)
    assert canonical.encode(outcome)
    return outcome, told


def said(told: list[Increment]) -> str:
    """Put the text together that was told."""
    return "".join(one.text for one in told if isinstance(one, Said))


def asked_for(told: list[Increment]) -> list[tuple[int, ToolCall]]:
    """Give the calls that were told, in order."""
    return [(one.index, one.call) for one in told if isinstance(one, AskedFor)]


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    """Write one event."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return replies.event(json.dumps({"model": "m", "choices": [choice]}).encode())


def calls(*pieces: Any) -> bytes:
    """Write an event with pieces of calls."""
    return chunk(tool_calls=list(pieces))


def piece(index: int | None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    """Write a piece of a call."""
    function = {"arguments": arguments}
    if "name" in fields:
        function["name"] = fields.pop("name")
    made = {**fields, "function": function}
    return made if index is None else {**made, "index": index}


END = [chunk("tool_calls"), replies.event(b"[DONE]")]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["\U0001f600 \u2603", "sk-012", SECRET, f"a{SECRET}b", "\x00\x1b[0m", "null", "data: x\n\n"]
)
CALLS = st.builds(
    ToolCall,
    id=st.sampled_from(["", "a", "b", "taken", "x" * 50]),
    name=st.sampled_from(["read", "\u2603", SECRET]),
    arguments=st.sampled_from(["", "{}", '{"path": "\U0001f600"}', '{"broken', "[1]", SECRET]),
)


@st.composite
def shredded(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """Cut bytes anywhere."""
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    places = [0, *cuts, len(data)]
    return [data[start:end] for start, end in pairwise(places)]


@given(
    data=st.data(),
    text=TEXTS,
    given_calls=st.lists(CALLS, max_size=3),
    finish=st.sampled_from(["stop", "tool_calls", "length", "content_filter", "vibes"]),
    asked=st.sampled_from([OFFERED, Asked()]),
)
@settings(max_examples=80)
def test_a_streamed_reply_is_the_reply_that_was_not(
    data: st.DataObject,
    text: str,
    given_calls: list[ToolCall],
    finish: str,
    asked: Asked,
) -> None:
    """Text, calls, ids, finish, usage and failures: the same, however it is cut and written."""
    tree = replies.chat_tree(text, "m", {"logprobs": True}, calls=given_calls)
    tree["choices"][0]["message"]["content"] = text
    tree["choices"][0]["finish_reason"] = finish
    whole = read_chat(replies.to_bytes(tree), PIN, KEY, asked=asked)
    chunks = replies.chat_events(tree)
    escaped = data.draw(st.booleans())
    events = [json.dumps(one, ensure_ascii=escaped).encode() for one in chunks]
    raw = b"".join(map(replies.event, [*events, b"[DONE]"]))
    outcome, told = stream(data.draw(shredded(raw)), asked)
    assert outcome == whole
    if isinstance(whole, Reply):
        assert said(told) == whole.text
        assert SECRET not in canonical.encode(told).decode()
        told_calls = asked_for(told)
        if whole.finish is FinishReason.REFUSAL:
            return  # what was told before is taken back with the whole reply
        assert told_calls == list(enumerate(whole.calls))[: len(told_calls)]
        if finish in {"stop", "tool_calls"} and all(
            one.arguments in {"{}", '{"path": "\U0001f600"}'} for one in whole.calls
        ):
            assert len(told_calls) == len(whole.calls)


def test_halves_of_a_character_meet_again() -> None:
    """An escape that is cut between its halves is one character; a half alone is a mark."""
    parts = [chunk(content="a\ud83d"), chunk(content="\ude00b\ud83d"), chunk("stop"), END[1]]
    outcome, told = stream(parts)
    assert isinstance(outcome, Reply)
    assert outcome.text == said(told) == "a\U0001f600b\ufffd"


def test_the_key_is_not_told_however_it_is_cut() -> None:
    """What may become the key is held back until it cannot, and the key itself is blanked."""
    for size in (1, 2, 5):
        text = f"It is {SECRET}, or sk-01, or {SECRET}"
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        outcome, told = stream([*(chunk(content=one) for one in pieces), chunk("stop"), END[1]])
        assert isinstance(outcome, Reply)
        assert said(told) == outcome.text == "It is [key], or sk-01, or [key]"
        assert len(told) > 5


def test_calls_are_told_when_they_are_whole() -> None:
    """The first as soon as the second begins, and the last when the reply ends well."""
    told: list[Increment] = []
    chat = StreamedChat(told.append, asked=OFFERED, key=KEY, bytes_max=1 << 20)
    first = ToolCall(id="a", name="read", arguments='{"p": 1}')
    second = ToolCall(id="call00002", name="clock", arguments="{}")
    chat.feed(calls(piece(0, '{"p"', id="a", name="read")))
    chat.feed(calls(piece(0, ": 1}")))
    assert told == []
    chat.feed(calls(piece(1, "", id="taken", name="clock")))
    assert told == [AskedFor(index=0, call=first)]
    chat.feed(END[0])
    assert told == [AskedFor(index=0, call=first), AskedFor(index=1, call=second)]
    chat.feed(END[1])
    tree = chat.end()
    assert isinstance(tree, dict)
    outcome = read_chat_tree(joined(tree), PIN, KEY, asked=OFFERED)
    assert isinstance(outcome, Reply)
    assert outcome.calls == (first, second)


def test_calls_may_all_begin_before_any_goes_on() -> None:
    """A call without arguments is not whole while some may come."""
    begun = [calls(piece(at, "", id=f"i{at}", name="x")) for at in range(3)]
    later = [calls(piece(at, f'{{"p": {at}}}')) for at in range(3)]
    outcome, told = stream([*begun, *later, *END])
    assert isinstance(outcome, Reply)
    assert [call.arguments for call in outcome.calls] == ['{"p": 0}', '{"p": 1}', '{"p": 2}']
    assert asked_for(told) == list(enumerate(outcome.calls))


def test_interleaved_pieces_find_their_calls() -> None:
    """Pieces of several calls, mixed, are put together by their index; none is told half."""
    outcome, told = stream(
        [
            calls(piece(0, '{"a"', id="a", name="read"), piece(1, '{"b"', id="b", name="read")),
            calls(piece(1, ": 2"), piece(0, ": 1")),
            calls(piece(0, "}")),
            calls(piece(1, "}")),
            *END,
        ]
    )
    assert isinstance(outcome, Reply)
    assert [call.arguments for call in outcome.calls] == ['{"a": 1}', '{"b": 2}']
    assert asked_for(told) == list(enumerate(outcome.calls))


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        # No index at all: a piece with an id begins a call, one without goes on.
        (
            [
                piece(None, "{", id="a", name="x"),
                piece(None, "}"),
                piece(None, "{}", id="b", name="y"),
            ],
            [("a", "x", "{}"), ("b", "y", "{}")],
        ),
        # Always the same index, told apart by the id.
        (
            [piece(0, "{}", id="a", name="x"), piece(0, "{}", id="b", name="y")],
            [("a", "x", "{}"), ("b", "y", "{}")],
        ),
        # The id and the name again with every piece.
        (
            [piece(0, "{", id="a", name="x"), piece(0, "}", id="a", name="x")],
            [("a", "x", "{}")],
        ),
        # A name in two pieces; an index that does not begin at 0; arguments as an object.
        ([piece(3, None, id="a", name="re"), piece(3, "{}", name="ad")], [("a", "read", "{}")]),
        ([piece(0, {"p": 1}, id="a", name="x")], [("a", "x", '{"p":1}')]),
        ([piece(0, None, id="a", name="x")], [("a", "x", "{}")]),
    ],
)
def test_endpoints_that_cut_calls_in_their_own_way(
    pieces: list[dict[str, Any]], wanted: list[tuple[str, str, str]]
) -> None:
    """Missing, constant and odd indices, repeated ids and names: the calls are the same."""
    outcome, told = stream([*(calls(one) for one in pieces), *END])
    assert isinstance(outcome, Reply), outcome
    assert [(one.id, one.name, one.arguments) for one in outcome.calls] == wanted
    assert outcome.finish is FinishReason.TOOL_CALLS
    assert asked_for(told) == list(enumerate(outcome.calls))


@pytest.mark.parametrize(
    "parts",
    [
        [calls(piece(1, "{}", id="a", name="x")), calls(piece(0, "{}", id="b", name="y"))],
        [
            calls(piece(0, "{}", id="a", name="x"), piece(1, "", id="b", name="y")),
            calls(piece(0, "1")),
        ],
        [calls(piece(0, "{", id="a", name="x")), calls(piece(0, {"p": 1}))],
        [calls(piece(0, "{}", id="a"))],
        [calls(piece(0, "{}", id="a", name="x", type="custom"))],
        [chunk(function_call={"name": "x", "arguments": "{}"})],
        [chunk(content=7)],
        [calls("x")],
        [calls(*(piece(at, "{}", id=f"i{at}", name="x") for at in range(1_025)))],
        [chunk("stop"), chunk("length")],
        [chunk("stop"), chunk(content="more")],
    ],
)
def test_pieces_that_make_no_reply(parts: list[bytes]) -> None:
    """What contradicts what came before, or was told already, is a bad reply."""
    assert stream([*parts, *END])[0] == BAD


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b": nothing\n\n"],
        [chunk(content="Yes")],
        [chunk(content="Yes"), replies.event(b"[DONE]")],
        [chunk(content="Yes"), chunk("stop")[:-2]],
        [calls(piece(0, "{}", id="a", name="x"))],
    ],
)
def test_a_stream_that_does_not_say_why_it_ends_was_cut(parts: list[bytes]) -> None:
    """It is a failure, never a shorter answer."""
    assert stream(parts)[0] == CUT


def test_a_stream_is_bounded() -> None:
    """Text, calls, one event and all of it: none grows beyond what is allowed."""
    large = Failure(cause=FailureCause.REPLY_TOO_LARGE, status=200)
    for part in (
        chunk(content="x" * 400),
        calls(piece(0, "x" * 400, id="a", name="x")),
        b"data: " + b"x" * 400,
        b": keep alive\n\n" * 1_000,
    ):
        assert stream([part] * 10, bytes_max=1_000)[0] == large


def test_a_stream_is_asked_for_in_two_fields() -> None:
    """Beside them the request is what it is without; either can be left out for an endpoint."""
    request = ChatRequest(
        role="tier_a", messages=(Message(role="user", content="Hm?"),), tokens_max=8
    )
    plain = HttpSettings(base_url="http://127.0.0.1:1/v1")
    bare = chat_body(request, "m", plain)
    asked = chat_body(request, "m", plain, streamed=True)
    assert asked == bare[:-1] + b',"stream":true,"stream_options":{"include_usage":true}}'
    omits = HttpSettings(base_url="http://127.0.0.1:1/v1", omit=("stream_options",))
    assert b"stream_options" not in chat_body(request, "m", omits, streamed=True)
