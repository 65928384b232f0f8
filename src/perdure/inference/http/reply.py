"""Reply bodies read: every body is either an answer or a named failure, never an exception."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from perdure.base.text import storable
from perdure.base.vectors import has_direction
from perdure.inference.call_ids import ids_in
from perdure.inference.http.billing import Billing, bill
from perdure.inference.http.body import TOP_LOGPROBS
from perdure.inference.http.key import Key
from perdure.inference.http.served import is_served_as_pinned
from perdure.inference.http.status import cause_of_error, said_of
from perdure.inference.http.strict import StrictDecoder
from perdure.inference.http.tools import Called, read_calls
from perdure.inference.http.usage import normalise_usage
from perdure.records.request import (
    ChatRequest,
    Failure,
    FailureCause,
    FinishReason,
    FirstToken,
    Reply,
    Vectors,
)
from perdure.records.scenario import ModelPin
from perdure.records.tools import ToolCall
from perdure.records.usage import Usage

_NAME_CHARACTERS_MAX = 200
_FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
_FINISH_REFUSED = frozenset({"content_filter", "refusal", "safety"})
_FINISH_CALLS = frozenset({"tool_calls", "function_call"})
_FINISH_FAILED = "error"
_ROUNDED = 1e-6  # how far above 0 rounding may bring the logarithm of a certainty
_OK = 200
_PLAINLY = Billing()
_BAD = Failure(cause=FailureCause.BAD_REPLY, status=_OK)


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: Any = None
    function_call: Any = None


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


class Asked(msgspec.Struct, frozen=True):
    """What a request for a reply offered: whether there are tools, and the ids of calls so far."""

    tools: bool = False
    ids: frozenset[str] = frozenset()


PLAIN = Asked()


class _Spoken(msgspec.Struct):
    text: str
    finish: FinishReason
    calls: tuple[ToolCall, ...] = ()


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
        "tool_calls",
        "function",
        "name",
        "arguments",
        "function_call",
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


def asked_by(request: ChatRequest) -> Asked:
    """Say what a request offered, as far as that decides how its reply is read."""
    return Asked(bool(request.tools), ids_in(request.messages)) if request.tools else PLAIN


def read_chat(
    body: bytes, pin: ModelPin, key: Key, billing: Billing = _PLAINLY, asked: Asked = PLAIN
) -> Reply | Failure:
    """Read the body of a chat completion. Calls are read where tools were offered, and only there.

    An endpoint that was offered tools and answers with the older `function_call`, or that says
    that it calls some and names none, has not answered.
    """
    chat: _Chat | None = _chat.decode(body)
    return _BAD if chat is None else _read(chat, pin, key, billing, asked)


def read_chat_tree(
    tree: Any, pin: ModelPin, key: Key, billing: Billing = _PLAINLY, asked: Asked = PLAIN
) -> Reply | Failure:
    """Read a chat completion whose body came in pieces and was put together."""
    try:
        return _read(msgspec.convert(tree, _Chat), pin, key, billing, asked)
    except msgspec.ValidationError:
        return _BAD


def _read(chat: _Chat, pin: ModelPin, key: Key, billing: Billing, asked: Asked) -> Reply | Failure:
    choice = _only_choice(chat, key)
    if isinstance(choice, Failure):
        return choice
    said = _said(choice, asked, key)
    if said is None:
        return _BAD
    served = _name(chat.model, key)
    if not is_served_as_pinned(pin, served):
        return Failure(cause=FailureCause.WRONG_MODEL, status=_OK, served=served)
    usage, impossible = normalise_usage(chat.usage, has_output=True)
    billed = bill(usage, billing, tier=chat.service_tier, reported=chat.usage)
    return Reply(
        text=key.scrub(storable(said.text)),
        served=served,
        finish=said.finish,
        usage=billed.usage,
        usage_impossible=impossible or billed.impossible,
        billed=billed.cost,
        first_tokens=_first_tokens(choice.logprobs, key),
        calls=said.calls,
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


def _only_choice(chat: _Chat, key: Key) -> _Choice | Failure:
    if chat.error is not None and not chat.choices:
        return _failed(chat.error, key)
    if chat.choices is None or len(chat.choices) != 1:
        return _BAD
    choice = chat.choices[0]
    if choice.error is not None or choice.finish_reason == _FINISH_FAILED:
        return _failed(choice.error, key)
    return choice


def read_embeddings(
    body: bytes, count: int, pin: ModelPin, key: Key, billing: Billing = _PLAINLY
) -> Vectors | Failure:
    """Read the body of a reply to a request for `count` vectors."""
    reply: _Embeddings | None = _embeddings.decode(body)
    if reply is None:
        return _BAD
    if reply.error is not None and not reply.data:
        return _failed(reply.error, key)
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
    return (
        failure if reported is None else billed_for(failure, reported.usage, has_output=has_output)
    )


def billed_for(failure: Failure, reported: Any, *, has_output: bool = True) -> Failure:
    """Put a reported usage on a failure, as `billed` does."""
    usage, impossible = normalise_usage(reported, has_output=has_output)
    if usage == Usage():
        return failure
    return msgspec.structs.replace(failure, usage=usage, usage_impossible=impossible)


def _said(choice: _Choice, asked: Asked, key: Key) -> _Spoken | None:
    """Give what a choice says and how it ended; None if there is nothing where something is due."""
    message, reason = choice.message, (choice.finish_reason or "").lower()
    if message is None:
        return None
    if message.refusal:
        return _Spoken(message.refusal, FinishReason.REFUSAL)
    if reason in _FINISH_REFUSED:
        return _Spoken(message.content or "", FinishReason.REFUSAL)
    calls = _calls(message, asked, key) if asked.tools else ()
    if calls:
        # Some say `stop` where they call a tool. A reply that was cut may have cut its last call.
        is_cut = _FINISH.get(reason) is FinishReason.LENGTH
        finish = FinishReason.LENGTH if is_cut else FinishReason.TOOL_CALLS
        return _Spoken(message.content or "", finish, calls)
    is_lost = asked.tools and (reason in _FINISH_CALLS or message.function_call is not None)
    if calls is None or is_lost or message.content is None:
        return None
    return _Spoken(message.content, _FINISH.get(choice.finish_reason or "", FinishReason.OTHER))


def _calls(message: _Message, asked: Asked, key: Key) -> tuple[ToolCall, ...] | None:
    """Read the calls of a message; None if they cannot be read."""
    return () if message.tool_calls is None else read_calls_of(message.tool_calls, asked, key)


def read_calls_of(given: Any, asked: Asked, key: Key) -> tuple[ToolCall, ...] | None:
    """Read a list of calls as endpoints write them; None if it cannot be read."""
    try:
        called = msgspec.convert(given, list[Called])
    except msgspec.ValidationError:
        return None
    return read_calls(called, asked.ids, key)


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


def _failed(error: object, key: Key) -> Failure:
    cause, status = cause_of_error(error)
    return Failure(cause=cause, status=status, detail=said_of(error, key))


def _name(model: str | None, key: Key) -> str:
    return key.scrub(storable(model or ""))[:_NAME_CHARACTERS_MAX]
