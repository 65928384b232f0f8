"""When a tick may close."""

import pytest

from perdure.records.outcome import TurnDone, TurnFailed, TurnFailureCause
from perdure.records.request import Attempt, CallKey, CallResult, FailureCause, Reply, Vectors
from perdure.runner.quorum import shortfall, unanswered

KEY = CallKey(world="w", tick=0, job=0, purpose="turn", ordinal=0)
ANSWERED = CallResult(key=KEY, attempts=(Attempt(),), answer=Reply(text="x", served="m"))
DONE = TurnDone(messages=(), answer="x")
FAILED = CallResult(key=KEY, attempts=(Attempt(failed=FailureCause.TIMEOUT),))


def test_a_failed_turn_without_a_call_is_unanswered_by_its_own_cause():
    """An agent that declines every turn has answered none of them."""
    declined = TurnFailed(cause=TurnFailureCause.AGENT_DECLINED)
    assert unanswered([(declined, []), (declined, [ANSWERED])]) == ["agent_declined"]


def test_only_a_job_that_called_and_got_nothing_is_unanswered():
    """An answer without a call, and any reply at all, do not count against the quorum."""
    turns = [[], [ANSWERED], [FAILED, ANSWERED], [FAILED], [FAILED, FAILED]]
    assert unanswered((DONE, calls) for calls in turns) == ["timeout", "timeout"]


def test_vectors_are_no_reply():
    """What only prepares a reply does not answer a turn whose reply never came."""
    embedded = CallResult(
        key=KEY, attempts=(Attempt(),), answer=Vectors(vectors=((1.0,),), served="m")
    )
    lost = TurnFailed(cause=TurnFailureCause.CALL_FAILED, call=FailureCause.TIMEOUT)
    too_long = TurnFailed(cause=TurnFailureCause.CONTEXT_EXCEEDED)
    assert unanswered([(lost, [embedded, FAILED])]) == ["timeout"]
    assert unanswered([(DONE, [FAILED, embedded])]) == ["timeout"]
    assert unanswered([(too_long, [embedded])]) == ["context_exceeded"]
    assert unanswered([(DONE, [embedded, ANSWERED]), (DONE, [embedded])]) == []


def test_answers_that_broke_a_rule_are_replies():
    """A turn that failed by its guardrail was answered, twice."""
    failed = TurnFailed(cause=TurnFailureCause.GUARDRAIL)
    assert unanswered([(failed, [ANSWERED, ANSWERED])]) == []
    assert unanswered([(failed, [ANSWERED, FAILED])]) == []


@pytest.mark.parametrize(("failed", "closes"), [(0, True), (1, True), (2, False), (10, False)])
def test_a_tick_closes_at_its_quorum_and_not_below(failed: int, *, closes: bool):
    """Of ten jobs at a quorum of 0.9, one may go unanswered and two may not."""
    assert (shortfall(10, [FailureCause.CONNECT] * failed, 0.9) is None) is closes


def test_a_shortfall_says_how_many_and_why():
    """What did not get through is counted by cause."""
    causes = [FailureCause.CONNECT, FailureCause.CONNECT, FailureCause.TIMEOUT]
    short = shortfall(4, causes, 0.5)
    assert short is not None
    assert (short.jobs, short.unanswered) == (4, 3)
    assert short.causes == {"connect": 2, "timeout": 1}


def test_a_quorum_of_one_allows_no_loss_and_of_zero_any():
    """The two ends of the scale mean what they say."""
    assert shortfall(3, [FailureCause.CONNECT], 1.0) is not None
    assert shortfall(3, [FailureCause.CONNECT] * 3, 0.0) is None
