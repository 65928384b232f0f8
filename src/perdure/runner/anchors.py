"""Checks anchors under a model of vectors: embeds their texts, pays for it, and judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from perdure.base.errors import EndpointUnreachableError, PerdureError, PluginError
from perdure.base.vectors import Vector, rounded
from perdure.elicitation.anchor_check import check
from perdure.inference.host import InferenceHost
from perdure.records.anchors import AnchorCheck, Anchors
from perdure.records.record import Record
from perdure.records.request import CallKey, CallResult, EmbedRequest, FailureCause, Vectors
from perdure.records.study import ModelSpec
from perdure.runner.endings import refusal
from perdure.runner.respondents import host_for
from perdure.study.read_models import EMBED

# Some endpoints take no more texts in one call.
TEXTS_MAX = 64

_REFUSED = {FailureCause.OUT_OF_MONEY, FailureCause.KEY_REFUSED, FailureCause.MODEL_UNKNOWN}


class CheckedAnchors(Record):
    """A check of anchors and what it took: calls, and their cost in nano-units.

    `unknown` counts the attempts whose cost nobody knows.
    """

    check: AnchorCheck
    calls: int
    amount: int
    unknown: int


async def check_anchors(anchors: Anchors, spec: ModelSpec, currency: str) -> CheckedAnchors:
    """Check anchors under a model of vectors; `currency` is that of its price.

    Raises:
        UsageError: the model cannot be made ready, with the line that mends it.
        EndpointUnreachableError: a call got no vectors, after every retry.
        KeyOrModelRefusedError: the endpoint refused the key, or does not know the model.
        ProviderPausedError: the provider's account is empty.
        PluginError: what came back are no vectors that can be compared.

    """
    host = host_for({EMBED: spec}, currency)
    await host.open()
    try:
        await host.check()
        results = [
            await _called(host, number, texts) for number, texts in enumerate(_parts(anchors.texts))
        ]
    finally:
        await host.close()
    attempts = [attempt for one in results for attempt in one.attempts]
    return CheckedAnchors(
        check=_judged(anchors, results, spec),
        calls=len(results),
        amount=sum(attempt.amount or 0 for attempt in attempts),
        unknown=sum(attempt.amount is None for attempt in attempts),
    )


async def _called(host: InferenceHost, number: int, texts: tuple[str, ...]) -> CallResult:
    key = CallKey(world="anchors", tick=0, job=-1, purpose="anchors", ordinal=number)
    result = await host.call(key, EmbedRequest(role=EMBED, texts=texts))
    if result.failed is not None:
        raise _error(result.failed)
    return result


def _parts(texts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(texts), TEXTS_MAX):
        yield texts[start : start + TEXTS_MAX]


def _judged(anchors: Anchors, results: Sequence[CallResult], spec: ModelSpec) -> AnchorCheck:
    """Deal the vectors out in the order in which the texts were asked for, and judge."""
    answers = [one.answer for one in results if isinstance(one.answer, Vectors)]
    vectors = iter(rounded([vector for answer in answers for vector in answer.vectors]))

    def dealt(parts: Sequence[Sequence[str]]) -> list[list[Vector]]:
        return [list(islice(vectors, len(part))) for part in parts]

    sets = dealt(anchors.sets)
    try:
        return check(anchors, sets, dealt(anchors.ladder), spec.pin)
    except ValueError as error:
        raise PluginError(
            f"What the model gave cannot be compared: {error}.",
            where=f"model {spec.pin.model}",
            remedy="Name a model as `embed` that gives every text a vector of one length.",
        ) from error


def _error(cause: FailureCause) -> PerdureError:
    if cause in _REFUSED:
        return refusal(cause, "anchors")
    return EndpointUnreachableError(
        f"The anchors got no vectors: {cause}.",
        remedy="Nothing is kept. Check the endpoint, then run this again.",
    )
