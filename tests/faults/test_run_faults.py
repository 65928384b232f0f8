"""That no fault of an endpoint, met by a whole run, ends as a completed run with missing data.

A study runs over real HTTP against the loopback server, which plays one fault at one call of the
run. Whatever the fault, the run is completed with the record of an undisturbed one, or with the
failed turn recorded by its cause, or it is stopped with the exit status of the cause.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.faults.expected import EXPECTED
from tests.support.town import Ran, run_in_memory, town

from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.journaled import JournaledHost
from perdure.inference.retry import RetryPolicy
from perdure.records.events import Cost, Reflected, TickClosed, Turn, TurnNotTaken
from perdure.records.registry import RunState
from perdure.records.request import FailureCause
from perdure.records.scenario import ModelPin
from perdure.runner.config import RunConfig
from perdure.runner.session import Session
from perdure.testing import FAULTS, MisbehavingServer, SkippingClock
from perdure.trace.journal_memory import MemoryCalls, MemoryJournal

KEY = "sk-test-0123456789abcdef"
STOPS = {
    FailureCause.KEY_REFUSED: 77,
    FailureCause.MODEL_UNKNOWN: 77,
    FailureCause.OUT_OF_MONEY: 76,
}
SLOW = {name for name, end in EXPECTED.items() if end.cause is FailureCause.TIMEOUT}
# Three ticks of six turns and six reflections: a call of the second tick.
MIDDLE = 8


def answer(request: dict[str, object]) -> str:
    """Answer by the prompt alone, so that each persona always gets the same reply."""
    return f"Ada Hill; I agree. {len(str(request['messages']))}"


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    """Give one server to all tests of this file."""
    with MisbehavingServer(responder=answer, key=KEY, hang_s=20.0) as running:
        yield running


def study(quorum: float = 0.5) -> RunConfig:
    """Make the study: one world, a wave, an exposure to everyone, a wave."""
    scenario = {"horizon": 3, "waves": (0, 2), "exposures": {"1": ("c1",)}, "activation": 1.0}
    return town(6, scenarios=(scenario,), seeds=(1,), quorum=quorum)


def run_against(server: MisbehavingServer, *, slow: bool = False, config: RunConfig) -> Ran:
    """Run the study against the server, with little patience."""

    async def over_http(session: Session) -> None:
        provider = HttpProvider(
            HttpSettings(base_url=server.base_url, key_env="K", connect_s=0.25),
            ModelPin(provider="http", model="test-model"),
            environment={"K": KEY},
            clock=SkippingClock(),
        )
        host = InferenceHost(
            dict.fromkeys(("tier_a", "tier_b"), Respondent(provider)),
            clock=SkippingClock(),
            retry=RetryPolicy(attempts_max=3, attempt_s=1.0 if slow else 20.0),
        )
        await provider.open()
        journal = MemoryJournal(MemoryCalls(), session.registry.epoch)
        object.__setattr__(session, "host", JournaledHost(host, journal))

    return run_in_memory(config, before=over_http)


@pytest.fixture(scope="module")
def undisturbed(server: MisbehavingServer) -> str:
    """Give the digest of the run that meets no fault."""
    server.play({})
    ran = run_against(server, config=study())
    assert ran.result.state is RunState.COMPLETED
    return ran.digests[0]


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_is_healed_recorded_or_a_stop(
    server: MisbehavingServer, undisturbed: str, name: str
):
    """One fault in the middle of a run never leaves a completed record that lacks it."""
    server.play({server.calls + MIDDLE: name})
    ran = run_against(server, slow=name in SLOW, config=study())
    expected = EXPECTED[name]
    events = ran.events()
    failed = [e for e in events if isinstance(e.payload, TurnNotTaken)]
    failed += [e for e in events if isinstance(e.payload, Reflected) and e.payload.failed]
    if expected.end == "stopped":
        assert expected.cause is not None
        assert ran.result.exit_status == STOPS[expected.cause]
        assert ran.result.state is RunState.PARTIAL
        assert not failed
        return
    assert ran.result.state is RunState.COMPLETED
    if expected.end == "failed":
        assert len(failed) == 1
        assert ran.digests[0] != undisturbed
    elif expected.end == "healed":
        assert not failed
        assert ran.digests[0] == undisturbed
        costs = [e.payload for e in events if isinstance(e.payload, Cost)]
        assert expected.cause in {cost.failed for cost in costs}
    else:
        assert not failed
    closed = [e.payload for e in events if isinstance(e.payload, TickClosed)]
    taken = [e for e in events if isinstance(e.payload, Turn | TurnNotTaken)]
    assert len(taken) == sum(tick.jobs for tick in closed) == 18


@pytest.mark.parametrize("name", ["status_500", "reset_before", "body_html", "status_400"])
def test_an_endpoint_that_stays_broken_stops_the_run(server: MisbehavingServer, name: str):
    """A fault that every call meets closes no tick: exit status 69, and nothing in the record."""
    server.play(name)
    ran = run_against(server, config=study(quorum=0.9))
    server.play({})
    assert ran.result.exit_status == 69
    assert ran.events() == []
