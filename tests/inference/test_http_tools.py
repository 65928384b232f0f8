"""That tools are offered, called and answered on the wire, and that nothing else moved there."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from perdure.base import canonical
from perdure.base.canonical import hash_hex
from perdure.inference.baseline import BaselineProvider
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.http.body import chat_body
from perdure.inference.http.key import Key
from perdure.inference.http.reply import Asked, asked_by, read_chat
from perdure.inference.offer import worst_case
from perdure.inference.scripted import ScriptedProvider
from perdure.records.baseline_rule import BaselineRule, Distance
from perdure.records.request import (
    ChatRequest,
    Failure,
    FailureCause,
    FinishReason,
    Message,
    Reply,
)
from perdure.records.scenario import ModelPin
from perdure.records.tools import ToolCall, ToolSpec
from perdure.testing import MisbehavingServer, replies

SETTINGS = HttpSettings(base_url="http://127.0.0.1:1/v1")
PIN = ModelPin(provider="http", model="m")
KEY = Key("sk-0123456789")
PLAIN = ChatRequest(
    role="tier_a",
    messages=(
        Message(role="system", content="You are 47 years old."),
        Message(role="user", content="Do you agree?"),
    ),
    tokens_max=8,
    temperature=0.7,
    seed=11,
)
READ = ToolSpec(
    name="read",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)
CLOCK = ToolSpec(name="clock", description="Tell the time.")
FIRST = ToolCall(id="a", name="read", arguments='{"path": "x"}')
SECOND = ToolCall(id="b", name="clock", arguments="{}")
WITH_TOOLS = ChatRequest(
    role="tier_a",
    messages=(
        Message(role="user", content="Read x."),
        Message(role="assistant", content="", calls=(FIRST,)),
        Message(role="tool", content="It says: hello.", call_id="a"),
        Message(role="assistant", content="And now?", calls=(SECOND,)),
        Message(role="tool", content="noon", call_id="b"),
    ),
    tokens_max=8,
    tools=(READ, CLOCK),
)
OFFERED = Asked(tools=True)


def test_a_request_without_tools_is_the_same_bytes_as_ever() -> None:
    """What was sent before there were tools is sent now, byte for byte, and has its old hash."""
    assert chat_body(PLAIN, "m", SETTINGS) == (
        b'{"model":"m","messages":[{"role":"system","content":"You are 47 years old."},'
        b'{"role":"user","content":"Do you agree?"}],"max_tokens":8,"temperature":0.7,"seed":11}'
    )
    assert canonical.encode(PLAIN) == (
        b'{"messages":[{"content":"You are 47 years old.","role":"system"},'
        b'{"content":"Do you agree?","role":"user"}],"role":"tier_a","seed":11,'
        b'"temperature":0.7,"tokens_max":8,"type":"chat"}'
    )


def test_tools_calls_and_their_answers_are_sent_as_endpoints_know_them() -> None:
    """The function form: offers, an assistant's calls with null content, answers by id."""
    sent = msgspec.json.decode(chat_body(WITH_TOOLS, "m", SETTINGS))
    assert sent["messages"] == [
        {"role": "user", "content": "Read x."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "x"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "It says: hello."},
        {
            "role": "assistant",
            "content": "And now?",
            "tool_calls": [
                {"id": "b", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "noon"},
    ]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["read", "clock"]
    assert {tool["type"] for tool in sent["tools"]} == {"function"}
    assert sent["tools"][0]["function"]["parameters"] == READ.parameters
    assert sent["tools"][1]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert "stream" not in sent


def tree(*calls: Any, **changes: Any) -> dict[str, Any]:
    """Build a reply that calls tools, its choice changed."""
    made = replies.chat_tree("", "m", {}, calls=(FIRST,))
    choice = made["choices"][0]
    choice["message"]["tool_calls"] = list(calls)
    choice.update(changes)
    return made


def read(made: dict[str, Any], asked: Asked = OFFERED) -> Reply | Failure:
    """Read a reply; whatever comes of it can be recorded."""
    outcome = read_chat(replies.to_bytes(made), PIN, KEY, asked=asked)
    assert canonical.encode(outcome)
    return outcome


def calls_of(made: dict[str, Any], asked: Asked = OFFERED) -> tuple[ToolCall, ...]:
    """Read the calls of a reply that is one."""
    outcome = read(made, asked)
    assert isinstance(outcome, Reply)
    assert outcome.finish is FinishReason.TOOL_CALLS
    return outcome.calls


def called(**fields: Any) -> dict[str, Any]:
    """Write one call, its function's fields and its own changed."""
    made: dict[str, Any] = {"id": "a", "type": "function"}
    function: dict[str, Any] = {"name": "read", "arguments": "{}"}
    for key, value in fields.items():
        (made if key in {"id", "type", "index"} else function)[key] = value
    return {**made, "function": function}


def test_calls_are_read_in_their_order() -> None:
    """Ids, names and the text of the arguments come as the model wrote them."""
    two = tree(replies.call_tree(FIRST), replies.call_tree(SECOND))
    assert calls_of(two) == (FIRST, SECOND)
    for reason in ("stop", "tool_calls", "function_call", None, "vibes"):
        assert calls_of(tree(replies.call_tree(FIRST), finish_reason=reason)) == (FIRST,)
    broken = '{"path": '
    assert calls_of(tree(called(arguments=broken)))[0].arguments == broken


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"b": 1, "a": [2]}, '{"b":1,"a":[2]}'), (None, "{}"), ("", "{}"), (" \n", "{}")],
)
def test_arguments_are_a_text_in_the_end(arguments: object, text: str) -> None:
    """An object is written as JSON; no arguments at all are an empty object."""
    (call,) = calls_of(tree(called(arguments=arguments)))
    assert msgspec.json.decode(call.arguments) == msgspec.json.decode(text)


