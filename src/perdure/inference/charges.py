"""What a journal of calls says: which call is finished, which is lost, what nobody needed. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from perdure.inference.offer import Offer
from perdure.inference.reservations import Amounts
from perdure.inference.settlement import attempt_of, tokens_charged, tokens_of
from perdure.records.journal import IS_FINAL, Intent, JournaledCall, OpenTick, Settled
from perdure.records.record import Record
from perdure.records.registry import CallsLost, CallsOrphaned, LogPayload
from perdure.records.request import Attempt, CallKey, Failure
from perdure.records.usage import CostSource

Charge = TypeVar("Charge", bound=CallsLost | CallsOrphaned)


class Recalled(Record):
    """What a journal holds of a call that is asked for again with the same request.

    `final` is how it ended, if it is finished; `earlier` are the attempts before, lost ones left
    out; `next_attempt` is the number of its next attempt.
    """

    next_attempt: int = 0
    earlier: tuple[Attempt, ...] = ()
    final: JournaledCall | None = None


NOTHING = Recalled()


def recall(calls: Sequence[JournaledCall], request: str) -> Recalled | None:
    """Find what is journaled of one call; None if it was made with other requests only."""
    same = [call for call in calls if call.intent.request == request]
    if not same:
        return None if calls else NOTHING
    ended = [call for call in same if call.settled is not None]
    ends = [place for place, one in enumerate(ended) if one.settled and is_final(one.settled)]
    earlier = ended[: ends[0]] if ends else ended
    return Recalled(
        next_attempt=1 + max(call.intent.attempt for call in calls),
        earlier=tuple(map(attempt_record, earlier)),
        final=ended[ends[0]] if ends else None,
    )


def spent(settled: Settled) -> Amounts:
    """Count what an attempt took of the budget."""
    return Amounts(
        money=settled.amount or 0,
        calls=1,
        tokens=tokens_charged(settled),
        unknown=settled.amount is None,
    )


def is_final(settled: Settled) -> bool:
    """Say whether an attempt ended its call for ever."""
    outcome = settled.outcome
    return not isinstance(outcome, Failure) or IS_FINAL[outcome.cause]


def attempt_record(call: JournaledCall) -> Attempt:
    """Give a finished attempt as it enters a record."""
    assert call.settled is not None, "only what came to something is in a record"
    return attempt_of(call.settled, call.intent.worst, call.intent.amount)


def intent_of(key: CallKey, attempt: int, offer: Offer, digest: str) -> Intent:
    """Write down what is about to be sent, and what it may cost at most."""
    amount = offer.worst_amount
    source = CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE
    return Intent(
        key=key,
        attempt=attempt,
        request=digest,
        worst=offer.worst,
        role=offer.request.role,
        amount=amount,
        source=source,
    )


def lost(open_tick: OpenTick) -> tuple[CallsLost, ...]:
    """Charge the attempts that came to nothing, a row for each epoch in which some were sent.

    What was sent may have been billed in full, so each is charged at its worst case.
    """
    by_epoch: dict[int, list[Intent]] = defaultdict(list)
    for call in open_tick.model_calls:
        if call.settled is None:
            by_epoch[call.epoch].append(call.intent)
    opening = open_tick.opening
    return tuple(
        CallsLost(
            world_id=opening.world,
            tick=opening.tick,
            epoch=epoch,
            calls=len(sent),
            cost=sum(intent.amount or 0 for intent in sent),
            unknown_costs=sum(intent.amount is None for intent in sent),
            tokens=sum(tokens_of(intent.worst) for intent in sent),
        )
        for epoch, sent in sorted(by_epoch.items())
    )


def orphaned(open_tick: OpenTick, used: Collection[CallKey]) -> CallsOrphaned | None:
    """Charge the attempts that came to something and are not in the record; None if all are.

    `used` are the calls in the record. Of a used call that was journaled with several requests,
    the record has the last.
    """
    last = {call.intent.key: call.intent.request for call in open_tick.model_calls}
    unused = [
        call.settled
        for call in open_tick.model_calls
        if call.settled is not None
        and not (call.intent.key in used and last[call.intent.key] == call.intent.request)
    ]
    if not unused:
        return None
    return CallsOrphaned(
        world_id=open_tick.opening.world,
        tick=open_tick.opening.tick,
        epoch=open_tick.epoch,
        calls=len(unused),
        cost=sum(one.amount or 0 for one in unused),
        unknown_costs=sum(one.amount is None for one in unused),
        tokens=sum(map(tokens_charged, unused)),
    )


def uncharged(charges: Iterable[Charge], log: Iterable[LogPayload]) -> tuple[Charge, ...]:
    """Leave out what a run log has already: the kill came between the log and the journal."""
    charges = tuple(charges)
    if not charges:
        return ()
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
