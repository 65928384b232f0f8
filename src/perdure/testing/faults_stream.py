"""Faults of a reply that comes in pieces. They are for calls that ask for a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from perdure.testing.exchange import Exchange
from perdure.testing.fault import Fault
from perdure.testing.replies import chat_events, error_tree, event, to_bytes, to_stream

_DONE = event(b"[DONE]")
_HUGE = 50_000_000
_ALIVE_EVERY_S = 0.01


def _chunks(exchange: Exchange) -> list[dict[str, Any]]:
    return chat_events(msgspec.json.decode(exchange.good_body))


def _parts(exchange: Exchange) -> list[bytes]:
    return to_stream(_chunks(exchange))


def _whole(name: str, about: str, change: Callable[[list[bytes]], list[bytes]]) -> Fault:
    """Make a fault of a stream that is framed as it should be."""

    async def play(exchange: Exchange) -> None:
        await exchange.stream(change(_parts(exchange)))

    return Fault(name, "stream", about, play)


def _rewritten(name: str, about: str, change: Callable[[bytes], list[bytes]]) -> Fault:
    return _whole(name, about, lambda parts: change(b"".join(parts)))


def _changed(name: str, about: str, change: Callable[[list[dict[str, Any]]], object]) -> Fault:
    async def play(exchange: Exchange) -> None:
        chunks = _chunks(exchange)
        change(chunks)
        await exchange.stream(to_stream(chunks))

    return Fault(name, "stream", about, play)


def _inserted(name: str, about: str, data: bytes) -> Fault:
    return _whole(name, about, lambda parts: [*parts[:3], data, *parts[3:]])


def _cut(name: str, about: str, cut: Callable[[list[bytes]], bytes], *, resets: bool) -> Fault:
    async def play(exchange: Exchange) -> None:
        await exchange.begin_stream()
        if sent := cut(_parts(exchange)):
            await exchange.send_chunk(sent)
        await exchange.pause(0.02)
        if resets:
            exchange.reset()
        else:
            exchange.close()

    return Fault(name, "stream", about, play)


def _without_end(parts: list[bytes]) -> list[bytes]:
    return parts[:-3]  # neither the reason why it ends, nor usage, nor the last event


def _multi_line(data: bytes) -> list[bytes]:
    # JSON may be broken where a value begins; each line is data of its own.
    return [data.replace(b',"choices":', b',\ndata: "choices":')]


async def _stall(exchange: Exchange) -> None:
    await exchange.begin_stream()
    await exchange.send_chunk(b"".join(_parts(exchange)[:3]))
    await exchange.pause(exchange.hang_s)


async def _stall_after_done(exchange: Exchange) -> None:
    await exchange.begin_stream()
    await exchange.send_chunk(b"".join(_parts(exchange)))
    await exchange.pause(exchange.hang_s)


async def _trickle(exchange: Exchange) -> None:
    await exchange.begin_stream()
    data = b"".join(_parts(exchange))
    for byte in data:
        if exchange.is_gone:
            return
        await exchange.send_chunk(bytes([byte]))
        await exchange.pause(exchange.hang_s / len(data))


async def _alive_for_ever(exchange: Exchange) -> None:
    await exchange.begin_stream()
    while not exchange.is_gone:
        await exchange.send_chunk(b": still here\n\n")
        await exchange.pause(_ALIVE_EVERY_S)


async def _endless(exchange: Exchange) -> None:
    await exchange.begin_stream()
    first, second, *_ = _chunks(exchange)
    second["choices"][0]["delta"]["content"] = "x" * 20_000
    await exchange.send_chunk(event(to_bytes(first)))
    part = event(to_bytes(second))
    while not exchange.is_gone:
        await exchange.send_chunk(part)


async def _huge(exchange: Exchange) -> None:
    await exchange.begin_stream()
    await exchange.send_chunk(b"data: " + b"x" * _HUGE)
    await exchange.send_chunk(b"\n\n")


async def _in_one_piece(exchange: Exchange) -> None:
    await exchange.reply(exchange.good_body)


def _stream(name: str, about: str, play: Any) -> Fault:
    return Fault(name, "stream", about, play)


def _as_model(name: str) -> Callable[[list[dict[str, Any]]], None]:
    def change(chunks: list[dict[str, Any]]) -> None:
        for chunk in chunks:
            chunk["model"] = name

    return change


def _second_choice(chunks: list[dict[str, Any]]) -> None:
    chunks[2]["choices"][0]["index"] = 1


def _late_text(chunks: list[dict[str, Any]]) -> None:
    chunks.append(chunks[1])


_ERROR = to_bytes(error_tree("It broke.", None, "server_error"))
_LIMITED = to_bytes(error_tree("Slow down.", "rate_limit_exceeded", "rate_limit_error"))

_ALL: tuple[Fault, ...] = (
    _cut("cut_at_once", "closed before the first event", lambda _: b"", resets=False),
    _cut("cut_between", "closed between events", lambda p: b"".join(p[:4]), resets=False),
    _cut("cut_inside", "closed inside an event", lambda p: b"".join(p[:4])[:-30], resets=False),
    _cut("cut_by_reset", "reset inside an event", lambda p: b"".join(p[:4])[:-30], resets=True),
    _cut("cut_after_finish", "reset before its usage", lambda p: b"".join(p[:-2]), resets=True),
    _whole("end_without_finish", "ends without a reason why", _without_end),
    _whole(
        "done_without_finish", "says that it is done, not why", lambda p: [*_without_end(p), _DONE]
    ),
    _whole("finish_without_done", "never says that it is done", lambda p: p[:-1]),
    _whole("done_unended", "its last line has no end", lambda p: [*p[:-1], b"data: [DONE]"]),
    _whole("empty_stream", "a stream without events", lambda _: [b"\n"]),
    _whole("no_stream", "what is no stream, called one", lambda _: [b"}{ nonsense"]),
    _whole("done_only", "nothing but the last event", lambda p: p[-1:]),
    _inserted("error_inside", "an error among the events", event(_ERROR)),
    _inserted("limit_inside", "a rate limit among the events", event(_LIMITED)),
    _inserted(
        "error_named", "an event that is named an error", b'event: error\ndata: {"code": 502}\n\n'
    ),
    _inserted("comments", "comments that keep it alive", b": PROCESSING\n\n:\n\n"),
    _inserted("other_fields", "fields that nobody reads", b"id: 7\nretry: 10\nx\n\n"),
    _inserted("not_json", "an event that is no JSON", event(b"{'x': 1}")),
    _inserted("not_utf8", "an event that is no text", event(b'{"model": "\xff"}')),
    _inserted("json_nan_inside", "NaN in an event", event(b'{"usage": NaN}')),
    _inserted(
        "key_twice_inside", "a key twice in an event", event(b'{"choices": [], "choices": []}')
    ),
    _inserted("null_event", "an event that is null", event(b"null")),
    _inserted("empty_object", "an event that says nothing", event(b"{}")),
    _rewritten("crlf", "lines that end in CR LF", lambda d: [d.replace(b"\n", b"\r\n")]),
    _rewritten("bom", "a byte-order mark", lambda d: [b"\xef\xbb\xbf", d]),
    _rewritten("multi_line", "events of several lines of data", _multi_line),
    _rewritten("no_space", "no space behind the colon", lambda d: [d.replace(b"data: ", b"data:")]),
    _rewritten("bytes", "a byte at a time", lambda d: [bytes([byte]) for byte in d]),
    _rewritten(
        "crlf_bytes",
        "a byte at a time, with CR LF",
        lambda d: [bytes([byte]) for byte in d.replace(b"\n", b"\r\n")],
    ),
    _whole("after_done", "another event behind the last one", lambda p: [*p, p[1]]),
    _changed("usage_never", "no usage", lambda chunks: chunks.pop()),
    _changed("stream_model_wrong", "another model answers", _as_model("other-2")),
    _changed(
        "stream_model_moves", "its model changes", lambda chunks: chunks[3].update(model="other-2")
    ),
    _changed("stream_model_first", "its first event names none", lambda c: c[0].update(model="")),
    _changed("stream_two_choices", "a second choice", _second_choice),
    _changed("text_after_finish", "text behind the reason why it ends", _late_text),
    _stream("stream_stall", "silence inside a stream", _stall),
    _stream("stall_after_done", "an open connection behind the last event", _stall_after_done),
    _stream("trickle", "a byte now and then", _trickle),
    _stream("alive_for_ever", "comments without end", _alive_for_ever),
    _stream("endless_stream", "text without end", _endless),
    _stream("huge_event", "one event of 50 MB", _huge),
    _stream("in_one_piece", "a reply in one piece, to whoever asked for a stream", _in_one_piece),
)

STREAM_FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
