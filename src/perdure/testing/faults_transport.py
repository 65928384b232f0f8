"""Faults of the wire: what happens to the bytes of a good reply on their way."""

from __future__ import annotations

import functools
import gzip
import io
import zlib
from collections.abc import Awaitable, Callable

from perdure.testing.exchange import Exchange, framed, head
from perdure.testing.fault import Fault

STALE_TEXT = "A STALE REPLY THAT BELONGS TO NOBODY"
_BOMB_MIB = 64
_STALE_BODY = (
    b'{"id":"chatcmpl-stale","object":"chat.completion","created":1,"model":"%s","choices":'
    b'[{"index":0,"message":{"role":"assistant","content":"' + STALE_TEXT.encode() + b'"},'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
)


def _good(exchange: Exchange) -> bytes:
    return framed(exchange.good_body)


def stale_body(exchange: Exchange) -> bytes:
    """Write a plausible reply, for the model that was asked, that answers nobody's question."""
    body = exchange.seen.body
    model = body.get("model", "") if isinstance(body, dict) else ""
    return _STALE_BODY % str(model).encode()


async def _reset_before(exchange: Exchange) -> None:
    exchange.reset()


async def _close_before(exchange: Exchange) -> None:
    exchange.close()


async def _reset_mid_head(exchange: Exchange) -> None:
    await exchange.send(_good(exchange)[:30])
    await exchange.pause(0.02)
    exchange.reset()


async def _reset_mid_body(exchange: Exchange) -> None:
    await exchange.send(_good(exchange)[:-40])
    await exchange.pause(0.02)
    exchange.reset()


async def _reset_after(exchange: Exchange) -> None:
    await exchange.send(_good(exchange))
    await exchange.pause(0.02)
    exchange.reset()


async def _truncated_with_length(exchange: Exchange) -> None:
    await exchange.send(_good(exchange)[:-40])
    exchange.close()


async def _truncated_without_length(exchange: Exchange) -> None:
    start = head(200, [("content-type", "application/json"), ("connection", "close")])
    await exchange.send(start + exchange.good_body[:-40])
    exchange.close()


async def _whole_without_length(exchange: Exchange) -> None:
    start = head(200, [("content-type", "application/json"), ("connection", "close")])
    await exchange.send(start + exchange.good_body)
    exchange.close()


async def _truncated_chunks(exchange: Exchange) -> None:
    body = exchange.good_body
    await exchange.send(head(200, [("transfer-encoding", "chunked")]))
    await exchange.send(b"%x\r\n%s\r\n" % (len(body), body))
    exchange.close()


async def _bad_chunk_size(exchange: Exchange) -> None:
    await exchange.send(head(200, [("transfer-encoding", "chunked")]) + b"zz\r\n{}\r\n0\r\n\r\n")


async def _endless_chunks(exchange: Exchange) -> None:
    await exchange.send(head(200, [("transfer-encoding", "chunked")]))
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while not exchange.is_gone:
        await exchange.send(chunk)


async def _endless_body(exchange: Exchange) -> None:
    await exchange.send(head(200, [("connection", "close")]))
    while not exchange.is_gone:
        await exchange.send(b" " * 0x10000)


async def _huge_length(exchange: Exchange) -> None:
    await exchange.send(head(200, [("content-length", str(1 << 40))]) + b"{")
    await exchange.pause(exchange.hang_s)


async def _length_too_long(exchange: Exchange) -> None:
    length = str(len(exchange.good_body) + 7)
    await exchange.send(head(200, [("content-length", length)]) + exchange.good_body)
    await exchange.pause(exchange.hang_s)


async def _length_too_short(exchange: Exchange) -> None:
    body = exchange.good_body
    await exchange.send(head(200, [("content-length", str(len(body) - 7))]) + body)


async def _two_lengths(exchange: Exchange) -> None:
    lengths = [("content-length", str(len(exchange.good_body))), ("content-length", "3")]
    await exchange.send(head(200, lengths) + exchange.good_body)
    exchange.close()


async def _length_is_no_number(exchange: Exchange) -> None:
    await exchange.send(head(200, [("content-length", "-1")]) + exchange.good_body)
    exchange.close()


async def _stall(exchange: Exchange) -> None:
    await exchange.pause(exchange.hang_s)


async def _stall_mid_body(exchange: Exchange) -> None:
    await exchange.send(_good(exchange)[:-40])
    await exchange.pause(exchange.hang_s)


async def _drip_body(exchange: Exchange) -> None:
    good = _good(exchange)
    cut = len(good) - len(exchange.good_body)
    await exchange.send(good[:cut])
    await _drip(exchange, good[cut:])


async def _drip_head(exchange: Exchange) -> None:
    await _drip(exchange, _good(exchange))


async def _drip(exchange: Exchange, data: bytes) -> None:
    for byte in data:
        if exchange.is_gone:
            return
        await exchange.send(bytes([byte]))
        await exchange.pause(exchange.hang_s / len(data))


async def _late(exchange: Exchange) -> None:
    await exchange.pause(exchange.hang_s)
    await exchange.send(_good(exchange))


