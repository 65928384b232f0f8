"""P4 on real channels: a street that is stopped anywhere ends in the digests of the whole one.

The baseline tells what it believes in its reflections, so that whatever a rebuilt persona knows in
another order than one that lived through it comes to light.
"""

from __future__ import annotations

import pytest
from tests.support.street import RULE, channels, street
from tests.support.town import Ran, run_in_memory

from perdure.inference.baseline import BaselineProvider
from perdure.records.channels import Feed, Forum, Ranking, Scope, WordOfMouth
from perdure.records.registry import RunState
from perdure.records.request import ChatRequest, Failure, FailureCause, Reply
from perdure.records.scenario import AgentSettings

ALL = channels(
    feed=Feed(question="react", posts={"0": ("c3", "c1", "c2")}, ranking=Ranking.NETWORK),
    forum=Forum(question="react", posts={"0": ("c5", "c0")}, scope=Scope.COMMUNITY),
    word_of_mouth=WordOfMouth(question="react", starts={"0": ("c4",)}, reach=0.2, moved_min=1),
)
AGENT = AgentSettings(reflect_every=2, probe_every=2, probe_share=0.2)


class Model(BaselineProvider):
    """The baseline, for so many calls; from then on nobody is there."""

    def __init__(self, calls: int | None = None) -> None:
        super().__init__(RULE)
        self._left = calls

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        """Answer, or fail because nobody is there."""
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                return Failure(cause=FailureCause.CONNECT)
        return await super().chat(request, timeout_s)


def go(model: Model, after: Ran | None = None) -> Ran:
    """Run or continue the street."""
    config = street(ALL | {"horizon": 5}, size=4, seeds=(1,), agent=AGENT, quorum=1.0)
    return run_in_memory(config, model, after=after, attempts_max=1)


@pytest.fixture(scope="module")
def whole() -> Ran:
    """Run the street without a stop."""
    ran = go(Model())
    assert ran.result.state is RunState.COMPLETED
    return ran


@pytest.mark.parametrize("calls", [1, 20, 41, 60, 79, 90, 100])
def test_a_street_that_stopped_ends_in_the_same_digests(calls: int, whole: Ran) -> None:
    """Whatever a persona or a world carried is in the record, and in the order it is used in."""
    stopped = go(Model(calls))
    assert stopped.result.state is RunState.PARTIAL
    assert go(Model(), after=stopped).digests == whole.digests
