"""The arithmetic of what was spent."""

from perdure.inference.reservations import Amounts
from perdure.records.events import Cost
from perdure.records.registry import CallsLost, CallsOrphaned, LogPayload, RunOpened, WorldOutcome
from perdure.records.request import FailureCause
from perdure.records.usage import CostSource, Usage
from perdure.runner.ledger import spent_in, spent_of, spent_outside


def cost(
    amount: int | None,
    *,
    usage: Usage | None = None,
    charged: Usage | None = None,
    failed: FailureCause | None = None,
) -> Cost:
    """Make a cost event with an amount."""
    source = CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE
    return Cost(
        job=0,
        purpose="turn",
        ordinal=0,
        attempt=0,
        role="tier_a",
        model="m",
        source=source,
        amount=amount,
        usage=usage,
        charged=charged,
        failed=failed,
    )


def test_unknown_amounts_are_counted_and_never_zero():
    """A sum says how many of its parts are unknown; a free call is known."""
    spent = spent_of([cost(5), cost(None), cost(0), cost(None)])
    assert spent == Amounts(money=5, calls=4, unknown=2)


def test_spends_add_up():
    """The spend of two parts is the spend of the whole."""
    parts = [cost(5), cost(None)], [cost(7)]
    assert spent_of(parts[0]) + spent_of(parts[1]) == spent_of([*parts[0], *parts[1]])


def test_tokens_are_those_charged_and_calls_those_sent():
    """What nobody told is counted as charged; what never left this machine was no call."""
    used, most = Usage(input_fresh=3, cache_read=4, output=1), Usage(input_fresh=90, output=10)
    costs = [
        cost(1, usage=used),
        cost(2, charged=most, failed=FailureCause.TIMEOUT),
        cost(0, failed=FailureCause.RATE_LIMITED),
        cost(0, failed=FailureCause.QUEUE_FULL),
    ]
    assert spent_of(costs) == Amounts(money=3, calls=3, tokens=108)


def test_what_is_in_no_tick_is_counted_from_the_run_log():
    """Lost calls and orphans, with all that is counted against a budget."""
    log: list[LogPayload] = [
        RunOpened(epoch=1),
        CallsLost(world_id="w", tick=0, epoch=1, calls=2, cost=5, unknown_costs=1, tokens=70),
        CallsOrphaned(world_id="w", tick=0, epoch=1, calls=1, cost=3, tokens=9),
    ]
    assert spent_outside(log) == Amounts(money=8, calls=3, tokens=79, unknown=1)


def test_a_world_s_note_says_what_its_ticks_took():
    """The same four counts as a sum over its costs."""
    noted = WorldOutcome(world_id="w", cost=5, unknown_costs=1, calls=9, attempts=11, tokens=70)
    assert spent_in(noted) == Amounts(money=5, calls=11, tokens=70, unknown=1)
