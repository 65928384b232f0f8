"""A governor and a host answer over a line between processes as they do when they are called.

Each scenario is played against the ports themselves and against what a worker has in their place,
and the two must come to the same: results, errors, what is charged, what is refused.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.support.calls import WORLD, key, opening
from tests.support.errors import every_error_class

from perdure.agent import CallFailedError
from perdure.agent.drive.ports import ModelFailedError
from perdure.agent.drive.tools.signature import ArgumentsError
from perdure.base.errors import (
    BudgetReachedError,
    InternalError,
    InvalidStudyError,
    MovedError,
    PerdureError,
    Problem,
)
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.journaled import JournaledHost
from perdure.inference.reservations import NOTHING, Amounts, Ceilings, Reservations
from perdure.inference.retry import RetryPolicy
from perdure.records.budget import Rung
from perdure.records.events import Head
from perdure.records.presentation import Plan
from perdure.records.registry import (
    CallsLost,
    CallsOrphaned,
    LogHead,
    RungAt,
    WorldDiverged,
    WorldOutcome,
    WorldState,
)
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    FailureCause,
    Message,
    Reply,
    Vectors,
)
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall
from perdure.records.usage import Price, Usage
from perdure.runner.desk import Desk
from perdure.runner.ladder import Due
from perdure.runner.port import (
    GovernorPort,
    KindOfCalls,
    ModelHost,
    TickOpened,
    TickPaused,
    TickReport,
)
from perdure.runner.remote import Questions, RemoteGovernor, RemoteHost
from perdure.runner.told import error_of, tell
from perdure.runner.wire import (
    METHODS,
    Answer,
    Ask,
    Line,
    ToGovernor,
    ToWorker,
    Withdraw,
    ends,
    frame,
)
from perdure.testing import ScriptedProvider, SkippingClock
from perdure.trace.journal_memory import MemoryCalls, MemoryJournal

Scenario = Callable[[Any, Any], Awaitable[Any]]
MESSAGES = (Message(role="user", content="Ada or Bob? é ✓"),)
CHAT = ChatRequest(role="tier_a", messages=MESSAGES, tokens_max=20)
EMBED = EmbedRequest(role="embed", texts=("one", "two"))
HEAD = Head(seq=3, tick=1, chain="c" * 64, content=2, digest="d" * 64)
REPORT = TickReport(
    world_id=WORLD,
    tick=1,
    head=HEAD,
    turns=2,
    calls=3,
    spent=Amounts(money=5, calls=3, tokens=7, unknown=1),
    most_calls=(KindOfCalls(role="tier_a", purpose="answer", calls=2),),
    rungs=(RungAt(rung=Rung.WARN, tick=1, lifted=2),),
    lost=(CallsLost(world_id=WORLD, tick=1, epoch=2, calls=1, cost=4),),
    orphaned=CallsOrphaned(world_id=WORLD, tick=1, epoch=2, calls=1),
    diverged=WorldDiverged(world_id=WORLD, tick=0, event=f"{WORLD}:1", wrong="text was a"),
)
OUTCOME = WorldOutcome(world_id=WORLD, state=WorldState.FAILED, tick=1, cause="It fell.")
OPENED = TickOpened(
    plan=Plan(activation=0.5),
    log_head=LogHead(seq=4, chain="e" * 64),
    epoch=3,
    due=Due(degraded=(Rung.WARN,)),
)
PAUSED = TickPaused(log_head=LogHead(seq=4, chain="e" * 64), epoch=3, is_due=True)


class Governor:
    """A governor that notes what it is told, and says what it is given to say."""

    def __init__(self, says: Any = None) -> None:
        self.told: list[Any] = []
        self._says = says

    def __getattr__(self, name: str) -> Any:
        async def asked(*arguments: Any) -> Any:
            self.told.append((name, arguments))
            if isinstance(self._says, Exception):
                raise self._says
            return self._says

        return asked


def agree(_request: ChatRequest) -> str:
    """Say what every model of these tests says."""
    return "Ada Hill. I agree."


def a_host(
    say: Any = agree, *, money: int | None = None, vectors: Vectors | None = None
) -> JournaledHost:
    """Make a host over a scripted model, with a journal in memory."""
    clock = SkippingClock()

    class Priced(ScriptedProvider):
        name = "http"

    embed = None if vectors is None else lambda _request: vectors
    respondent = Respondent(
        Priced(say, vectors=embed), Price(input_fresh=1_000_000, output=1_000_000)
    )
    inner = InferenceHost(
        dict.fromkeys(("tier_a", "embed"), respondent),
        clock=clock,
        retry=RetryPolicy(attempts_max=1),
        reservations=Reservations(Ceilings(money=money), NOTHING, clock),
    )
    return JournaledHost(inner, MemoryJournal(MemoryCalls(), 1))


@asynccontextmanager
async def over_a_line(
    governor: GovernorPort, host: ModelHost
) -> AsyncIterator[tuple[RemoteGovernor, RemoteHost]]:
    """Put a line between the ports and whoever asks them."""
    ours, theirs = ends()
    here, there = await Line.on(ours, ToGovernor), await Line.on(theirs, ToWorker)
    desk, questions = Desk(governor, host), Questions(there)
    asked: dict[int, asyncio.Task[None]] = {}

    async def answer(ask: Ask) -> None:
        found = Answer(id=ask.id)
        try:
            found = await desk.answer(ask)
        finally:
            here.send(frame(found))

    async def serve() -> None:
        while (message := await here.receive()) is not None:
            if isinstance(message, Ask):
                asked[message.id] = asyncio.create_task(answer(message))
            elif isinstance(message, Withdraw):
                asked[message.id].cancel()

    async def listen() -> None:
        while (message := await there.receive()) is not None:
            questions.answered(message)

    async with asyncio.TaskGroup() as group:
        group.create_task(serve())
        group.create_task(listen())
        yield RemoteGovernor(questions), RemoteHost(questions)
        there.close()
        here.close()


def same(
    scenario: Scenario,
    *,
    governor: Callable[[], Any] = Governor,
    host: Callable[[], JournaledHost] = a_host,
) -> Any:
    """Play a scenario on the ports and over a line; require that both come to the same."""

    async def directly() -> Any:
        real = governor()
        return await _outcome(scenario, real, host()), real.told

    async def remotely() -> Any:
        real, inner = governor(), host()
        async with over_a_line(real, inner) as ports:
            return await _outcome(scenario, *ports), real.told

    found, expected = asyncio.run(remotely()), asyncio.run(directly())
    assert found == expected
    return found[0]


async def _outcome(scenario: Scenario, governor: Any, host: Any) -> Any:
    try:
        return await scenario(governor, host)
    except Exception as error:  # noqa: BLE001 - what is raised is compared
        return type(error), _said(error)


def _said(error: Exception) -> Any:
    if not isinstance(error, PerdureError):
        return ""
    return str(error), {k: str(v) for k, v in vars(error).items() if k != "problems"}


def test_everything_that_a_port_has_can_be_asked():
    """No method of the two ports is missing over the line, and none is there for nothing."""
    ports = {"governor": (GovernorPort, RemoteGovernor), "host": (ModelHost, RemoteHost)}
    named = {
        f"{prefix}.{name}"
        for prefix, (port, _) in ports.items()
        for name, method in vars(port).items()
        if inspect.iscoroutinefunction(method)
    }
    assert named == set(METHODS)
    for port, remote in ports.values():
        public = {name for name in vars(port) if not name.startswith("_")}
        assert public <= set(vars(remote))


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("open_tick", (WORLD, 3), OPENED),
        ("open_tick", (WORLD, 3), PAUSED),
        ("open_tick", (WORLD, 3), None),
        ("ceiling_reached", (WORLD, "money"), PAUSED),
        ("pause_recorded", (WORLD, HEAD), None),
        ("world_recalled", (REPORT,), None),
        ("tick_closed", (REPORT,), None),
        ("world_ended", (OUTCOME,), None),
    ],
)
def test_the_governor_is_told_and_answers_the_same(name: str, arguments: Any, says: Any):
    """Every argument arrives as it was given, every answer as it was said."""

    async def play(governor: Any, _host: Any) -> Any:
        return await getattr(governor, name)(*arguments)

    assert same(play, governor=lambda: Governor(says)) == says


def every_error() -> list[PerdureError]:
    """Make one error of every class of the tree."""
    special: dict[type[PerdureError], PerdureError] = {
        BudgetReachedError: BudgetReachedError("No room.", limit="money", where="a", remedy="b"),
        MovedError: MovedError("Moved.", moved=("brief",), diffs=("-a\n+b",), where="c"),
        CallFailedError: CallFailedError(FailureCause.TIMEOUT),
        ModelFailedError: ModelFailedError(FailureCause.TIMEOUT, again=False),
        ArgumentsError: ArgumentsError(["text: it is missing."]),
        InvalidStudyError: InvalidStudyError(
            [Problem(file="study.yaml", line=3, wrong="No name.", remedy="Write one.")]
        ),
    }
    return [
        special.get(cls) or cls("Wrong.", where="here", remedy="Mend it.")
        for cls in every_error_class()
    ]


@pytest.mark.parametrize("error", every_error(), ids=lambda error: error.code)
def test_every_error_keeps_its_class_and_its_words(error: PerdureError):
    """An error raised by the governor is raised where it was asked, whatever its class."""

    async def play(governor: Any, _host: Any) -> Any:
        await governor.tick_closed(REPORT)

    assert same(play, governor=lambda: Governor(error)) == (type(error), _said(error))


def test_errors_that_are_not_ours_are_told_as_what_they_are():
    """A foreign error is our bug, by its name; a code that nobody knows is no silence."""
    foreign = error_of(tell(ValueError("x")))
    assert isinstance(foreign, InternalError)
    assert "ValueError: x" in str(foreign)
    unknown = error_of(tell(InternalError("y")).__class__(code="nobody-knows", wrong="z"))
    assert isinstance(unknown, InternalError)
    assert "z (nobody-knows)" in str(unknown)


def test_a_call_is_answered_the_same():
    """Reply, attempts and costs of a chat call; the second time out of the journal."""

    async def play(_governor: Any, host: Any) -> Any:
        opened = await host.open_tick(opening())
        first = await host.call(key(), CHAT)
        await host.open_tick(opening())
        again = await host.call(key(), CHAT)
        return opened, first, again, host.stop_cause, host.refusal(WORLD, 0)

    _, first, *_ = same(play)
    assert isinstance(first.answer, Reply)


def test_vectors_arrive_to_the_last_bit_however_many():
    """A reply of some megabytes, with numbers that need every bit."""
    numbers = (0.1, -1e-30, 1 / 3, 5e-324, 3.4028234663852886e38)
    large = Vectors(vectors=tuple(numbers * 154 for _ in range(500)), served="scripted")

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        return await host.call(key(), EMBED)

    assert same(play, host=lambda: a_host(vectors=large)).answer.vectors == large.vectors


def test_a_tool_outside_is_called_once_the_same():
    """Leave, its answer, the answer again after a new opening; what acted unseen is unknown."""
    call = ToolCall(id="c", name="append", arguments='{"text": "é"}')
    answer = ToolAnswer(status=AnswerStatus.OK, text="✓", dropped=3)
    lost = msgspec.structs.replace(key(), ordinal=1)

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        begun = await host.begin_effect(key(), call, Effect.WRITE)
        await host.end_effect(key(), answer)
        await host.begin_effect(lost, call, Effect.WRITE)
        await host.open_tick(opening())
        again = await host.begin_effect(key(), call, Effect.WRITE)
        unknown = await host.begin_effect(lost, call, Effect.WRITE)
        return begun, again, unknown

    begun, again, unknown = same(play)
    assert (begun, again) == (None, answer)
    assert unknown.status is AnswerStatus.UNKNOWN


def test_another_call_of_a_tool_in_the_place_of_one_is_refused_the_same():
    """Where everything before was the same, the agent is not deterministic."""

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        for name in ("append", "remove"):
            call = ToolCall(id="c", name=name, arguments="{}")
            await host.begin_effect(key(), call, Effect.WRITE)
            await host.open_tick(opening())

    assert same(play)[0] is InternalError


def test_what_was_not_begun_cannot_end_the_same():
    """An answer without a call is our bug, and is journaled nowhere."""

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        await host.end_effect(key(), ToolAnswer(status=AnswerStatus.OK, text=""))

    assert same(play)[0] is InternalError


def test_a_call_of_a_tick_that_is_not_open_is_refused_the_same():
    """Our own errors go through a call with their words."""

    async def play(_governor: Any, host: Any) -> Any:
        return await host.call(key(), CHAT)

    assert same(play)[0] is InternalError


@pytest.mark.parametrize("content", ["\ud800", object()])
def test_what_no_request_can_hold_is_refused_the_same(content: Any):
    """A text that is none, and a thing that is no text, are refused before anything is sent."""

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        wrong = ChatRequest(
            role="tier_a", messages=(Message(role="user", content=content),), tokens_max=5
        )
        return await host.call(key(), wrong)

    assert same(play)[0] is InternalError


def test_a_request_of_the_wrong_type_is_the_askers_fault():
    """A number where a text should be is refused at the other end, as a wrong type and no bug."""

    async def play() -> None:
        async with over_a_line(Governor(), a_host()) as (_, host):
            await host.open_tick(opening())
            wrong: Any = 5
            message = Message(role="user", content=wrong)
            with pytest.raises(TypeError, match="Expected `str`"):
                await host.call(
                    key(), ChatRequest(role="tier_a", messages=(message,), tokens_max=5)
                )

    asyncio.run(play())


def test_what_stops_a_run_is_known_with_the_call_that_met_it():
    """A refused key is the host's stop cause when its call has come back."""

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        result = await host.call(key(), CHAT)
        return result, host.stop_cause

    failure = FailureCause.KEY_REFUSED
    assert same(play, host=lambda: a_host(lambda _request: failure))[1] is failure


