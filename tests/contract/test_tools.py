"""Every tool face keeps one contract: the bench, the tools of a server, and the scripted ones."""

from __future__ import annotations

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from tests.support.tool_calls import a_call

from perdure.agent.drive.ports import Ticket, Tools
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.function import tool
from perdure.agent.drive.tools.permit import May
from perdure.agent.drive.tools.server_line import StdioServer
from perdure.agent.drive.tools.servers import ToolServer
from perdure.agent.drive.tools.workspace import Workspace
from perdure.records.drive import EndCause, PlacePolicy, RunPolicy
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall, Writes
from perdure.testing.scripted_tools import Answer, Block, ScriptedTool, ScriptedTools

T = TypeVar("T")
Opened = tuple[asyncio.Runner, Tools]

OK, ERROR, REFUSED = AnswerStatus.OK, AnswerStatus.ERROR, AnswerStatus.REFUSED
LOOK = a_call("look", text="a door", call_id="c1")
PUT = a_call("put", text="x", call_id="c2")
FETCH = a_call("fetch", call_id="c3")
FAIL = a_call("fail", call_id="c4")
HANG = a_call("hang", call_id="c5")
BIG = a_call("big", length=3000, call_id="c6")
NONE = a_call("lok", call_id="c7")
OUTPUT_MAX = 1000
ROOT = str(Path(__file__).resolve().parents[2])


