"""Faults of what a reply says: bodies that arrive whole and are not what was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from perdure.testing.exchange import Exchange
from perdure.testing.fault import Fault
from perdure.testing.replies import to_bytes


def _body(name: str, about: str, make: Callable[[Exchange], bytes]) -> Fault:
    async def play(exchange: Exchange) -> None:
        await exchange.reply(make(exchange))

    return Fault(name, "content", about, play)


def _fixed(name: str, about: str, body: bytes) -> Fault:
    return _body(name, about, lambda _exchange: body)


def _changed(name: str, about: str, change: Callable[[dict[str, Any]], object]) -> Fault:
    def make(exchange: Exchange) -> bytes:
        tree = msgspec.json.decode(exchange.good_body)
        change(tree)
        return to_bytes(tree)

    return _body(name, about, make)


def _message(name: str, about: str, **fields: Any) -> Fault:
    def change(tree: dict[str, Any]) -> None:
        for choice in tree.get("choices", ()):
            choice["message"].update(fields)

    return _changed(name, about, change)


def _choice(name: str, about: str, **fields: Any) -> Fault:
    def change(tree: dict[str, Any]) -> None:
        for choice in tree.get("choices", ()):
            choice.update(fields)

    return _changed(name, about, change)


def _said(name: str, about: str, content: bytes) -> Fault:
    def make(exchange: Exchange) -> bytes:
        tree = msgspec.json.decode(exchange.good_body)
        for choice in tree.get("choices", ()):
            choice["message"]["content"] = msgspec.Raw(content)
        return to_bytes(tree)

    return _body(name, about, make)


def _long(exchange: Exchange) -> bytes:
    tree = msgspec.json.decode(exchange.good_body)
    for choice in tree.get("choices", ()):
        choice["message"]["content"] = "x" * 50_000_000  # made when played: it is large
    return to_bytes(tree)


def _tail(name: str, about: str, tail: bytes) -> Fault:
    return _body(name, about, lambda exchange: exchange.good_body[:-1] + tail)


def _tool_call(identity: str) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "erase", "arguments": "{}"}}


_DEEP = b"[" * 100_000 + b"]" * 100_000

CONTENT_FAULTS: tuple[Fault, ...] = (
    _fixed("body_empty", "an empty body", b""),
    _fixed("body_space", "a body of blanks", b"   \r\n"),
    _fixed("body_html", "a web page with status 200", b"<!doctype html><title>Sign in</title>"),
    _fixed("body_null", "null", b"null"),
    _fixed("body_number", "a number", b"7"),
    _fixed("body_list", "a list", b"[]"),
    _fixed("body_object_empty", "an empty object", b"{}"),
    _fixed("body_not_utf8", "bytes that are no text", b'{"choices": "\xff\xfe"}'),
    _fixed(
        "body_sse", "an event stream nobody asked for", b'data: {"choices": []}\n\ndata: [DONE]\n'
    ),
    _fixed("body_deep", "100,000 nested lists", b'{"choices": ' + _DEEP + b"}"),
    _body("json_truncated", "JSON cut short", lambda exchange: exchange.good_body[:-20]),
    _body("json_bom", "a byte-order mark", lambda exchange: b"\xef\xbb\xbf" + exchange.good_body),
    _body("json_twice", "the reply twice in one body", lambda exchange: exchange.good_body * 2),
    _tail("json_nan", "NaN", b', "temperature": NaN}'),
    _tail("json_1e999", "a number beyond any number", b', "temperature": 1e999}'),
    _tail("json_duplicate_key", "two lists of choices", b', "choices": []}'),
    _tail(
        "json_deep_inside",
        "100,000 lists in a field nobody reads",
        b', "x": ' + _DEEP + b"]" * 100_000 + b"}",
    ),
    _said("text_surrogate", "a lone surrogate in the text", b'"half \\ud83d of a pair"'),
    _said("text_nul", "NUL in the text", b'"nul \\u0000 inside"'),
    _said("text_terminal", "terminal commands in the text", b'"\\u001b]0;owned\\u0007 \\u001b[2J"'),
    _body("text_50_mb", "50 MB of text", _long),
    _said("text_number", "the text is a number", b"42"),
    _said("text_list", "the text is a list of parts", b'[{"type": "text", "text": "hello"}]'),
    _message("text_null", "no text and nothing in its place", content=None),
    _message("text_empty", "an empty text", content=""),
    _message("refusal", "a refusal in place of text", content=None, refusal="I cannot help."),
    _choice("content_filter", "stopped by a content filter", finish_reason="content_filter"),
    _choice("finish_length", "cut at the token limit", finish_reason="length"),
    _choice("finish_unknown", "a finish reason nobody knows", finish_reason="vibes"),
    _choice("finish_missing", "finish reason null", finish_reason=None),
    _choice("finish_number", "finish reason is a number", finish_reason=3),
    _choice("message_missing", "a choice without a message", message=None),
    _message("tool_unknown", "calls a tool", content=None, tool_calls=[_tool_call("a")]),
    _message(
        "tool_duplicate",
        "calls a tool twice under one id",
        content=None,
        tool_calls=[_tool_call("a"), _tool_call("a")],
    ),
    _changed("choices_missing", "no choices", lambda tree: tree.pop("choices", None)),
    _changed("choices_empty", "an empty list of choices", lambda tree: tree.update(choices=[])),
    _changed("choices_number", "choices is a number", lambda tree: tree.update(choices=1)),
    _changed(
        "choices_two", "two choices", lambda tree: tree.update(choices=tree.get("choices", []) * 2)
    ),
    _changed("model_wrong", "another model answers", lambda tree: tree.update(model="other-2")),
    _changed("model_missing", "no model is named", lambda tree: tree.pop("model", None)),
    _changed("model_number", "the model's name is a number", lambda tree: tree.update(model=5)),
    _changed(
        "other_call",
        "the reply to an embedding",
        lambda tree: (tree.pop("choices", None), tree.update(object="list", data=[])),
    ),
)