def test_a_refused_reservation_is_known_with_its_call_and_when_its_tick_is_opened_again():
    """The tick cannot close, and no other is concerned."""

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        result = await host.call(key(), CHAT)
        known = host.refusal(WORLD, 0)
        await host.open_tick(opening())
        return result, known, host.refusal(WORLD, 0), host.refusal(WORLD, 1)

    assert same(play, host=lambda: a_host(money=1))[1:] == ("money", "money", None)


def test_a_worker_that_comes_after_knows_of_the_refusal():
    """The process that met it is gone; the one that opens its tick again is told."""

    async def play() -> None:
        real = a_host(money=1)
        await real.open_tick(opening())
        await real.call(key(), CHAT)
        async with over_a_line(Governor(), real) as (_, host):
            assert host.refusal(WORLD, 0) is None
            await host.open_tick(opening())
            assert host.refusal(WORLD, 0) == "money"

    asyncio.run(play())


def test_charges_of_a_tick_are_the_same():
    """What is lost and what is not needed is charged alike; a tick that is closed is given up."""

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        one, other = [await host.call(key(job), CHAT) for job in range(2)]
        orphans = await host.orphans(WORLD, 0, {one.key})
        none = await host.orphans(WORLD, 0, {one.key, other.key})
        lost = await host.lost(WORLD, 0)
        closed = await host.close_tick(WORLD, 0)
        return orphans, none, lost, closed, await host.orphans(WORLD, 0, {one.key})

    orphans, none, lost, closed, after = same(play)
    assert orphans.calls == 1
    assert (none, lost, closed, after) == (None, (), None, None)