class ToolsContract(ABC):
    """What a drive relies on.

    The faces have the tools `look` (gives its text), `put` (may write anything), `fetch` (reaches
    outside), `fail`, `hang` and `big` (that many é), and cap an answer at `OUTPUT_MAX` bytes.
    """

    @classmethod
    @abstractmethod
    async def make(cls, place: PlacePolicy, folder: Path) -> Tools:
        """Make the face under test."""

    @pytest.fixture(scope="class")
    @classmethod
    def face(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
        """Open one face for all tests, on one event loop."""
        with asyncio.Runner() as runner:
            folder = tmp_path_factory.mktemp("tools")
            tools = runner.run(cls.make(PlacePolicy(), folder))
            yield runner, tools
            assert isinstance(runner.run(tools.close(EndCause.CONCLUDED)), tuple)

    def test_the_tools_are_shown_in_an_order_that_stays(self, face: Opened) -> None:
        """Every name once, with a schema of an object, the same whenever they are looked at."""
        _, tools = face
        names = [spec.name for spec in tools.specs]
        assert sorted(names) == ["big", "fail", "fetch", "hang", "look", "put"]
        assert tools.specs == tools.specs
        assert all(spec.parameters["type"] == "object" for spec in tools.specs)

    def test_effects_and_writes_are_known_before_a_call(self, face: Opened) -> None:
        """What is not there has no effect, and may write anything."""
        _, tools = face
        assert [tools.effect(call) for call in (LOOK, PUT, FETCH, NONE)] == [
            Effect.READ,
            Effect.WRITE,
            Effect.EGRESS,
            None,
        ]
        assert tools.writes(LOOK) == Writes()
        assert tools.writes(PUT) == Writes(anywhere=True)
        assert tools.writes(NONE) == Writes(anywhere=True)

    def test_a_call_is_let_through_by_what_it_may_do(self, face: Opened) -> None:
        """Refused by policy, refused without a checkpoint, or an error with the names there are."""
        _, tools = face
        free = RunPolicy()
        assert isinstance(tools.admit(LOOK, free, checkpointed=False), Ticket)
        ticket = tools.admit(PUT, free, checkpointed=True)
        assert isinstance(ticket, Ticket)
        for call, policy, checkpointed in (
            (PUT, free, False),
            (PUT, RunPolicy(writes=False), True),
            (PUT, RunPolicy(paths=("a",)), True),
            (FETCH, RunPolicy(egress=False), True),
        ):
            answer = tools.admit(call, policy, checkpointed=checkpointed)
            assert isinstance(answer, ToolAnswer)
            assert (answer.status, bool(answer.text)) == (REFUSED, True)
        answer = tools.admit(NONE, free, checkpointed=True)
        assert isinstance(answer, ToolAnswer)
        assert (answer.status, "look" in answer.text) == (ERROR, True)

    def test_a_call_is_answered(self, face: Opened) -> None:
        """With what the tool says, and what it wrote."""
        runner, tools = face
        assert runner.run(tools.run(LOOK)) == ToolAnswer(status=OK, text="a door", wrote=Writes())
        answer = runner.run(tools.run(PUT))
        assert (answer.status, answer.wrote) == (OK, Writes(anywhere=True))

    def test_what_goes_wrong_is_an_answer(self, face: Opened) -> None:
        """Never an exception."""
        runner, tools = face
        answer = runner.run(tools.run(FAIL))
        assert (answer.status, "fail" in answer.text) == (ERROR, True)

    def test_a_cancelled_call_ends_and_others_go_on(self, face: Opened) -> None:
        """Calls run at the same time, and one that is cut takes no other with it."""
        runner, tools = face

        async def work() -> None:
            async with asyncio.timeout(60):
                hanging = asyncio.create_task(tools.run(HANG))
                await asyncio.sleep(0)
                assert (await tools.run(LOOK)).text == "a door"
                assert not hanging.done()
                hanging.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await hanging
                assert (await tools.run(LOOK)).text == "a door"

        runner.run(work())

    def test_an_answer_is_capped_when_it_is_accounted(self, face: Opened) -> None:
        """With a visible mark, and what is missing counted."""
        runner, tools = face
        answer = tools.account(BIG, runner.run(tools.run(BIG)))
        assert len(answer.text.encode()) <= OUTPUT_MAX
        assert f"{answer.dropped} bytes are left out" in answer.text
        assert answer.dropped > 5000
        whole = ToolAnswer(status=REFUSED, text="no")
        assert tools.account(NONE, whole) == whole

    def test_a_confidential_place_lets_nothing_out(self, tmp_path: Path) -> None:
        """Whatever the policy says."""

        async def work() -> None:
            tools = await self.make(PlacePolicy(confidential=True), tmp_path)
            try:
                answer = tools.admit(FETCH, RunPolicy(), checkpointed=True)
                assert isinstance(answer, ToolAnswer)
                assert answer.status is REFUSED
                assert isinstance(tools.admit(LOOK, RunPolicy(), checkpointed=True), Ticket)
            finally:
                await tools.close(EndCause.CONCLUDED)

        asyncio.run(work())


class TestScriptedTools(ToolsContract):
    @classmethod
    async def make(cls, place: PlacePolicy, folder: Path) -> Tools:
        """Script every answer."""
        tools = [
            ScriptedTool("look"),
            ScriptedTool("put", writes=Writes(anywhere=True)),
            ScriptedTool("fetch", effect=Effect.EGRESS),
            *(ScriptedTool(name) for name in ("fail", "hang", "big")),
        ]
        answers: dict[str, Answer] = {
            "look": "a door",
            "fail": ValueError("it was asked to fail"),
            "hang": Block(asyncio.Event()),
            "big": "é" * 3000,
        }
        return ScriptedTools(tools, answers=answers, place=place, output_max=OUTPUT_MAX)


class TestBench(ToolsContract):
    @classmethod
    async def make(cls, place: PlacePolicy, folder: Path) -> Tools:
        """Lay out Python functions, some of them in threads."""

        @tool()
        def look(text: str) -> str:
            return text

        @tool(anywhere=True)
        def put(text: str) -> str:
            return text

        @tool(effect=Effect.EGRESS)
        async def fetch() -> str:
            return "fetched"

        @tool()
        def fail() -> str:
            raise ValueError("it was asked to fail")

        @tool()
        async def hang() -> None:
            await asyncio.Event().wait()

        @tool()
        def big(length: int) -> str:
            return "é" * length

        return Bench([look, put, fetch, fail, hang, big], place=place, output_max=OUTPUT_MAX)


class TestServerTools(ToolsContract):
    @classmethod
    async def make(cls, place: PlacePolicy, folder: Path) -> Tools:
        """Start a real server, and take its word for what it reads."""
        at = StdioServer(
            name="s",
            command=(sys.executable, "-m", "tests.support.tool_server"),
            environment={"PYTHONPATH": ROOT},
        )
        writes = May(effect=Effect.WRITE, writes=Writes(anywhere=True), deletes=True)
        server = ToolServer(
            at,
            Workspace(folder),
            prefix="",
            trusts_annotations=True,
            declared={"put": writes},
            only=("look", "put", "fetch", "fail", "hang", "big"),
        )
        return Bench(await server.open(), place=place, output_max=OUTPUT_MAX)


class Broken:
    """A face in which one method is another one."""

    def __init__(self, whole: Tools, name: str, wrong: Callable[..., object]) -> None:
        self._whole = whole
        self._name = name
        self._wrong = wrong

    def __getattr__(self, name: str) -> object:
        return self._wrong if name == self._name else getattr(self._whole, name)


async def raises(_: ToolCall) -> ToolAnswer:
    """Let a tool's error through."""
    raise ValueError("raised")


# a wrong face: the test of the contract that must see it
WRONG: dict[str, tuple[str, Callable[..., object]]] = {
    "test_effects_and_writes_are_known_before_a_call": ("effect", lambda call: Effect.READ),
    "test_a_call_is_let_through_by_what_it_may_do": (
        "admit",
        lambda call, policy, *, checkpointed: Ticket(),
    ),
    "test_what_goes_wrong_is_an_answer": ("run", raises),
    "test_an_answer_is_capped_when_it_is_accounted": ("account", lambda call, answer: answer),
}


@pytest.mark.parametrize("test", WRONG)
def test_the_contract_sees_a_face_that_breaks_it(test: str, tmp_path: Path) -> None:
    """Each of these faces is wrong in one way."""
    with asyncio.Runner() as runner:
        whole = runner.run(TestScriptedTools().make(PlacePolicy(), tmp_path))
        face = (runner, Broken(whole, *WRONG[test]))
        with pytest.raises((AssertionError, ValueError)):
            getattr(TestScriptedTools(), test)(face)
