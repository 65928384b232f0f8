"""Whatever a function does wrong is an answer, and no call outlives its deadline or its drive."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tool_calls import a_call, admitted, answered, run

from perdure.agent.drive.ports import Ticket
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.cap import capped
from perdure.agent.drive.tools.function import FunctionTool, tool
from perdure.base.errors import UsageError
from perdure.records.drive import EndCause, RunPolicy
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, Writes

OK, ERROR, UNKNOWN = AnswerStatus.OK, AnswerStatus.ERROR, AnswerStatus.UNKNOWN


@tool(subject="name")
def greet(name: str, times: int = 1) -> str:
    """Greet somebody."""
    return " ".join([f"Hello {name}"] * times)


@tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    await asyncio.sleep(0)
    return a + b


@tool()
def fail(how: str) -> str:
    """Fail in some way."""
    if how == "exit":
        sys.exit(3)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "iteration":
        raise StopIteration
    if how == "cancel":
        raise asyncio.CancelledError
    if how == "deep":
        return fail(how=how)  # type: ignore[return-value]
    raise ValueError(how)


@tool()
async def fail_later(how: str) -> object:
    """Fail in some way, on the event loop."""
    await asyncio.sleep(0)
    if how == "exit":
        sys.exit(3)
    if how == "cancel":
        raise asyncio.CancelledError
    if how == "object":
        return object()
    raise ValueError(how)


TOOLS: list[FunctionTool] = [greet, add, fail, fail_later]


def tell(call_name: str, text: str | None = None, /, **arguments: Any) -> ToolAnswer:
    """Call one of the tools."""
    return run(answered(Bench(TOOLS), a_call(call_name, text, **arguments)))


def test_a_function_is_a_tool() -> None:
    """Its text is told as it is, anything else as JSON; it can still be called by itself."""
    assert tell("greet", name="Ada", times=2) == ToolAnswer(
        status=OK, text="Hello Ada Hello Ada", wrote=Writes()
    )
    assert tell("add", a=1, b=2).text == "3"
    assert greet("Bob") == "Hello Bob"
    spec = Bench(TOOLS).specs[0]
    assert (spec.name, spec.description) == ("greet", "Greet somebody.")
    assert spec.parameters["required"] == ["name"]
    assert admitted(Bench(TOOLS), a_call("greet", name="Ada")) == Ticket(subject="Ada")


def test_a_tool_that_is_not_there_is_told_with_its_neighbours() -> None:
    """So that the next call of a model can be the right one."""
    bench = Bench(TOOLS)
    answer = tell("greeet")
    assert answer.status is ERROR
    assert "Did you mean: greet?" in answer.text
    assert "greet, add, fail, fail_later" in answer.text
    assert bench.effect(a_call("greeet")) is None
    assert bench.writes(a_call("greeet")) == Writes(anywhere=True)


def test_every_problem_of_the_arguments_is_in_one_answer() -> None:
    """And nothing was run."""
    answer = tell("greet", '{"times": "2", "nam": 1}')
    assert answer.status is ERROR
    assert all(word in answer.text for word in ("times: ", "nam: ", "name: it is missing"))
    assert "not JSON" in tell("greet", "{").text


@pytest.mark.parametrize("how", ["value", "exit", "interrupt", "iteration", "cancel", "deep"])
def test_what_a_thread_raises_is_an_answer(how: str) -> None:
    """Also what would end a program, or a task."""
    answer = tell("fail", how=how)
    assert answer.status is ERROR
    assert answer.text.startswith("fail failed")


@pytest.mark.parametrize("how", ["value", "exit", "cancel", "object"])
def test_what_a_coroutine_raises_is_an_answer(how: str) -> None:
    """The event loop goes on, and so does the bench."""
    answer = tell("fail_later", how=how)
    assert answer.status is ERROR
    assert answer.text.startswith("fail_later failed")


def test_a_deadline_ends_a_call_and_is_said() -> None:
    """A read is an error; of what may have acted, nobody knows."""
    stopped = []

    @tool(deadline_s=0.05)
    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append("slow")

    @tool(deadline_s=0.05, effect=Effect.EGRESS)
    async def slow_post() -> None:
        await asyncio.sleep(60)

    bench = Bench([slow, slow_post])
    answer = run(answered(bench, a_call("slow")))
    assert answer.status is ERROR
    assert "longer than 0.05 seconds" in answer.text
    assert stopped == ["slow"]
    answer = run(answered(bench, a_call("slow_post")))
    assert answer.status is UNKNOWN
    assert "may have happened" in answer.text


def test_a_thread_past_its_deadline_is_ended_at_its_next_step() -> None:
    """What runs in Python ends; the answer does not wait for that."""
    ended = threading.Event()

    @tool(deadline_s=0.05)
    def spin() -> None:
        try:
            while True:
                pass
        finally:
            ended.set()

    assert run(answered(Bench([spin]), a_call("spin"))).status is ERROR
    assert ended.wait(30)


def test_a_thread_that_cannot_be_ended_is_named_at_the_end() -> None:
    """It is left to itself, and nobody is told that it was killed without its name."""
    free = threading.Event()

    @tool(deadline_s=0.05)
    def stuck() -> None:
        free.wait(60)

    async def work() -> tuple[str, ...]:
        bench = Bench([stuck])
        await answered(bench, a_call("stuck", call_id="c7"))
        return await bench.close(EndCause.CONCLUDED)

    try:
        assert run(work()) == ("stuck (c7)",)
    finally:
        free.set()


def test_a_cancelled_call_is_cut_and_the_bench_goes_on() -> None:
    """Cancelled twice as well, and by a coroutine that takes its time."""
    cut: list[int] = []
    free: list[bool] = []

    @tool()
    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cut.append(1)

    @tool()
    async def stubborn() -> None:
        while not free:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cut.append(2)

    async def work() -> None:
        bench = Bench([hang, stubborn, *TOOLS])
        for name in ("hang", "stubborn"):
            task = asyncio.create_task(bench.run(a_call(name)))
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert cut == [1, 2]
        assert (await answered(bench, a_call("add", a=1, b=1))).text == "2"
        assert await bench.close(EndCause.HALT) == ("stubborn (c0)",)
        free.append(True)

    run(work())


def test_calls_run_at_the_same_time() -> None:
    """Two that wait for each other both end, on the loop and in threads."""
    there = asyncio.Event()
    met = threading.Barrier(2)

    @tool()
    async def wait() -> None:
        await there.wait()

    @tool()
    async def come() -> None:
        there.set()

    @tool()
    def meet() -> int:
        return met.wait(30)

    async def work() -> list[ToolAnswer]:
        bench = Bench([wait, come, meet])
        return await asyncio.gather(
            *(answered(bench, a_call(name)) for name in ("wait", "meet", "meet", "come"))
        )

    assert all(answer.status is OK for answer in run(work()))


def test_a_paths_declaration_is_checked_at_once() -> None:
    """Before any model calls it."""

    def put(path: Path, text: str) -> None:
        """Put a text somewhere."""

    reads_and_writes = {"effect": Effect.READ, "writes": ("path",)}
    for wrong in ({"writes": ("text",)}, {"subject": "nam"}, reads_and_writes):
        with pytest.raises(TypeError):
            tool(**wrong)(put)
    with pytest.raises(UsageError, match="greet"):
        Bench([greet, add, greet])
    refused = admitted(Bench([tool(writes=("path",))(put)]), a_call("put", path="x", text=""))
    assert isinstance(refused, ToolAnswer)


def test_a_policy_is_asked_for_every_call() -> None:
    """The same call is let through under one and not under the next."""

    @tool(anywhere=True)
    def change() -> None:
        """Change anything."""

    bench = Bench([change])
    assert isinstance(admitted(bench, a_call("change")), Ticket)
    answer = admitted(bench, a_call("change"), RunPolicy(writes=False))
    assert isinstance(answer, ToolAnswer)
    assert answer.status is AnswerStatus.REFUSED
    answer = bench.admit(a_call("change"), RunPolicy(), checkpointed=False)
    assert isinstance(answer, ToolAnswer)


def test_an_output_is_capped_by_the_tool_or_by_the_bench() -> None:
    """The mark tells how much is missing."""

    @tool(output_max=100)
    def much() -> str:
        return "x" * 1000

    bench = Bench([much, greet], output_max=200)
    answer = run(answered(bench, a_call("much")))
    assert len(answer.text) <= 100
    assert f"{answer.dropped} bytes are left out" in answer.text
    answer = run(answered(bench, a_call("greet", name="é" * 500)))
    assert 100 < len(answer.text.encode()) <= 200
    answer = bench.account(a_call("no"), ToolAnswer(status=OK, text="\ud800" * 500))
    assert 100 < len(answer.text.encode()) <= 200


@given(st.text(max_size=300), st.integers(min_value=0, max_value=300), st.integers(0, 9))
def test_a_cap_cuts_no_character_and_counts_what_it_cut(text: str, most: int, before: int) -> None:
    """What is kept is a beginning and an end of what was there."""
    answer = ToolAnswer(status=OK, text=text, dropped=before)
    short = capped(answer, most)
    whole = text.encode()
    if len(whole) <= most:
        assert short is answer
        return
    kept = short.text.encode()
    head, mark, tail = kept.partition(f"\n[… {short.dropped} bytes are left out here …]\n".encode())
    assert mark
    assert len(kept) <= max(most, len(mark))
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head) + len(tail) + short.dropped - before == len(whole)


def test_a_tool_may_answer_by_itself() -> None:
    """With its own status, and what it really wrote."""
    mine = ToolAnswer(status=ERROR, text="half", wrote=Writes(paths=("a",)))

    @tool(anywhere=True)
    def half() -> ToolAnswer:
        return mine

    assert run(answered(Bench([half]), a_call("half"))) == msgspec.structs.replace(mine)
