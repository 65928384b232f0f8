"""What a journal of calls says: which call is finished, which is lost, what nobody needed. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from perdure.inference.settlement import worst_amount
from perdure.records.journal import IS_FINAL, Intent, JournaledCall, OpenTick, Settled
from perdure.records.record import Record
from perdure.records.registry import CallsLost, CallsOrphaned, LogPayload
from perdure.records.request import Attempt, CallKey, ChatRequest, EmbedRequest, Failure
from perdure.records.usage import Price, Usage

Charge = TypeVar("Charge", bound=CallsLost | CallsOrphaned)

# What a request costs in tokens beside its text, at most: marks of roles, of starts and ends.
_TOKENS_PER_PART = 16


class Recalled(Record):
    """What a journal holds of a call that is asked for again with the same request.

    `final` is how it ended, if it is finished; `earlier` are the attempts before, lost ones left
    out; `next_attempt` is the number of its next attempt.
    """

    next_attempt: int = 0
    earlier: tuple[Attempt, ...] = ()
    final: Settled | None = None


NOTHING = Recalled()


def recall(calls: Sequence[JournaledCall], request: str) -> Recalled | None:
    """Find what is journaled of one call; None if it was made with other requests only."""
    same = [call for call in calls if call.intent.request == request]
    if not same:
        return None if calls else NOTHING
    settled = [call.settled for call in same if call.settled is not None]
    ends = [place for place, one in enumerate(settled) if is_final(one)]
    final = settled[ends[0]] if ends else None
    earlier = settled[: ends[0]] if ends else settled
    return Recalled(
        next_attempt=1 + max(call.intent.attempt for call in calls),
        earlier=tuple(attempt_of(one) for one in earlier),
        final=final,
    )


def is_final(settled: Settled) -> bool:
    """Say whether an attempt ended its call for ever."""
    outcome = settled.outcome
    return not isinstance(outcome, Failure) or IS_FINAL[outcome.cause]


def attempt_of(settled: Settled) -> Attempt:
    """Give the attempt as it enters a record."""
    outcome = settled.outcome
    if isinstance(outcome, Failure):
        return Attempt(
            failed=outcome.cause,
            status=outcome.status,
            served=outcome.served,
            amount=settled.amount,
            source=settled.source,
        )
    return Attempt(
        served=outcome.served,
        usage=outcome.usage,
        amount=settled.amount,
        source=settled.source,
        usage_impossible=outcome.usage_impossible,
    )


def intent_of(
    key: CallKey,
    attempt: int,
    request: ChatRequest | EmbedRequest,
    digest: str,
    price: Price | None,
) -> Intent:
    """Write down what is about to be sent, and what it may cost at most."""
    worst = worst_case(request, price)
    amount, source = worst_amount(worst, price)
    return Intent(
        key=key, attempt=attempt, request=digest, worst=worst, amount=amount, source=source
    )


def worst_case(request: ChatRequest | EmbedRequest, price: Price | None) -> Usage:
    """Bound what a request may use: a token stands for at least one byte of text.

    Input counts as what is dearer, fresh or written to a cache.
    """
    tokens, output = _TOKENS_PER_PART, 0
    if isinstance(request, EmbedRequest):
        for text in request.texts:
            tokens += _bytes(text) + _TOKENS_PER_PART
    else:
        output = request.tokens_max
        for message in request.messages:
            tokens += _bytes(message.content) + _TOKENS_PER_PART
    if price is not None and (price.cache_write or 0) > price.input_fresh:
        return Usage(cache_write=tokens, output=output)
    return Usage(input_fresh=tokens, output=output)


def lost(open_tick: OpenTick) -> tuple[CallsLost, ...]:
    """Charge the attempts that came to nothing, a row for each epoch in which some were sent.

    What was sent may have been billed in full, so each is charged at its worst case.
    """
    by_epoch: dict[int, list[int | None]] = defaultdict(list)
    for call in open_tick.calls:
        if call.settled is None:
            by_epoch[call.epoch].append(call.intent.amount)
    opening = open_tick.opening
    return tuple(
        CallsLost(
            world_id=opening.world,
            tick=opening.tick,
            epoch=epoch,
            calls=len(amounts),
            cost=sum(amount for amount in amounts if amount is not None),
            unknown_costs=amounts.count(None),
        )
        for epoch, amounts in sorted(by_epoch.items())
    )


def orphaned(open_tick: OpenTick, used: Collection[CallKey]) -> CallsOrphaned | None:
    """Charge the attempts that came to something and are not in the record; None if all are.

    `used` are the calls in the record. Of a used call that was journaled with several requests,
    the record has the last.
    """
    last = {call.intent.key: call.intent.request for call in open_tick.calls}
    amounts = [
        call.settled.amount
        for call in open_tick.calls
        if call.settled is not None
        and not (call.intent.key in used and last[call.intent.key] == call.intent.request)
    ]
    if not amounts:
        return None
    return CallsOrphaned(
        world_id=open_tick.opening.world,
        tick=open_tick.opening.tick,
        epoch=open_tick.epoch,
        calls=len(amounts),
        cost=sum(amount for amount in amounts if amount is not None),
        unknown_costs=amounts.count(None),
    )


def uncharged(charges: Iterable[Charge], log: Iterable[LogPayload]) -> tuple[Charge, ...]:
    """Leave out what a run log has already: the kill came between the log and the journal."""
    known = {
        (type(row), row.world_id, row.tick, row.epoch)
        for row in log
        if isinstance(row, CallsLost | CallsOrphaned)
    }
    return tuple(
        charge
        for charge in charges
        if (type(charge), charge.world_id, charge.tick, charge.epoch) not in known
    )


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
