"""Reply bodies read: every body is either an answer or a named failure, never an exception."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from perdure.base.text import storable
from perdure.base.vectors import has_direction
from perdure.inference.http.billing import Billing, bill
from perdure.inference.http.body import TOP_LOGPROBS
from perdure.inference.http.key import Key
from perdure.inference.http.served import is_served_as_pinned
from perdure.inference.http.status import cause_of_error
from perdure.inference.http.strict import StrictDecoder
from perdure.inference.http.usage import normalise_usage
from perdure.records.request import (
    Failure,
    FailureCause,
    FinishReason,
    FirstToken,
    Reply,
    Vectors,
)
from perdure.records.scenario import ModelPin
from perdure.records.usage import Usage

_NAME_CHARACTERS_MAX = 200
_FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
_FINISH_REFUSED = frozenset({"content_filter", "refusal", "safety"})
_FINISH_FAILED = "error"
_ROUNDED = 1e-6  # how far above 0 rounding may bring the logarithm of a certainty
_OK = 200
_PLAINLY = Billing()
_BAD = Failure(cause=FailureCause.BAD_REPLY, status=_OK)


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None
    error: Any = None
    logprobs: Any = None


class _Likely(msgspec.Struct):
    token: str
    logprob: float


class _Token(_Likely):
    top_logprobs: list[_Likely] = []


class _Logprobs(msgspec.Struct):
    content: list[_Token]


class _Chat(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    usage: Any = None
    service_tier: Any = None
    error: Any = None


class _Datum(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Embeddings(msgspec.Struct):
    data: list[_Datum] | None = None
    model: str | None = None
    usage: Any = None
    error: Any = None


class _Billed(msgspec.Struct):
    usage: Any = None


_billed = StrictDecoder(_Billed, once=("usage", "prompt_tokens", "completion_tokens"))
_chat = StrictDecoder(
    _Chat,
    once=(
        "choices",
        "message",
        "content",
        "refusal",
        "finish_reason",
        "model",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "cost",
        "service_tier",
        "error",
    ),
)
_embeddings = StrictDecoder(
    _Embeddings, once=("data", "model", "usage", "prompt_tokens", "cost", "error")
)


def read_chat(body: bytes, pin: ModelPin, key: Key, billing: Billing = _PLAINLY) -> Reply | Failure:
    """Read the body of a chat completion."""
    chat: _Chat | None = _chat.decode(body)
    if chat is None:
        return _BAD
    choice = _only_choice(chat)
    if isinstance(choice, Failure):
        return choice
    said = _said(choice)
    if said is None:
        return _BAD
    served = _name(chat.model, key)
    if not is_served_as_pinned(pin, served):
        return Failure(cause=FailureCause.WRONG_MODEL, status=_OK, served=served)
    usage, impossible = normalise_usage(chat.usage, has_output=True)
    billed = bill(usage, billing, tier=chat.service_tier, reported=chat.usage)
    text, finish = said
    return Reply(
        text=key.scrub(storable(text)),
        served=served,
        finish=finish,
        usage=billed.usage,
        usage_impossible=impossible or billed.impossible,
        billed=billed.cost,
        first_tokens=_first_tokens(choice.logprobs, key),
    )


def _first_tokens(given: Any, key: Key) -> tuple[FirstToken, ...]:
    """Give the likeliest first tokens of a reply, each with its log-probability; none if unread."""
    try:
        first = msgspec.convert(given, _Logprobs).content[0]
    except (msgspec.ValidationError, IndexError):
        return ()
    chances = {one.token: one.logprob for one in (first, *first.top_logprobs)}
    if any(chance > _ROUNDED for chance in chances.values()):
        # Nothing is likelier than certain: these are no log-probabilities.
        return ()
    read = [
        FirstToken(
            token=key.scrub(storable(token))[:_NAME_CHARACTERS_MAX], logprob=min(0.0, chance)
        )
        for token, chance in chances.items()
        if not math.isnan(chance) and chance > -math.inf
    ]
    return tuple(sorted(read, key=lambda one: (-one.logprob, one.token))[: TOP_LOGPROBS + 1])


def _only_choice(chat: _Chat) -> _Choice | Failure:
    if chat.error is not None and not chat.choices:
        return _failed(chat.error)
    if chat.choices is None or len(chat.choices) != 1:
        return _BAD
    choice = chat.choices[0]
    if choice.error is not None or choice.finish_reason == _FINISH_FAILED:
        return _failed(choice.error)
    return choice


def read_embeddings(
    body: bytes, count: int, pin: ModelPin, key: Key, billing: Billing = _PLAINLY
) -> Vectors | Failure:
    """Read the body of a reply to a request for `count` vectors."""
    reply: _Embeddings | None = _embeddings.decode(body)
    if reply is None:
        return _BAD
    if reply.error is not None and not reply.data:
        return _failed(reply.error)
    vectors = _in_order(reply.data or [], count)
    if vectors is None:
        return _BAD
    served = _name(reply.model, key)
    if not is_served_as_pinned(pin, served):
        return Failure(cause=FailureCause.WRONG_MODEL, status=_OK, served=served)
    usage, impossible = normalise_usage(reply.usage, has_output=False)
    billed = bill(usage, billing, tier=None, reported=reply.usage)
    return Vectors(
        vectors=vectors,
        served=served,
        usage=billed.usage,
        usage_impossible=impossible or billed.impossible,
        billed=billed.cost,
    )


def billed(failure: Failure, body: bytes, *, has_output: bool) -> Failure:
    """Put the usage on a failure that its body reports, if it reports any at all.

    Nothing used is nothing reported: a failure says it that was never counted.
    """
    reported: _Billed | None = _billed.decode(body)
    if reported is None:
        return failure
    usage, impossible = normalise_usage(reported.usage, has_output=has_output)
    if usage == Usage():
        return failure
    return msgspec.structs.replace(failure, usage=usage, usage_impossible=impossible)


def _said(choice: _Choice) -> tuple[str, FinishReason] | None:
    """Give the text of a choice and how it ended; None if there is no text where one is due."""
    message, reason = choice.message, choice.finish_reason
    if message is None:
        return None
    if message.refusal:
        return message.refusal, FinishReason.REFUSAL
    if reason is not None and reason.lower() in _FINISH_REFUSED:
        return message.content or "", FinishReason.REFUSAL
    if message.content is None:
        return None
    return message.content, _FINISH.get(reason or "", FinishReason.OTHER)


def _in_order(data: list[_Datum], count: int) -> tuple[tuple[float, ...], ...] | None:
    places: list[_Datum | None] = [None] * count
    for position, datum in enumerate(data):
        index = position if datum.index is None else datum.index
        if not 0 <= index < count or places[index] is not None:
            return None
        places[index] = datum
    vectors = tuple(tuple(datum.embedding) for datum in places if datum is not None)
    lengths = {len(vector) for vector in vectors}
    if len(vectors) != count or lengths == {0} or len(lengths) > 1:
        return None
    return vectors if all(map(has_direction, vectors)) else None


def _failed(error: object) -> Failure:
    cause, status = cause_of_error(error)
    return Failure(cause=cause, status=status)


def _name(model: str | None, key: Key) -> str:
    return key.scrub(storable(model or ""))[:_NAME_CHARACTERS_MAX]
