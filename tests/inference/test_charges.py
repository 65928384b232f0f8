"""What a journal of calls says: which is finished, which lost, which nobody needed."""

from __future__ import annotations

import msgspec
import pytest
from tests.support.calls import REQUEST, WORLD, embedded, failed, intent, key, opening, replied

from perdure.base.canonical import hash_hex
from perdure.inference.charges import (
    NOTHING,
    attempt_record,
    intent_of,
    is_final,
    lost,
    orphaned,
    recall,
    uncharged,
)
from perdure.inference.offer import Offer, worst_case
from perdure.inference.settlement import attempt_of, settle
from perdure.records.journal import IS_FINAL, Intent, JournaledCall, OpenTick, Settled
from perdure.records.registry import CallsLost, CallsOrphaned, RunOpened
from perdure.records.request import ChatRequest, FailureCause, Message
from perdure.records.usage import CostSource, Price
from perdure.study.pricing import FREE

OTHER = hash_hex("another request")
PRICE = Price(input_fresh=1_000_000, output=2_000_000)


def call(
    job: int = 0,
    attempt: int = 0,
    settled: Settled | None = None,
    *,
    epoch: int = 1,
    request: str = REQUEST,
    amount: int | None = 900,
) -> JournaledCall:
    """Make an attempt as journaled."""
    made = intent(key(job), attempt, request, amount)
    return JournaledCall(epoch=epoch, intent=made, settled=settled)


def tick(*calls: JournaledCall, epoch: int = 1) -> OpenTick:
    """Make an open tick."""
    return OpenTick(epoch=epoch, opening=opening(), calls=calls)


def test_replies_and_rejections_are_final_and_the_rest_is_tried_again() -> None:
    """P3: what the endpoint decided for ever is never asked again; what its state decided, is."""
    final = {cause for cause in FailureCause if is_final(failed(cause))}
    assert final == {
        FailureCause.REJECTED,
        FailureCause.UNSUPPORTED,
        FailureCause.FACTS_MISSING,
    }
    assert set(IS_FINAL) == set(FailureCause)
    assert is_final(replied())
    assert is_final(embedded())


def test_nothing_is_recalled_of_a_call_that_was_never_made() -> None:
    """A call without a journal is made as its first attempt."""
    assert recall([], REQUEST) is NOTHING


def test_a_finished_call_is_recalled_with_the_attempts_before_it() -> None:
    """Failed attempts of earlier lives belong to the call; lost ones are charged elsewhere."""
    calls = [
        call(attempt=0, settled=failed()),
        call(attempt=1),
        call(attempt=2, settled=replied(), epoch=2),
    ]
    found = recall(calls, REQUEST)
    assert found is not None
    assert found.final == calls[2]
    assert found.earlier == (attempt_record(calls[0]),)
    unfinished = recall(calls[:2], REQUEST)
    assert unfinished is not None
    assert (unfinished.final, unfinished.next_attempt) == (None, 2)
    assert unfinished.earlier == (attempt_record(calls[0]),)


def test_another_request_is_not_the_same_call() -> None:
    """Only attempts with the same request answer a call; with others only, it is a mismatch."""
    assert recall([call(settled=replied("a"))], OTHER) is None
    both = [call(settled=replied("a")), call(attempt=1, settled=replied("b"), request=OTHER)]
    found = recall(both, OTHER)
    assert found is not None
    assert found.final == both[1]


@pytest.mark.parametrize("settled", [replied(), embedded(), failed(), failed(FailureCause.CONNECT)])
def test_a_journaled_attempt_is_the_one_that_was_recorded(settled: Settled) -> None:
    """What comes from the journal is what the host would have recorded, cost and all."""
    made = call()
    charged = settle(settled.outcome, made.intent.worst, PRICE)
    attempt = attempt_of(charged, made.intent.worst, made.intent.amount)
    assert attempt_record(msgspec.structs.replace(made, settled=charged)) == attempt


def test_an_intent_says_what_it_may_cost() -> None:
    """The amount follows from the counts; without a price it is unknown; what is free is free."""
    request = ChatRequest(role="a", messages=(Message(role="user", content="x"),), tokens_max=10)

    def intended(price: Price | None) -> Intent:
        offer = Offer(request=request, worst=worst_case(request), price=price)
        return intent_of(key(), 0, offer, REQUEST)

    known, unknown = intended(PRICE), intended(None)
    assert (known.amount, known.source) == (33 + 20, CostSource.PRICE_TABLE)
    assert (unknown.amount, unknown.source) == (None, CostSource.UNKNOWN)
    assert intended(FREE).amount == 0


def test_lost_calls_are_charged_in_full_by_epoch() -> None:
    """P3, P5: what was sent and came to nothing is charged at its worst; unknown stays unknown."""
    found = lost(
        tick(
            call(0, settled=replied()),
            call(1),
            call(2, amount=None),
            call(3, epoch=3),
            call(3, attempt=1, epoch=4, settled=failed()),
        )
    )
    assert found == (
        CallsLost(
            world_id=WORLD, tick=0, epoch=1, calls=2, cost=900, unknown_costs=1, tokens=1_800
        ),
        CallsLost(world_id=WORLD, tick=0, epoch=3, calls=1, cost=900, tokens=900),
    )
    assert lost(tick(call(settled=replied()))) == ()


def test_what_the_record_does_not_need_is_orphaned() -> None:
    """P5: a finished call that its tick did not use is charged; a lost one is not charged twice."""
    calls = tick(
        call(0, settled=replied(amount=5)),
        call(1, settled=replied(amount=7)),
        call(2, settled=failed()),
        call(3),
        epoch=2,
    )
    assert orphaned(calls, {key(0), key(1), key(2)}) is None
    assert orphaned(calls, {key(0)}) == CallsOrphaned(
        world_id=WORLD, tick=0, epoch=2, calls=2, cost=7, unknown_costs=1, tokens=12
    )


def test_of_a_call_made_with_several_requests_the_last_is_used() -> None:
    """What was asked before the tick went another way is in no record."""
    calls = tick(
        call(0, settled=replied(amount=5)),
        call(0, attempt=1, settled=replied(amount=7), request=OTHER),
    )
    assert orphaned(calls, {key(0)}) == CallsOrphaned(
        world_id=WORLD, tick=0, epoch=1, calls=1, cost=5, tokens=12
    )


def test_a_charge_is_made_once() -> None:
    """A kill between the run log and the journal charges nothing twice."""
    rows = lost(tick(call(0), call(1, epoch=2)))
    assert uncharged(rows, [RunOpened(epoch=1)]) == rows
    assert uncharged(rows, [rows[0]]) == rows[1:]
    other = CallsOrphaned(world_id=WORLD, tick=0, epoch=1, calls=9)
    assert uncharged(rows, [other]) == rows
    assert uncharged([other], [other]) == ()
