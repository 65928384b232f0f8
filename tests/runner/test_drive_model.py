"""That a drive's models are one attempt at an endpoint, or a job's calls, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import pytest
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.agent.drive.ports import Model, ModelFailedError
from perdure.agent.in_tick import JobModel
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.provider import Provider
from perdure.inference.retry import RETRIED
from perdure.inference.telling import OnIncrement
from perdure.records.events import AnswerGiven, Cost, Event, Turn
from perdure.records.increment import Asked, Increment, Said
from perdure.records.outcome import Outcome, TurnDone, TurnFailed, TurnFailureCause
from perdure.records.presentation import Plan, TurnJob
from perdure.records.registry import RunState
from perdure.records.request import (
    ChatRequest,
    Failure,
    FailureCause,
    FinishReason,
    Message,
    Reply,
)
from perdure.records.scenario import Header, ModelPin
from perdure.records.tools import ToolCall, ToolSpec
from perdure.runner.drive_model import EndpointModel
from perdure.runner.recorded_calls import recorded_calls
from perdure.testing import HANG, MisbehavingServer, ScriptedProvider

LOOK = ToolSpec(name="look", description="Look up a thing.", parameters={"type": "object"})
CALL = ToolCall(id="c1", name="look", arguments='{"thing": "rain"}')
REQUEST = ChatRequest(
    role="tier_a",
    messages=(Message(role="user", content="Will it rain?"),),
    tokens_max=50,
    tools=(LOOK,),
)


def ask(provider: Provider, told: OnIncrement | None = None, *, attempt_s: float = 20.0) -> Reply:
    """Ask a provider once, as a drive does."""

    async def asked() -> Reply:
        await provider.open()
        try:
            model: Model = EndpointModel(provider, "test-model", attempt_s=attempt_s)
            assert model.name == "test-model"
            return await model.chat(REQUEST, told)
        finally:
            await provider.close()

    return asyncio.run(asked())


def at(server: MisbehavingServer) -> HttpProvider:
    """Make a provider for an endpoint."""
    pin = ModelPin(provider="http", model="test-model")
    return HttpProvider(HttpSettings(base_url=server.base_url), pin, environment={})


def test_a_reply_comes_whole_with_its_calls_and_its_usage() -> None:
    """Calls, finish, served name and usage go through an endpoint's model as they came."""
    with MisbehavingServer(responder=lambda _: (CALL,)) as server:
        reply = ask(at(server))
        assert server.requests[0].body["tools"][0]["function"]["name"] == "look"
        assert "stream" not in server.requests[0].body
    assert (reply.calls, reply.finish) == ((CALL,), FinishReason.TOOL_CALLS)
    assert reply.served == "test-model"
    assert reply.usage is not None


@pytest.mark.parametrize("cause", FailureCause)
def test_a_failure_says_whether_to_ask_again(cause: FailureCause) -> None:
    """Every cause goes by the one table of what is tried again, and is named."""
    failure = Failure(cause=cause, status=503, retry_after_s=7.0)
    script = ScriptedProvider([failure])
    with pytest.raises(ModelFailedError) as raised:
        ask(script)
    error = raised.value
    assert (error.cause, error.again) == (cause, cause in RETRIED)
    assert (error.status, error.retry_after_s) == (503, 7.0)
    assert script.calls == 1, "a drive's model asks once"


def test_a_provider_that_never_comes_back_is_cut_off() -> None:
    """An attempt ends in its time, whatever the provider does."""
    with pytest.raises(ModelFailedError) as raised:
        ask(ScriptedProvider([HANG]), attempt_s=0.1)
    assert raised.value.cause is FailureCause.TIMEOUT


def test_a_provider_that_cannot_stream_tells_its_reply_in_one_piece() -> None:
    """Whoever watches sees the text and every call, whatever the provider can do."""
    told: list[Increment] = []
    reply = Reply(text="I look.", served="m", calls=(CALL,), finish=FinishReason.TOOL_CALLS)

    class Whole:
        name = "scripted"

        async def open(self) -> None:
            pass

        async def close(self) -> None:
            pass

        async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
            return reply

        async def embed(self, request: Any, timeout_s: float) -> Any:
            raise NotImplementedError

    assert ask(Whole(), told.append) == reply
    assert told == [Said(text="I look."), Asked(index=0, call=CALL)]


