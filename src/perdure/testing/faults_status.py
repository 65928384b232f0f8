"""Faults that a server owns up to: error statuses, in every shape a client meets."""

from __future__ import annotations

import email.utils

from perdure.base.clock import SystemClock
from perdure.testing.exchange import Exchange
from perdure.testing.fault import Fault
from perdure.testing.replies import error_tree, to_bytes

_CLOCK = SystemClock()
_STATUSES = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_credits", "payment_required"),
    403: ("permission_error", "forbidden"),
    404: ("invalid_request_error", "model_not_found"),
    405: ("invalid_request_error", None),
    408: ("timeout", None),
    409: ("conflict", None),
    410: ("invalid_request_error", None),
    413: ("invalid_request_error", "request_too_large"),
    418: ("invalid_request_error", None),
    422: ("invalid_request_error", None),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    451: ("invalid_request_error", None),
    500: ("server_error", None),
    501: ("server_error", None),
    502: ("server_error", None),
    503: ("server_error", "overloaded"),
    504: ("server_error", None),
    520: ("server_error", None),
    529: ("overloaded_error", None),
}


def _error(
    status: int, kind: str, code: str | None, headers: tuple[tuple[str, str], ...] = ()
) -> Fault:
    body = to_bytes(error_tree("The test server was told to fail.", code, kind))

    async def play(exchange: Exchange) -> None:
        await exchange.reply(body, status=status, headers=headers)

    return Fault(f"status_{status}", "status", f"HTTP {status} with an error object", play)


def _limited(name: str, retry_after: str | None, about: str) -> Fault:
    fault = _error(
        429,
        "rate_limit_error",
        "rate_limit_exceeded",
        () if retry_after is None else (("retry-after", retry_after),),
    )
    return Fault(name, "status", about, fault.play)


def _limited_until(name: str, seconds: float, about: str) -> Fault:
    body = to_bytes(error_tree("Slow down.", "rate_limit_exceeded", "rate_limit_error"))

    async def play(exchange: Exchange) -> None:
        date = email.utils.formatdate(_CLOCK.wall_s() + seconds, usegmt=True)
        await exchange.reply(body, status=429, headers=[("retry-after", date)])

    return Fault(name, "status", about, play)


def _raw(name: str, status: int, body: bytes, about: str, *headers: tuple[str, str]) -> Fault:
    async def play(exchange: Exchange) -> None:
        await exchange.reply(body, status=status, headers=headers)

    return Fault(name, "status", about, play)


async def _informational(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")
    await exchange.reply(exchange.good_body)


async def _no_content(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 204 No Content\r\n\r\n")


_ELSEWHERE = ("location", "http://127.0.0.1:1/elsewhere")

STATUS_FAULTS: tuple[Fault, ...] = (
    *(_error(status, kind, code) for status, (kind, code) in _STATUSES.items()),
    _limited("retry_after_seconds", "2", "429 that asks for two seconds"),
    _limited_until("retry_after_date", 3.0, "429 with a date soon to come"),
    _limited_until("retry_after_past", -3600.0, "429 with a date an hour ago"),
    _limited("retry_after_absent", None, "429 that does not say when"),
    _limited("retry_after_negative", "-5", "429 with a negative wait"),
    _limited("retry_after_huge", "1000000000", "429 that asks for 31 years"),
    _limited("retry_after_garbage", "soon", "429 with a wait that is no number and no date"),
    _limited("retry_after_nan", "nan", "429 whose wait is not a number"),
    _raw(
        "quota_used_up",
        429,
        to_bytes(
            error_tree("You exceeded your quota.", "insufficient_quota", "insufficient_quota")
        ),
        "429 that means the account is out of money",
    ),
    _raw("error_html", 502, b"<html><h1>Bad gateway</h1></html>", "502 with a web page"),
    _raw("error_empty", 500, b"", "500 with no body"),
    _raw("error_text", 400, b'{"error": "just a string"}', "400 whose error is a bare string"),
    _raw("error_list", 400, b'[{"error": {"code": 400}}]', "400 whose error is inside a list"),
    _raw("not_found_html", 404, b"<html>404</html>", "404 with a web page: a wrong path"),
    _raw("redirect_301", 301, b"", "301 to another address", _ELSEWHERE),
    _raw("redirect_307", 307, b"", "307 to another address", _ELSEWHERE),
    _raw("redirect_308", 308, b"", "308 to another address", _ELSEWHERE),
    _raw(
        "ok_with_error",
        200,
        to_bytes(error_tree("Internal error.", "server_error", "server_error")),
        "200 whose body is a server error",
    ),
    _raw(
        "ok_with_rate_limit",
        200,
        b'{"error": {"message": "Rate limit exceeded", "code": 429}}',
        "200 whose body is a rate limit",
    ),
    _raw(
        "ok_with_key_error",
        200,
        to_bytes(error_tree("Incorrect API key provided.", "invalid_api_key")),
        "200 whose body refuses the key",
    ),
    Fault("informational", "status", "103 before a good reply", _informational),
    Fault("no_content", "status", "204 where a reply was due", _no_content),
)