def test_no_two_calls_of_a_conversation_have_one_id() -> None:
    """A missing, repeated, known or endless id becomes one that is the same at every reading."""
    many = tree(called(id=None), called(id=""), called(id="a"), called(id="a"), called(id="x" * 41))
    ids = [call.id for call in calls_of(many)]
    assert ids == ["call00000", "call00001", "a", "call00003", "call00004"]
    assert [call.id for call in calls_of(many)] == ids
    asked = asked_by(WITH_TOOLS)
    assert asked.ids == {"a", "b"}
    assert [call.id for call in calls_of(many, asked)][2] == "call00004"
    clash = Asked(tools=True, ids=frozenset({"call00001"}))
    assert [call.id for call in calls_of(tree(called(id=None)), clash)] == ["call00002"]


@pytest.mark.parametrize(
    "made",
    [
        tree(called(type="custom")),
        tree(called(name=None)),
        tree(called(name="")),
        tree(called(name="x" * 201)),
        tree(called(arguments=7)),
        tree(called(arguments=["x"])),
        tree({"id": "a", "type": "function"}),
        tree("read"),
        tree(finish_reason="tool_calls"),
        tree(message={"content": "I call.", "tool_calls": None}, finish_reason="tool_calls"),
        tree(message={"content": None, "function_call": {"name": "read", "arguments": "{}"}}),
        tree(message={"content": "x", "function_call": {"name": "read", "arguments": "{}"}}),
        tree(message={"content": None, "tool_calls": {"id": "a"}}),
    ],
)
def test_calls_that_cannot_be_read_are_no_reply(made: dict[str, Any]) -> None:
    """What is no call of a function, and the older form that nobody asked for, are bad replies."""
    assert read(made) == Failure(cause=FailureCause.BAD_REPLY, status=200)


def test_a_key_twice_inside_a_call_is_no_reply() -> None:
    """Which tool is called, and how, is not settled by taking the last of two."""
    good = replies.to_bytes(tree(replies.call_tree(FIRST)))
    for old, new in (
        (b'"name":"read"', b'"name":"erase","name":"read"'),
        (b'"arguments":', b'"arguments":"{}","arguments":'),
        (b'"tool_calls":[', b'"tool_calls":[],"tool_calls":['),
    ):
        assert old in good
        outcome = read_chat(good.replace(old, new), PIN, KEY, asked=OFFERED)
        assert isinstance(outcome, Failure), new


def test_a_reply_that_was_cut_or_refused_is_marked_so() -> None:
    """A cut reply keeps that it was cut, whatever it calls; a refused one calls nothing."""
    cut = read(tree(replies.call_tree(FIRST), finish_reason="length"))
    assert isinstance(cut, Reply)
    assert (cut.finish, cut.calls) == (FinishReason.LENGTH, (FIRST,))
    refused = read(tree(replies.call_tree(FIRST), finish_reason="content_filter"))
    assert isinstance(refused, Reply)
    assert (refused.finish, refused.calls) == (FinishReason.REFUSAL, ())


