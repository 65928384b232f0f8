"""What a call is taken to cost: an upper quantile of the calls of its kind that were paid for."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.learning import learn, learn_tick

from perdure.inference.reservations import NOTHING, Amounts
from perdure.records.events import Cost
from perdure.records.request import Attempt, FailureCause
from perdure.records.usage import CostSource, Usage
from perdure.runner.estimates import QUANTILE, Estimates, calls_of, calls_seen, cost_of

TURN = ("tier_a", "turn")
USED = Usage(input_fresh=90, output=10)


def paid(amount: int) -> Attempt:
    """Make an attempt that was paid for by its usage."""
    return Attempt(usage=USED, amount=amount, source=CostSource.PRICE_TABLE)


UNKNOWN = Attempt(usage=USED)
RELEASED = Attempt(failed=FailureCause.CONNECT, amount=0, source=CostSource.PRICE_TABLE)
CHARGED = Attempt(failed=FailureCause.TIMEOUT, amount=500, source=CostSource.ESTIMATE)
CACHED = Attempt(usage=USED, amount=0, source=CostSource.CACHE)
FREE = Attempt(usage=USED, amount=0, source=CostSource.PROVIDER)
IMPOSSIBLE = Attempt(usage=USED, amount=500, source=CostSource.PRICE_TABLE, usage_impossible=True)


NO_USAGE = Attempt(amount=500, source=CostSource.ESTIMATE)


def learned(*amounts: int) -> Estimates:
    """Learn from calls of one kind that were paid for."""
    estimates = Estimates({TURN: 70})
    for amount in amounts:
        learn(estimates, "tier_a", "m", "turn", [paid(amount)])
    return estimates


def test_before_any_call_the_typical_one_counts() -> None:
    """What the plan says of a typical call holds until a call of that kind was paid for."""
    estimates = Estimates({TURN: 70, ("tier_b", "reflection"): None})
    assert estimates.call(*TURN) == 70
    assert estimates.call("tier_b", "reflection") is None
    assert estimates.call("tier_c", "probe") is None
    learn(estimates, "tier_b", "m", "turn", [paid(4)])
    assert estimates.call(*TURN) == 70, "another role is another kind of call"
    learn(estimates, "tier_a", "m", "turn", [paid(4)])
    assert estimates.call(*TURN) == 4


@pytest.mark.parametrize(
    ("amounts", "estimate"),
    [
        ([10] * 100, 10),
        ([10] * 90 + [60] * 10, 10),
        ([10] * 89 + [60] * 11, 60),
        (range(1, 61), 54),
        ([7, 1_000_000_007], 1_000_000_007),
        ([1_001, 1_000], 1_001),
    ],
)
def test_an_estimate_is_an_upper_quantile(amounts: list[int], estimate: int) -> None:
    """Nine calls in ten cost no more."""
    assert learned(*amounts).call(*TURN) == estimate


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=60), st.randoms())
def test_an_estimate_is_close_and_never_low(amounts: list[int], random) -> None:
    """It is a real amount, no less than the quantile and at most a 32nd above; order is nothing."""
    estimate = learned(*amounts).call(*TURN)
    place = -(-QUANTILE.numerator * len(amounts) // QUANTILE.denominator) - 1
    exact = sorted(amounts)[place]
    assert estimate in amounts
    assert exact <= estimate <= exact + exact // 32
    random.shuffle(amounts)
    assert learned(*amounts).call(*TURN) == estimate


@pytest.mark.parametrize(
    "attempts",
    [[], [CACHED], [FREE], [RELEASED], [UNKNOWN], [RELEASED, CACHED]],
)
def test_a_call_that_cost_nothing_says_nothing(attempts: list[Attempt]) -> None:
    """One free, cached, released or unknown call never dilutes an estimate or a mean."""
    assert cost_of(attempts) == (0, 0)
    estimates = learned(10, 10)
    for _ in range(1_000):
        learn(estimates, "tier_a", "m", "turn", attempts)
    assert estimates.call(*TURN) == 10
    assert estimates.mean("m", "tier_a") == 10


@pytest.mark.parametrize(
    ("attempts", "cost"),
    [
        ([paid(10)], (10, 0)),
        ([CHARGED, paid(10)], (10, 500)),
        ([RELEASED, paid(10)], (10, 0)),
        ([UNKNOWN, paid(10)], (10, 0)),
        ([paid(10), paid(5)], (15, 0)),
        ([CHARGED, CHARGED], (0, 1_000)),
        ([IMPOSSIBLE], (0, 500)),
        ([NO_USAGE], (0, 500)),
    ],
)
def test_a_call_costs_what_its_attempts_cost(
    attempts: list[Attempt], cost: tuple[int, int]
) -> None:
    """Retries are part of a call; what is charged for want of a usage is no price."""
    assert cost_of(attempts) == cost


@pytest.mark.parametrize("faults", [1, 5, 15, 40])
def test_charges_for_faults_weigh_what_they_come_to(faults: int) -> None:
    """A call is not taken for a worst case because some of its kind were, nor are they left out."""
    estimates = Estimates({TURN: 70})
    for place in range(100):
        attempts = [CHARGED, paid(10)] if place < faults else [paid(10)]
        learn(estimates, "tier_a", "m", "turn", attempts)
    assert estimates.call(*TURN) == 10 + 500 * faults // 100
    assert estimates.calls({TURN: 100}).money == 1_000 + 500 * faults


@pytest.mark.parametrize("attempts", [[CHARGED], [NO_USAGE]])
def test_calls_that_never_tell_a_usage_cost_what_they_are_charged(attempts: list[Attempt]) -> None:
    """An endpoint that reports none is charged its worst cases, and that is what lies ahead."""
    estimates = Estimates({TURN: 70})
    learn(estimates, "tier_a", "m", "turn", attempts)
    assert estimates.call(*TURN) == 500
    assert estimates.mean("m", "tier_a") is None, "it is not priced"
    for _ in range(9):
        learn(estimates, "tier_a", "m", "turn", [paid(10)])
    assert estimates.call(*TURN) == 59


def test_means_are_by_model_and_role() -> None:
    """They are exact, and the dearest of them stands in where neither is known."""
    estimates = Estimates({})
    assert estimates.mean("m", "tier_a") is None
    assert estimates.dearest_mean() is None
    for amount in (10, 11):
        learn(estimates, "tier_a", "m", "turn", [paid(amount)])
        learn(estimates, "tier_a", "m", "probe", [paid(amount)])
    learn(estimates, "tier_b", "m", "turn", [paid(3)])
    learn(estimates, "tier_a", "n", "turn", [paid(90)])
    assert estimates.mean("m", "tier_a") == Fraction(21, 2)
    assert estimates.mean("m", "tier_b") == 3
    assert estimates.mean("n", "tier_b") is None
    assert estimates.dearest_mean() == 90


def test_calls_together_cost_what_each_does() -> None:
    """Those of which nothing is known are counted beside the sum, and are not zero in it."""
    estimates = learned(10)
    numbers = {TURN: 3, ("tier_b", "reflection"): 4}
    assert estimates.calls(numbers) == Amounts(money=30, calls=7, unknown=4)
    assert estimates.calls({}) == NOTHING


def cost(job: int, ordinal: int, attempt: int, amount: int, purpose: str = "turn") -> Cost:
    """Make the cost of an attempt as a record has it."""
    return Cost(
        job=job,
        purpose=purpose,
        ordinal=ordinal,
        attempt=attempt,
        role="tier_a",
        model="m",
        source=CostSource.PRICE_TABLE,
        amount=amount,
        usage=USED if amount else None,
    )


RECORDED = (
    cost(0, 0, 0, 0),
    cost(0, 0, 1, 7),
    cost(0, 1, 0, 9),
    cost(1, 0, 0, 4, "probe"),
    cost(1, 0, 0, 5),
)


def test_a_recorded_tick_is_gathered_into_calls() -> None:
    """Attempts of one call stand next to each other in a record."""
    found = [[(one.job, one.ordinal, one.amount) for one in call] for call in calls_of(RECORDED)]
    assert found == [[(0, 0, 0), (0, 0, 7)], [(0, 1, 9)], [(1, 0, 4)], [(1, 0, 5)]]


def test_a_record_teaches_what_its_calls_taught() -> None:
    """A run that is taken up again estimates what it did before it was killed."""
    live, again = Estimates({}), Estimates({})
    for attempts in ([RELEASED, paid(7)], [paid(9)], [paid(5)]):
        learn(live, "tier_a", "m", "turn", attempts)
    learn(live, "tier_a", "m", "probe", [paid(4)])
    learn_tick(again, RECORDED)
    assert {seen.calls for seen in calls_seen(RECORDED)} == {3, 1}
    for kind in (TURN, ("tier_a", "probe")):
        assert again.call(*kind) == live.call(*kind)
    assert again.mean("m", "tier_a") == live.mean("m", "tier_a") == Fraction(25, 4)


def test_memory_does_not_grow_with_calls() -> None:
    """A long run learns as cheaply as a short one."""
    estimates = learned(*range(1, 20_000))
    assert len(estimates._seen[TURN]._groups) < 400
