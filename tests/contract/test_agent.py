"""The agents that ship keep the Agent contract, and the contract catches agents that do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from perdure.agent import Agent, CallFailedError, Models, PersonaAgent
from perdure.records.outcome import Outcome, TurnDone, TurnFailed, TurnFailureCause
from perdure.records.persona import PersonaState
from perdure.records.presentation import Plan, TurnJob
from perdure.records.request import Message
from perdure.records.scenario import Header
from perdure.testing.contracts import AgentContract


class Terse:
    """A small agent: one call per turn, one after another."""

    def reset(self, header: Header) -> None:
        self.tokens = header.agent.answer_tokens_max

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Models) -> Sequence[Outcome]:
        return [await self.turn(job, models) for job in jobs]

    async def turn(self, job: TurnJob, models: Models) -> Outcome:
        seen = "".join(stimulus.text for stimulus in job.shown)
        messages = (Message(role="user", content=f"{job.persona.id} {seen} {job.question.text}"),)
        try:
            reply = await models.for_job(job.index).chat("turn", messages, tokens_max=self.tokens)
        except CallFailedError as failed:
            return TurnFailed(cause=TurnFailureCause.CALL_FAILED, call=failed.cause)
        return TurnDone(messages=messages, answer=reply.text)


class TestPersonaAgent(AgentContract):
    """The persona agent keeps the contract."""

    def make_agent(self) -> Agent:
        return PersonaAgent()


class TestTerse(AgentContract):
    """An agent without memory or reflection keeps the contract."""

    def make_agent(self) -> Agent:
        return Terse()


class Forgetful(Terse):
    """Broken: it answers in place of a reply that never came."""

    async def turn(self, job, models):
        outcome = await super().turn(job, models)
        return TurnDone(messages=(), answer="") if isinstance(outcome, TurnFailed) else outcome


class Careless(Terse):
    """Broken: it lets a failed call end the whole tick."""

    async def turn(self, job, models):
        messages = (Message(role="user", content=job.question.text),)
        reply = await models.for_job(job.index).chat("turn", messages, tokens_max=9)
        return TurnDone(messages=messages, answer=reply.text)


class Remembering(Terse):
    """Broken: it carries a count from tick to tick, outside the state of its personas."""

    def __init__(self):
        self.turns = 0

    async def turn(self, job, models):
        outcome = await super().turn(job, models)
        assert isinstance(outcome, TurnDone)
        self.turns += 1
        return TurnDone(messages=outcome.messages, answer=f"{outcome.answer} {self.turns}")


class Reversed(Terse):
    """Broken: it gives its outcomes in another order than the jobs."""

    async def act(self, jobs, plan, models):
        return list(reversed(await super().act(jobs, plan, models)))


class Eager(Terse):
    """Broken: it does more where optional work is off."""

    async def act(self, jobs, plan, models):
        if not plan.optional_work:
            await models.for_job(0).chat("extra", (), tokens_max=9)
        return await super().act(jobs, plan, models)


class Absorbed(PersonaAgent):
    """Broken: from its third tick on it shows nobody anything that was told to it before."""

    ticks = 0

    async def act(self, jobs, plan, models):
        self.ticks += 1
        if self.ticks > 2:
            empty = PersonaState()
            jobs = [msgspec.structs.replace(job, state=empty) for job in jobs]
        return await super().act(jobs, plan, models)


class Fragile(Terse):
    """Broken: it cannot do without vectors, and lets their failure end the whole tick."""

    async def turn(self, job, models):
        await models.for_job(job.index).embed("look", (job.question.text,))
        return await super().turn(job, models)


@pytest.mark.parametrize(
    ("make", "caught_by"),
    [
        (Forgetful, AgentContract.test_a_failed_call_is_an_outcome),
        (Careless, AgentContract.test_a_failed_call_is_an_outcome),
        (Remembering, AgentContract.test_rebuilding_at_every_tick_changes_nothing),
        (Absorbed, AgentContract.test_rebuilding_changes_nothing_where_everything_is_on),
        (Fragile, AgentContract.test_a_failed_embedding_is_that_turn_s_alone),
        (Reversed, AgentContract.test_one_outcome_per_job_in_order),
        (Eager, AgentContract.test_optional_work_is_only_left_out),
    ],
)
def test_the_suite_catches_a_broken_agent(
    make: Callable[[], Agent], caught_by: Callable[[AgentContract], None]
) -> None:
    """An agent with a planted fault fails the test that is about it."""

    class Suite(AgentContract):
        def make_agent(self) -> Agent:
            return make()

    with pytest.raises((AssertionError, CallFailedError)):
        caught_by(Suite())