def test_a_call_that_is_cancelled_has_ended_when_the_cancellation_comes_through():
    """An agent that gives a call up finds it charged, and its tick with nothing in flight."""

    class Slow(ScriptedProvider):
        name = "http"

        async def chat(self, request: ChatRequest, timeout_s: float) -> Any:
            try:
                await asyncio.sleep(3_600)
            finally:
                # Whoever is cancelled may need a moment, and is waited for.
                await asyncio.sleep(0.2)

    def slow() -> JournaledHost:
        host = a_host()
        respondent = Respondent(Slow(agree), Price(input_fresh=1_000_000, output=1_000_000))
        host._host._roles["tier_a"] = respondent
        return host

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        try:
            async with asyncio.timeout(0.05):
                await host.call(key(), CHAT)
        except TimeoutError:
            lost = await host.lost(WORLD, 0)
            opened = await host.open_tick(opening())
            return lost, opened
        return None

    (lost,), _ = same(play, host=slow)
    assert lost.calls == 1
    assert lost.cost > 0


def test_usage_of_a_call_is_counted_the_same():
    """What a reply used and what it cost arrive with it."""
    reply = Reply(text="Ada", served="scripted", usage=Usage(input_fresh=7, output=2))

    async def play(_governor: Any, host: Any) -> Any:
        await host.open_tick(opening())
        return await host.call(key(), CHAT)

    (attempt,) = same(play, host=lambda: a_host(lambda _request: reply)).attempts
    assert attempt.amount == 9
