"""The scripted model and tools say what they are told, and keep what they were asked."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.tool_calls import a_call

from perdure.agent.drive.ports import ModelFailedError
from perdure.base.errors import InternalError
from perdure.records.drive import EndCause
from perdure.records.increment import Asked, Increment, Said
from perdure.records.request import ChatRequest, FailureCause, FinishReason, Message
from perdure.records.tools import AnswerStatus, ToolAnswer
from perdure.testing.scripted_model import BreaksOff, ScriptedModel, Thinks, calls
from perdure.testing.scripted_tools import Block, Breaks, ScriptedTool, ScriptedTools, Slow

REQUEST = ChatRequest(role="drive", messages=(Message(role="user", content="Go."),), tokens_max=9)


def test_a_model_says_its_steps_in_order() -> None:
    """Texts, calls, failures and functions of the request; then it has none left."""
    model = ScriptedModel(
        [
            calls("look", ("put", '{"a": 1}'), text="so"),
            ModelFailedError(FailureCause.RATE_LIMITED, again=True),
            lambda request: request.messages[0].content,
        ]
    )

    async def work() -> None:
        reply = await model.chat(REQUEST, None)
        assert [(call.id, call.name, call.arguments) for call in reply.calls] == [
            ("c0", "look", "{}"),
            ("c1", "put", '{"a": 1}'),
        ]
        assert reply.finish is FinishReason.TOOL_CALLS
        with pytest.raises(ModelFailedError):
            await model.chat(REQUEST, None)
        assert (await model.chat(REQUEST, None)).text == "Go."
        with pytest.raises(InternalError, match="request 4"):
            await model.chat(REQUEST, None)
        assert model.requests == [REQUEST] * 4
        assert model.streamed == [False] * 4

    asyncio.run(work())


def test_a_stream_tells_the_reply_that_comes() -> None:
    """In pieces; up to where it breaks off; and up to where it waits."""
    told: list[Increment] = []
    go, entered = asyncio.Event(), asyncio.Event()
    reply = calls("look", text="abcdef")
    model = ScriptedModel(
        [reply, BreaksOff(reply, 1), Thinks(go, reply, entered, after=2)], piece=4
    )
    whole = [Said(text="abcd"), Said(text="ef"), Asked(index=0, call=reply.calls[0])]

    async def work() -> None:
        assert await model.chat(REQUEST, told.append) == reply
        assert told == whole
        told.clear()
        with pytest.raises(ModelFailedError):
            await model.chat(REQUEST, told.append)
        assert told == whole[:1]
        told.clear()
        task = asyncio.create_task(model.chat(REQUEST, told.append))
        await entered.wait()
        assert told == whole[:2]
        go.set()
        assert await task == reply
        assert told == whole
        assert model.streamed == [True] * 3

    asyncio.run(work())


def test_tools_say_their_answers_by_id_or_by_name() -> None:
    """And keep what was started, finished, cut and closed."""
    mine = ToolAnswer(status=AnswerStatus.UNKNOWN, text="?")
    go, entered = asyncio.Event(), asyncio.Event()
    tools = ScriptedTools(
        [ScriptedTool("look"), ScriptedTool("wait")],
        answers={
            "look": ["one", Slow(3, "two"), mine, Breaks(OSError("broken"))],
            "special": "by id",
            "wait": Block(go, entered=entered),
        },
        commands=["sleep 9"],
        fails={"account": OSError("no account")},
    )

    async def work() -> None:
        look = a_call("look")
        assert (await tools.run(look)).text == "one"
        assert (await tools.run(a_call("look", call_id="special"))).text == "by id"
        assert (await tools.run(look)).text == "two"
        assert await tools.run(look) == mine
        with pytest.raises(OSError, match="broken"):
            await tools.run(look)
        with pytest.raises(InternalError):
            await tools.run(look)
        with pytest.raises(OSError, match="no account"):
            tools.account(look, mine)
        task = asyncio.create_task(tools.run(a_call("wait")))
        await entered.wait()
        task.cancel()
        await asyncio.wait({task})
        assert [call.name for call in tools.cut] == ["wait"]
        assert len(tools.finished) == 4
        assert len(tools.started) == 7
        assert await tools.close(EndCause.HALT) == ("sleep 9",)
        assert await tools.close(EndCause.HALT) == ()
        assert tools.closed == [EndCause.HALT] * 2

    asyncio.run(work())
