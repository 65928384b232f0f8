"""What a journal says of a call of a tool outside the world: done, lost, or to be made. Pure.

What was about to act when its program ended may have acted. Nobody knows, so it is never done
again: its outcome is unknown. What only reads is read again.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perdure.base.canonical import encode
from perdure.base.redaction import redacted
from perdure.records.journal import Intent, JournaledCall, Settled
from perdure.records.record import Record
from perdure.records.request import CallKey, Reply
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer
from perdure.records.usage import CostSource, Usage

LOST = (
    "The program was ended while the call ran, so that nobody saw what it came to: what it was to"
    " do may have happened, in part or in whole. It is not done again."
)
UNKNOWN = ToolAnswer(status=AnswerStatus.UNKNOWN, text=LOST)

# It stands where a reply has the name of the model that served it.
_SERVED = "tool"


class Remembered(Record):
    """What is held of a call: how it was answered, if it was, and else the number of its next try.

    It is `same` unless it was only made with another request.
    """

    answer: ToolAnswer | None = None
    next_attempt: int = 0
    same: bool = True


def remembered(calls: Sequence[JournaledCall], request: str) -> Remembered:
    """Find what is to come of a call, given all that is journaled under its key."""
    same = [call for call in calls if call.intent.request == request]
    for call in same:
        if call.settled is not None:
            return Remembered(answer=answer_in(call.settled))
    if any(call.intent.effect is not Effect.READ for call in same):
        return Remembered(answer=UNKNOWN)
    following = 1 + max((call.intent.attempt for call in calls), default=-1)
    return Remembered(next_attempt=following, same=bool(same) or not calls)


def effect_of(key: CallKey, attempt: int, effect: Effect, request: str) -> Intent:
    """Write down what is about to be called."""
    return Intent(
        key=key,
        attempt=attempt,
        request=request,
        worst=Usage(),
        amount=0,
        source=CostSource.PRICE_TABLE,
        effect=effect,
    )


def settled_as(answer: ToolAnswer) -> Settled:
    """Write down what it came to, as a reply that costs nothing."""
    reply = Reply(text=encode(answer).decode(), served=_SERVED)
    return Settled(outcome=reply, amount=0, source=CostSource.PRICE_TABLE)


def answer_in(settled: Settled) -> ToolAnswer:
    """Read what it came to."""
    assert isinstance(settled.outcome, Reply), "an effect is settled by a reply"
    return msgspec.json.decode(settled.outcome.text, type=ToolAnswer)


def may_have_acted(calls: Sequence[JournaledCall]) -> bool:
    """Say whether any of these calls of tools has done more than read, or may have."""
    return any(call.intent.effect not in {None, Effect.READ} for call in calls)


def without_secrets(reply: Reply) -> Reply:
    """Take the secrets out of what a model says, and asks tools for."""
    calls = tuple(
        msgspec.structs.replace(call, arguments=redacted(call.arguments)) for call in reply.calls
    )
    return msgspec.structs.replace(reply, text=redacted(reply.text), calls=calls)
