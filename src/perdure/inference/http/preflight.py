"""Before a run: whether the endpoint is there, takes the key and knows the model. Nothing is paid.

Not every endpoint lists its models, and not every list is whole: what is not there is no error.
"""

from __future__ import annotations

import http

import msgspec

from perdure.base.errors import (
    EndpointUnreachableError,
    KeyOrModelRefusedError,
    PerdureError,
    ProviderPausedError,
)
from perdure.base.text import one_line
from perdure.inference.http.served import is_served_as_pinned
from perdure.inference.http.transport import Answer
from perdure.records.request import Failure, FailureCause
from perdure.records.scenario import ModelPin

_NAMES_SHOWN = 5


class _Listed(msgspec.Struct):
    id: str = ""


class _Models(msgspec.Struct):
    data: list[_Listed]
    has_more: bool = False


_decoder = msgspec.json.Decoder(_Models)
_UNREACHABLE = {
    FailureCause.TIMEOUT: "does not answer in time",
    FailureCause.CONNECT: "cannot be reached",
    FailureCause.TRANSPORT: "does not speak HTTP as it should, or broke the connection",
}


def verdict(answer: Answer | Failure, pin: ModelPin, where: str) -> PerdureError | None:
    """Judge the reply to a request for the list of models; None if nothing speaks against a run."""
    if isinstance(answer, Failure):
        what = _UNREACHABLE.get(answer.cause)
        return None if what is None else _unreachable(what, where)
    status = answer.status
    if status in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        return KeyOrModelRefusedError(
            f"The model endpoint refused the key (HTTP {status}).",
            where=where,
            remedy="Check the key, and that it is for this endpoint.",
        )
    if status == http.HTTPStatus.PAYMENT_REQUIRED:
        return ProviderPausedError(
            "The account at the model endpoint is out of money (HTTP 402).",
            where=where,
            remedy="Add credit, and continue.",
        )
    if 300 <= status < 400:  # noqa: PLR2004 - the redirects
        return _unreachable(f"redirects elsewhere (HTTP {status}), which is not followed", where)
    if status in {502, 503, 504}:
        return _unreachable(f"is not available (HTTP {status})", where)
    return _absent(answer.body, pin, where) if status == http.HTTPStatus.OK else None


def _absent(body: bytes, pin: ModelPin, where: str) -> PerdureError | None:
    try:
        models = _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return None  # no list that we can read
    names = [listed.id for listed in models.data]
    if not names or models.has_more or any(_counts(pin, name) for name in names):
        return None
    shown = ", ".join(one_line(name, 60) for name in sorted(names)[:_NAMES_SHOWN])
    more = " ..." if len(names) > _NAMES_SHOWN else ""
    return KeyOrModelRefusedError(
        f"The model endpoint does not know the model {one_line(pin.model, 60)!r}.",
        where=where,
        remedy=f"It knows {shown}{more}.",
    )


def _counts(pin: ModelPin, name: str) -> bool:
    return name == pin.model or is_served_as_pinned(pin, name)


def _unreachable(what: str, where: str) -> EndpointUnreachableError:
    return EndpointUnreachableError(
        f"The model endpoint {what}.",
        where=where,
        remedy="Check the address and the network, and try again.",
    )
