"""What every call of a job was answered is on record, whatever the agent made of the answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from tests.crash.whole.townsfolk import Undecided
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.agent import CallFailedError, PersonaAgent
from perdure.records.events import AnswerGiven, Cost, Event, Turn
from perdure.records.outcome import Outcome, TurnDone, TurnFailed, TurnFailureCause
from perdure.records.presentation import Plan, TurnJob
from perdure.records.registry import RunState
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    FailureCause,
    Message,
    Reply,
    Vectors,
)
from perdure.records.scenario import Header
from perdure.runner.past import past_ticks
from perdure.runner.recorded_calls import recorded_calls
from perdure.testing import ScriptedProvider


class Wayward:
    """Makes calls of its own, and something else of what they are answered."""

    def reset(self, header: Header) -> None:
        """Nothing is kept."""

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Any) -> Sequence[Outcome]:
        """Take every turn."""
        return [await self._turn(job, models.for_job(job.index)) for job in jobs]

    async def _turn(self, job: TurnJob, models: Any) -> Outcome:
        messages = (Message(role="user", content=f"{job.persona.id} at {job.tick}"),)
        vectors = await models.embed("look", (job.persona.id, job.question.text))
        try:
            await models.chat("think", messages, tokens_max=9)
        except CallFailedError:
            await models.chat("think", messages, tokens_max=8)
        reply = await models.chat("turn", messages, tokens_max=7)
        if job.index == 1:
            return TurnFailed(cause=TurnFailureCause.AGENT_DECLINED)
        again = await models.chat("turn", messages, tokens_max=7)
        return TurnDone(
            messages=messages, answer=f"{reply.text.upper()} {again.text} {vectors.vectors[0][0]}"
        )


def play(request: ChatRequest) -> str | FailureCause:
    """Say who is asked for how much; now and then, nothing."""
    if request.tokens_max == 9 and "p2" in request.messages[0].content:
        return FailureCause.REJECTED
    return f"I agree: {request.messages[-1].content[:40]} {request.tokens_max} {request.seed % 7}"


def embed(request: EmbedRequest) -> Vectors:
    """Embed a text in numbers that no 32-bit float holds."""
    return Vectors(vectors=tuple((len(text) / 3, 0.1) for text in request.texts), served="m")


def lived(agent: Any) -> Ran:
    """Let an agent of this kind live."""
    config = town(4, scenarios=({},), seeds=(1,), embeds=True, quorum=0.5)
    parts = OwnParts(config, agent=lambda _header: agent())
    ran = run_in_memory(config, ScriptedProvider(play, vectors=embed), parts=parts, attempts_max=1)
    assert ran.result.state is RunState.COMPLETED, ran.result.worlds
    return ran


def told(ran: Ran, events: Sequence[Event]) -> dict[Any, Any]:
    """Read the answers of a tick's calls from its events."""
    world_id = ran.result.worlds[0].world_id
    return recorded_calls(events, partial(ran.partitions.blob, world_id))


def by_tick(ran: Ran) -> list[list[Event]]:
    """Part a run's events into its ticks."""
    ticks: dict[int, list[Event]] = defaultdict(list)
    for event in ran.events():
        ticks[event.tick].append(event)
    return list(ticks.values())


@pytest.mark.parametrize("agent", [PersonaAgent, Wayward, Undecided])
def test_every_call_that_was_paid_is_told(agent: Any) -> None:
    """For each call of each job there is an answer, or the cause why there is none."""
    ran = lived(agent)
    calls = 0
    for events in by_tick(ran):
        answers = told(ran, events)
        for event in events:
            if isinstance(event.payload, Cost):
                cost = event.payload
                answer = answers[cost.job, cost.purpose, cost.ordinal]
                assert (cost.failed is not None) == isinstance(answer, FailureCause)
                calls += 1
    assert calls > 20


def test_answers_are_told_as_they_came() -> None:
    """What an agent made of an answer does not stand in its place; vectors are as it saw them."""
    ran = lived(Wayward)
    events = by_tick(ran)[0]
    answers = told(ran, events)
    first = answers[0, "turn", 0]
    assert isinstance(first, Reply)
    assert first.text.startswith("I agree: p0 at 0 7")
    assert isinstance(answers[1, "turn", 0], Reply)
    assert answers[2, "think", 0] is FailureCause.REJECTED
    assert isinstance(answers[2, "think", 1], Reply)
    vectors = answers[0, "look", 0]
    assert isinstance(vectors, Vectors)
    (own,) = (
        event.payload.answer
        for event in events
        if isinstance(event.payload, Turn) and event.persona == "p0"
    )
    assert own.endswith(f" {vectors.vectors[0][0]}")
    assert vectors.vectors[0][0] != 2 / 3


def test_a_plain_life_needs_no_event_for_it() -> None:
    """Turns and reflections of the persona agent tell all their answers themselves."""
    config = town(4, scenarios=({},), seeds=(1,))
    ran = run_in_memory(config, ScriptedProvider(play))
    assert not [one for one in ran.events() if isinstance(one.payload, AnswerGiven)]


def test_a_job_s_answers_are_not_the_world_s() -> None:
    """A world that is rebuilt is given the answers to its own needs alone."""
    ran = lived(Wayward)
    world_id = ran.result.worlds[0].world_id
    pasts = list(past_ticks(ran.events(), partial(ran.partitions.blob, world_id)))
    assert any(isinstance(one.payload, AnswerGiven) for one in ran.events())
    assert [past.answers for past in pasts] == [()] * len(pasts)
