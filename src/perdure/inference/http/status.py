"""What an error reply means: its status and its error object, turned into a named cause."""

from __future__ import annotations

import http
from typing import Any

import msgspec

from perdure.base.redaction import redacted
from perdure.base.text import one_line
from perdure.inference.http.key import Key
from perdure.records.request import FailureCause

_BODY_BYTES_MAX = 64 * 1024
_SAID_MAX = 300
# Where endpoints write it, the most telling first.
_WORDED = ("message", "error", "detail", "msg", "title")
_BY_STATUS = {
    401: FailureCause.KEY_REFUSED,
    402: FailureCause.OUT_OF_MONEY,
    403: FailureCause.KEY_REFUSED,
    404: FailureCause.MODEL_UNKNOWN,
    408: FailureCause.TIMEOUT,
    429: FailureCause.RATE_LIMITED,
}
_OUT_OF_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_BY_WORD: tuple[tuple[FailureCause, tuple[str, ...]], ...] = (
    (FailureCause.OUT_OF_MONEY, (*_OUT_OF_MONEY, "insufficient_credits", "payment_required")),
    (
        FailureCause.KEY_REFUSED,
        (
            "invalid_api_key",
            "authentication_error",
            "permission_error",
            "permission_denied",
            "api_key_invalid",
        ),
    ),
    (FailureCause.MODEL_UNKNOWN, ("model_not_found", "unknown_model")),
    (FailureCause.RATE_LIMITED, ("rate_limit_exceeded", "rate_limit_error", "resource_exhausted")),
    (
        FailureCause.REJECTED,
        ("invalid_request_error", "context_length_exceeded", "invalid_argument"),
    ),
)
_decoder = msgspec.json.Decoder()


def cause_of_status(status: int, body: bytes) -> FailureCause:
    """Name the cause of a reply whose status is not a success."""
    words = _words(_error_in(body))
    # A handful of endpoints say all of this with 400, or with 429.
    if status == http.HTTPStatus.TOO_MANY_REQUESTS and words.intersection(_OUT_OF_MONEY):
        return FailureCause.OUT_OF_MONEY
    if status == http.HTTPStatus.BAD_REQUEST:
        named = _by_word(words)
        stops = {FailureCause.KEY_REFUSED, FailureCause.MODEL_UNKNOWN}
        return named if named in stops else FailureCause.REJECTED
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        return FailureCause.SERVER_ERROR
    return FailureCause.REJECTED


def cause_of_error(error: object) -> tuple[FailureCause, int]:
    """Name the cause of an error object inside a reply whose status is a success, and its status.

    It counts as the status that it names, else by its code; an error that says neither is the
    server's.
    """
    if isinstance(error, dict):
        status = _status_in(error)
        if status is not None:
            return cause_of_status(status, msgspec.json.encode({"error": error})), status
    return _by_word(_words(error)) or FailureCause.SERVER_ERROR, int(http.HTTPStatus.OK)


def said_in(body: bytes, key: Key) -> str:
    """Give what an error reply says of itself in words: one line, without secrets, cut."""
    error = _error_in(body)
    if error is None and len(body) <= _BODY_BYTES_MAX:
        error = body.decode("utf-8", errors="replace")
    return said_of(error, key)


def said_of(error: object, key: Key) -> str:
    """Give what an error object says, as `said_in` does; a page for a browser says nothing."""
    said = error
    while isinstance(said, dict):
        said = next((said[name] for name in _WORDED if said.get(name)), None)
    if not isinstance(said, str) or said.lstrip().startswith("<"):
        return ""
    # Before it is cut: half a secret looks like none.
    return one_line(redacted(key.scrub(said[:_BODY_BYTES_MAX])), _SAID_MAX)


def _status_in(error: dict[str, Any]) -> int | None:
    for name in ("code", "status"):
        value = error.get(name)
        text = str(value) if isinstance(value, int | str) else ""
        if text.isdigit() and http.HTTPStatus.BAD_REQUEST <= int(text[:4]) < 600:  # noqa: PLR2004
            return int(text[:4])
    return None


def _by_word(words: set[str]) -> FailureCause | None:
    for cause, known in _BY_WORD:
        if words.intersection(known):
            return cause
    return None


def _words(error: object) -> set[str]:
    if not isinstance(error, dict):
        return set()
    values = [error.get("code"), error.get("type"), error.get("status")]
    details = error.get("details")
    if isinstance(details, list):
        values += [item.get("reason") for item in details if isinstance(item, dict)]
    return {value.lower() for value in values if isinstance(value, str)}


def _error_in(body: bytes) -> object:
    try:
        tree = _decoder.decode(body) if len(body) <= _BODY_BYTES_MAX else None
    except (msgspec.DecodeError, RecursionError):
        return None  # the status alone decides
    if isinstance(tree, list) and tree:
        tree = tree[0]
    return tree.get("error", tree) if isinstance(tree, dict) else None