async def _header_flood(exchange: Exchange) -> None:
    flood = [(f"x-flood-{number}", "x" * 40) for number in range(20_000)]
    await exchange.send(head(200, flood) + exchange.good_body)
    exchange.close()


async def _endless_header(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nx-endless: ")
    while not exchange.is_gone:
        await exchange.send(b"x" * 0x10000)


async def _header_unprintable(exchange: Exchange) -> None:
    await exchange.reply(exchange.good_body, headers=[("x-broken", "a \x01 control")])


async def _not_http(exchange: Exchange) -> None:
    await exchange.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    exchange.close()


async def _bad_status_line(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 two hundred\r\ncontent-length: 2\r\n\r\n{}")
    exchange.close()


async def _answered_twice(exchange: Exchange) -> None:
    await exchange.send(_good(exchange) + framed(stale_body(exchange)))


async def _answered_again_later(exchange: Exchange) -> None:
    await exchange.send(_good(exchange))
    await exchange.pause(0.03)
    await exchange.send(framed(stale_body(exchange)))


async def _same_answer_twice(exchange: Exchange) -> None:
    await exchange.send(_good(exchange) + _good(exchange))


def _encoded(
    encoding: str, body: Callable[[Exchange], bytes]
) -> Callable[[Exchange], Awaitable[None]]:
    async def play(exchange: Exchange) -> None:
        await exchange.reply(body(exchange), headers=[("content-encoding", encoding)])

    return play


@functools.cache
def _bomb(wbits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    out = io.BytesIO()
    out.write(packer.compress(b'{"object": "'))
    for _ in range(_BOMB_MIB):
        out.write(packer.compress(b" " * (1 << 20)))
    out.write(packer.flush())
    return out.getvalue()


def _gzip_bomb(_exchange: Exchange) -> bytes:
    return _bomb(31)


def _deflate_bomb(_exchange: Exchange) -> bytes:
    return _bomb(15)


def _gzip(exchange: Exchange) -> bytes:
    return gzip.compress(exchange.good_body)


def _plain(exchange: Exchange) -> bytes:
    return exchange.good_body


def _wire(name: str, about: str, play: Callable[[Exchange], Awaitable[None]]) -> Fault:
    return Fault(name, "transport", about, play)


TRANSPORT_FAULTS: tuple[Fault, ...] = (
    _wire("reset_before", "reset before the first byte", _reset_before),
    _wire("close_before", "closed before the first byte", _close_before),
    _wire("reset_mid_head", "reset inside the headers", _reset_mid_head),
    _wire("reset_mid_body", "reset inside the body", _reset_mid_body),
    _wire("reset_after", "reset after the last byte of a good reply", _reset_after),
    _wire("truncated_with_length", "closed before the promised length", _truncated_with_length),
    _wire("truncated_without_length", "cut where only the end says so", _truncated_without_length),
    _wire(
        "whole_without_length", "a good reply that ends with the connection", _whole_without_length
    ),
    _wire("truncated_chunks", "closed before the last chunk", _truncated_chunks),
    _wire("bad_chunk_size", "a chunk size that is no number", _bad_chunk_size),
    _wire("endless_chunks", "chunks without end", _endless_chunks),
    _wire("endless_body", "a body without length or end", _endless_body),
    _wire("huge_length", "a promise of 1 TiB", _huge_length),
    _wire("length_too_long", "seven bytes fewer than promised, then silence", _length_too_long),
    _wire("length_too_short", "seven bytes more than promised", _length_too_short),
    _wire("two_lengths", "two lengths that differ", _two_lengths),
    _wire("length_is_no_number", "a negative length", _length_is_no_number),
    _wire("stall", "no reply at all", _stall),
    _wire("stall_mid_body", "silence inside the body", _stall_mid_body),
    _wire("drip_body", "a body one byte at a time", _drip_body),
    _wire("drip_head", "headers one byte at a time", _drip_head),
    _wire("late", "a good reply, too late", _late),
    _wire("header_flood", "20,000 headers", _header_flood),
    _wire("endless_header", "one header without end", _endless_header),
    _wire("header_unprintable", "a control character in a header", _header_unprintable),
    _wire("not_http", "another protocol's greeting", _not_http),
    _wire("bad_status_line", "a status line with words", _bad_status_line),
    _wire("answered_twice", "a good reply and another behind it", _answered_twice),
    _wire("answered_again_later", "another reply on the idle connection", _answered_again_later),
    _wire("same_answer_twice", "the same good reply twice", _same_answer_twice),
    _wire("gzip_bomb", "64 MiB in a small gzip body", _encoded("gzip", _gzip_bomb)),
    _wire("deflate_bomb", "64 MiB in a small deflate body", _encoded("deflate", _deflate_bomb)),
    _wire("gzip_unasked", "a good reply in gzip", _encoded("gzip", _gzip)),
    _wire("encoding_unknown", "an encoding nobody knows", _encoded("x-nothing", _plain)),
    _wire(
        "encoding_identity",
        "a good reply that says it is not encoded",
        _encoded("identity", _plain),
    ),
)