class Seeker:
    """Drives a tool inside each turn, through the models of its job."""

    def reset(self, header: Header) -> None:
        """Nothing is kept."""

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Any) -> Sequence[Outcome]:
        """Take every turn."""
        return [await self._turn(job, models.for_job(job.index)) for job in jobs]

    async def _turn(self, job: TurnJob, models: Any) -> Outcome:
        model: Model = JobModel(models, "drive", "scripted")
        first = Message(role="user", content=f"{job.persona.id} at {job.tick}")
        request = msgspec.structs.replace(REQUEST, messages=(first,), seed=77)
        try:
            asked = await model.chat(request, None)
        except ModelFailedError as error:
            if error.again:
                raise
            return TurnFailed(cause=TurnFailureCause.CALL_FAILED, call=error.cause)
        told = (
            first,
            Message(role="assistant", content=asked.text, calls=asked.calls),
            *(Message(role="tool", content="wet", call_id=call.id) for call in asked.calls),
        )
        said = await model.chat(msgspec.structs.replace(request, messages=told), None)
        return TurnDone(messages=told, answer=said.text)


def play(request: ChatRequest) -> str | tuple[ToolCall, ...] | FailureCause:
    """Ask for the tool first, and say what it said."""
    last = request.messages[-1]
    assert request.tools == (LOOK,)
    if last.content == "p2 at 1":
        return FailureCause.REJECTED
    return f"It is {last.content}. I agree." if last.role == "tool" else (CALL,)


def lived() -> Ran:
    """Let seekers live."""
    config = town(4, scenarios=({},), seeds=(1,), quorum=0.5)
    parts = OwnParts(config, agent=lambda _header: Seeker())
    ran = run_in_memory(config, ScriptedProvider(play), parts=parts, attempts_max=1)
    assert ran.result.state is RunState.COMPLETED, ran.result.worlds
    return ran


def told_by(ran: Ran) -> dict[tuple[int, int, str, int], Any]:
    """Read what every call of every tick was answered, from the record alone."""
    ticks: dict[int, list[Event]] = {}
    for event in ran.events():
        ticks.setdefault(event.tick, []).append(event)
    blob = partial(ran.partitions.blob, ran.result.worlds[0].world_id)
    return {
        (tick, *place): answer
        for tick, events in ticks.items()
        for place, answer in recorded_calls(events, blob).items()
    }


def test_a_job_s_calls_of_tools_are_recorded_like_all_others() -> None:
    """Every call is paid, seeded by the study, and told by the record, calls and all."""
    ran = lived()
    answers = told_by(ran)
    costs = [one.payload for one in ran.events() if isinstance(one.payload, Cost)]
    assert {one.purpose for one in costs} == {"drive"}
    assert {(one.job, one.ordinal) for one in costs} == {
        (job, ordinal) for _, job, purpose, ordinal in answers if purpose == "drive"
    }
    asked = [one for one in answers.values() if isinstance(one, Reply) and one.calls]
    assert len(asked) > 5
    assert all(one.calls == (CALL,) for one in asked)
    assert {one.finish for one in asked} == {FinishReason.TOOL_CALLS}
    assert [one for one in answers.values() if one is FailureCause.REJECTED] != []
    given = [one.payload for one in ran.events() if isinstance(one.payload, AnswerGiven)]
    assert [one for one in given if one.calls and one.finish is FinishReason.TOOL_CALLS]


def test_a_prompt_on_record_has_its_calls_and_their_answers() -> None:
    """What was sent can be read again whole: who called which tool, and what answers it."""
    turns = [one.payload for one in lived().events() if isinstance(one.payload, Turn)]
    for turn in turns:
        assert [part.role for part in turn.prompt] == ["user", "assistant", "tool"]
        assert [part.calls for part in turn.prompt] == [(), (CALL,), ()]
        assert [part.call_id for part in turn.prompt] == ["", "", "c1"]
    assert turns


def test_the_same_seekers_leave_the_same_record() -> None:
    """Nothing of a drive's model depends on when or how it was asked."""
    assert [msgspec.json.encode(one) for one in lived().events()] == [
        msgspec.json.encode(one) for one in lived().events()
    ]