def test_calls_that_nobody_offered_are_read_as_before() -> None:
    """Without tools in the request a reply's calls are nothing, and its text alone counts."""
    assert isinstance(read(tree(replies.call_tree(FIRST)), Asked()), Failure)
    made = tree(message={"content": "Yes.", "tool_calls": [called()]})
    said = read(made, Asked())
    assert isinstance(said, Reply)
    assert (said.text, said.calls, said.finish) == ("Yes.", (), FinishReason.OTHER)


def test_the_key_is_blanked_in_everything_of_a_call() -> None:
    """No part of a call can carry the key into a record."""
    secret = "sk-0123456789"
    (call,) = calls_of(tree(called(id=secret, name=secret, arguments={"k": secret})))
    assert secret not in canonical.encode(call).decode()


def test_tools_and_calls_count_as_input() -> None:
    """The worst case covers the specs, the calls and their answers, each byte at least a token."""
    bare = worst_case(PLAIN)
    assert bare.input_fresh == 16 + 21 + 16 + 13 + 16
    messages = worst_case(msgspec.structs.replace(WITH_TOOLS, tools=()))
    plain = tuple(Message(role=m.role, content=m.content) for m in WITH_TOOLS.messages)
    without = worst_case(msgspec.structs.replace(WITH_TOOLS, tools=(), messages=plain))
    said = sum(len(c.id + c.name + c.arguments) + 16 for c in (FIRST, SECOND)) + len("a" + "b")
    assert messages.input_fresh - without.input_fresh == said
    specs = sum(len(canonical.encode(spec)) for spec in WITH_TOOLS.tools)
    assert worst_case(WITH_TOOLS).input_fresh >= messages.input_fresh + specs


def test_tools_move_the_hash_of_a_request() -> None:
    """A call with other tools, calls or answers is another request to the journal."""
    other = msgspec.structs.replace(WITH_TOOLS, tools=(READ,))
    renamed = (*WITH_TOOLS.messages[:-1], Message(role="tool", content="noon", call_id="c"))
    moved = msgspec.structs.replace(WITH_TOOLS, messages=renamed)
    assert len({hash_hex(one) for one in (WITH_TOOLS, other, moved)}) == 3


def test_a_real_exchange_calls_a_tool_and_reads_its_answer() -> None:
    """Over a socket: the model asks for a tool, is told what came of it, and answers."""

    def respond(request: dict[str, Any]) -> str | tuple[ToolCall, ...]:
        last = request["messages"][-1]
        return f"It says {last['content']}." if last["role"] == "tool" else (FIRST,)

    async def talk(base_url: str) -> tuple[Any, Any]:
        provider = HttpProvider(HttpSettings(base_url=base_url), PIN, environment={})
        await provider.open()
        try:
            ask = msgspec.structs.replace(WITH_TOOLS, messages=WITH_TOOLS.messages[:1])
            first = await provider.chat(ask, 20.0)
            assert isinstance(first, Reply)
            told = (
                *ask.messages,
                Message(role="assistant", content=first.text, calls=first.calls),
                Message(role="tool", content="hello", call_id=first.calls[0].id),
            )
            later = msgspec.structs.replace(ask, messages=told)
            return first, await provider.chat(later, 20.0)
        finally:
            await provider.close()

    with MisbehavingServer(responder=respond) as server:
        first, second = asyncio.run(talk(server.base_url))
    assert (first.calls, first.text, first.finish) == ((FIRST,), "", FinishReason.TOOL_CALLS)
    assert first.usage is not None
    assert (second.text, second.calls) == ("It says hello.", ())


def test_other_providers_say_what_they_cannot() -> None:
    """A rule calls no tools and says so; a script says what it is told to, calls too."""
    rule = BaselineRule(distance=Distance(own="self", placements={"a": "at_a", "b": "at_b"}))
    outcome = asyncio.run(BaselineProvider(rule).chat(WITH_TOOLS, 1.0))
    assert outcome == Failure(cause=FailureCause.UNSUPPORTED)
    script = ScriptedProvider([(FIRST, SECOND), "Done."])
    asked = asyncio.run(script.chat(WITH_TOOLS, 1.0))
    assert isinstance(asked, Reply)
    assert (asked.calls, asked.finish) == ((FIRST, SECOND), FinishReason.TOOL_CALLS)
    assert asked.usage is not None
    assert asked.usage.output > 0
