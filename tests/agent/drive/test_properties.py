"""What holds of every drive, over thousands of generated scripts, interrupts and crash cuts.

Each property is shown to have teeth: a driver that is broken on purpose turns it red.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from tests.support.drives import CountingClock, KeptLedger, Simulation, plan

from perdure.agent.drive import charter as charter_room
from perdure.agent.drive import drive as drive_room
from perdure.agent.drive import turn as turn_room
from perdure.agent.drive import wave as wave_room
from perdure.agent.drive.charter import Ending
from perdure.agent.drive.conversation import Conversation
from perdure.agent.drive.drive import Frozen
from perdure.agent.drive.ports import (
    Child,
    ChildEnd,
    Interrupt,
    ModelFailedError,
    NewPolicy,
    SafePoint,
    Steer,
    Stop,
)
from perdure.agent.drive.recovery import closing_lines
from perdure.agent.drive.scribe import Scribe
from perdure.base.chance import Stream
from perdure.records.drive import (
    CancelReceived,
    ChildEnded,
    ChildStarted,
    CommandsKilled,
    Completion,
    DriveLine,
    EndCause,
    HandoffWritten,
    ModelCalled,
    ModelReturned,
    RunFrozen,
    RunPolicy,
    ToolCalled,
    ToolResult,
)
from perdure.records.request import FailureCause, FinishReason, Message, Reply
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall, Writes
from perdure.records.usage import Usage
from perdure.testing.scripted_model import Step
from perdure.testing.scripted_tools import Answer, ScriptedTool, Slow

QUICK, FULL = 60, 20_000
COUNT = FULL if os.environ.get("PERDURE_CRASH") == "full" else QUICK

TOOLS = (
    ScriptedTool("look"),
    ScriptedTool("read"),
    ScriptedTool("write", writes=Writes(paths=("a.txt",))),
    ScriptedTool("wipe", writes=Writes(anywhere=True), deletes=True),
    ScriptedTool("send", effect=Effect.EGRESS),
    ScriptedTool("hand", effect=Effect.SPAWN),
)
NAMES = ("look", "look", "read", "write", "write", "wipe", "send", "hand", "nothing")
CAUSES = (FailureCause.TIMEOUT, FailureCause.RATE_LIMITED, FailureCause.BAD_REPLY)


@dataclass
class Script:
    """One generated drive: what the model says, what tools answer, what arrives, what is halted."""

    seed: int
    steps: list[Step] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    interrupts: dict[tuple[SafePoint, int, int], Sequence[Interrupt]] = field(default_factory=dict)
    halts_in: str = ""
    net: bool = True
    retries: int | None = None
    window: int = 0


def generated(seed: int) -> Script:
    """Generate a script from its seed."""
    draw = Stream(str(seed), 0, "script")
    script = Script(
        seed,
        net=draw.below(4) > 0,
        retries=draw.choice([None, 0, 1]),
        window=draw.choice([0, 100]),
    )
    turns = 1 + draw.below(5)
    ids: list[str] = []
    for turn in range(turns):
        while draw.below(5) == 0:
            again = draw.below(4) > 0
            script.steps.append(ModelFailedError(draw.choice(CAUSES), again=again))
        made = [
            ToolCall(id=f"t{turn}c{place}", name=draw.choice(NAMES), arguments=f'{{"n":{turn}}}')
            for place in range(draw.below(6))
        ]
        ids += [call.id for call in made]
        for call in made:
            script.answers[call.id] = _answer(draw, call.id)
        script.steps.append(_reply(draw, tuple(made)))
    # Whatever happened, somebody says a last word; a script never runs out.
    script.steps += ["The end."] * 12
    for _ in range(draw.below(4)):
        place = draw.choice(list(SafePoint)), draw.below(turns + 1), draw.below(3)
        if place[0] is not SafePoint.BEFORE_TOOL_CALL:
            place = (place[0], place[1], 0)
        script.interrupts[place] = tuple(_interrupt(draw) for _ in range(1 + draw.below(2)))
    if ids and draw.below(4) == 0:
        script.halts_in = draw.choice(ids)
    return script


def _answer(draw: Stream, name: str) -> Answer:
    said: list[Answer] = [
        f"answer of {name}",
        Slow(draw.below(6), f"late answer of {name}"),
        ToolAnswer(status=AnswerStatus.ERROR, text="no such thing"),
        ValueError("it broke"),
    ]
    return said[draw.below(len(said))]


def _reply(draw: Stream, calls: tuple[ToolCall, ...]) -> Reply:
    text = draw.choice(["", "I look.", "Done."])
    finish = FinishReason.LENGTH if draw.below(6) == 0 else FinishReason.STOP
    usage = Usage(input_fresh=10 + draw.below(90), output=1) if draw.below(3) else None
    return Reply(text=text, served="scripted", finish=finish, calls=calls, usage=usage)


def _interrupt(draw: Stream) -> Interrupt:
    kind = draw.below(6)
    if kind == 0:
        return Stop(cause=draw.choice([EndCause.CANCEL, EndCause.TURNS, EndCause.MONEY]), by="x")
    if kind == 1:
        policy = RunPolicy(writes=bool(draw.below(2)), egress=bool(draw.below(2)))
        return NewPolicy(policy=policy, by="user")
    return Steer(text=f"words {draw.below(100)}", source=draw.choice(["user", "clerk-2"]))


@dataclass
class Played:
    """A script that was played: what is left of it."""

    simulation: Simulation
    frozen: Frozen
    unannounced: list[str]

    @property
    def lines(self) -> list[DriveLine]:
        return self.simulation.ledger.lines


def played(script: Script, *, concurrent: bool = True) -> Played:
    """Play a script through the driver."""
    ledger, unannounced = KeptLedger(), list[str]()

    def answer(call: ToolCall) -> Answer:
        intents = {line.call.id for line in ledger.lines if isinstance(line, ToolCalled)}
        if call.name not in ("look", "read") and call.id not in intents:
            unannounced.append(call.id)
        if call.id == script.halts_in:
            simulation.heard.halt()
            return Slow(50, "it was too late")
        return script.answers[call.id]

    def spawn(child: Child) -> ChildEnd:
        del child
        return ChildEnd(completion=Completion.DONE, cause=EndCause.CONCLUDED, text="I did it.")

    simulation = Simulation(
        steps=script.steps,
        tools=TOOLS,
        answers=answer,
        interrupts=script.interrupts,
        plan=plan(retries=script.retries, window=script.window, concurrent=concurrent),
        net=script.net,
        ledger=ledger,
        spawn=spawn,
    )
    return Played(simulation, simulation.run(), unannounced)


def closes_once(script: Script) -> None:
    """Close with the handoff and the end, which are nowhere else."""
    lines = played(script).lines
    assert [type(line) for line in lines[-2:]] == [HandoffWritten, RunFrozen]
    assert not any(isinstance(line, HandoffWritten | RunFrozen) for line in lines[:-2])


def announces_effects(script: Script) -> None:
    """Whatever can act is durable as an intent before it runs."""
    assert played(script).unannounced == []


def pairs_calls(script: Script) -> None:
    """Every call has its result right behind it, and there are no others."""
    lines = played(script).lines
    for place, line in enumerate(lines):
        if isinstance(line, ToolCalled):
            after = lines[place + 1]
            assert isinstance(after, ToolResult)
            assert after.call_id == line.call.id
        if isinstance(line, ToolResult):
            assert isinstance(lines[place - 1], ToolCalled)


def overlaps_without_trace(script: Script) -> None:
    """Leave, of reads that run together, the ledger of reads one after the other."""
    if script.halts_in:
        return  # what a halt finds done depends on what runs at the same time
    together, alone = played(script), played(script, concurrent=False)
    assert together.simulation.ledger.bytes == alone.simulation.ledger.bytes


def recovers_once(script: Script) -> None:
    """Cut at any flush, a ledger is closed once: calls as unknown, all children, the two lines."""
    whole = played(script).simulation.ledger
    for count in whole.flushes:
        cut = whole.lines[:count]
        closed = [*cut, *closing_lines(cut, CountingClock())]
        assert closing_lines(closed, CountingClock()) == ()
        assert [type(line) for line in closed[-2:]] == [HandoffWritten, RunFrozen]
        called = [line.call.id for line in closed if isinstance(line, ToolCalled)]
        assert called == [line.call_id for line in closed if isinstance(line, ToolResult)]
        started = [line.child for line in closed if isinstance(line, ChildStarted)]
        ended = [line.child for line in closed if isinstance(line, ChildEnded)]
        promised = [
            line.text.split()[6].rstrip(".")
            for line in closed
            if isinstance(line, ToolResult)
            and line.name == "hand"
            and line.status is AnswerStatus.OK
        ]
        assert set(started) <= set(promised)
        assert sorted(ended) == sorted(promised)


def only_grows(script: Script) -> None:
    """Begin whatever is sent with what was sent before it."""
    requests = played(script).simulation.model.requests
    for one, other in pairwise(requests):
        assert other.messages[: len(one.messages)] == one.messages


def can_be_rebuilt(script: Script) -> None:
    """Whoever reads the ledger rebuilds every request, word for word."""
    found = played(script)
    conversation, requests = Conversation(), list[tuple[Message, ...]]()
    for line in found.lines:
        conversation.take(line)
        if isinstance(line, ModelCalled):
            requests.append(conversation.messages)
    assert requests == [one.messages[1:] for one in found.simulation.model.requests]
    assert conversation.messages == found.frozen.messages


def is_done_by_words(script: Script) -> None:
    """Done is what said something whole, and cites the line that says it."""
    found = played(script)
    end = found.lines[-1]
    assert isinstance(end, RunFrozen)
    assert bool(end.evidence) == (end.completion is Completion.DONE)
    for number in end.evidence:
        shows = found.lines[number]
        assert isinstance(shows, ModelReturned)
        assert shows.text.strip()
        assert shows.finish is not FinishReason.LENGTH
        assert not shows.calls


def stops_at_a_stop(script: Script) -> None:
    """After a stop nothing is done any more: only what is open is closed."""
    lines = played(script).lines
    stops = [place for place, line in enumerate(lines) if isinstance(line, CancelReceived)]
    assert len(stops) <= 1
    for place in stops:
        allowed = (ChildEnded, CommandsKilled, HandoffWritten, RunFrozen)
        assert all(isinstance(line, allowed) for line in lines[place + 1 :])


PROPERTIES: tuple[Callable[[Script], None], ...] = (
    closes_once,
    announces_effects,
    pairs_calls,
    overlaps_without_trace,
    recovers_once,
    only_grows,
    can_be_rebuilt,
    is_done_by_words,
    stops_at_a_stop,
)


@pytest.mark.parametrize("property_", PROPERTIES, ids=lambda one: one.__name__)
def test_it_holds_of_every_generated_drive(property_: Callable[[Script], None]) -> None:
    """A property holds of all generated scripts; a failure names the seed."""
    # Each has scripts of its own, and at full size each has all that are asked for.
    first = PROPERTIES.index(property_) * COUNT
    for seed in range(first, first + COUNT):
        try:
            property_(generated(seed))
        except BaseException as error:
            raise AssertionError(f"{property_.__name__} fails for seed {seed}: {error}") from error


def test_the_scripts_reach_every_way_to_end() -> None:
    """What is generated is not all of one kind: each cause that a script can lead to is there."""
    causes = {played(generated(seed)).frozen.cause for seed in range(300)}
    assert causes >= {
        EndCause.CONCLUDED,
        EndCause.OUTPUT_CEILING,
        EndCause.EMPTY_REPLY,
        EndCause.TURNS,
        EndCause.MONEY,
        EndCause.CANCEL,
        EndCause.HALT,
        EndCause.PROVIDER,
    }


Break = Callable[[pytest.MonkeyPatch], None]


def _closes_twice(patch: pytest.MonkeyPatch) -> None:
    sound = charter_room.freeze

    async def twice(*given: Any) -> None:
        await sound(*given)
        await sound(*given)

    patch.setattr(drive_room, "freeze", twice)


def _forgets_to_flush(patch: pytest.MonkeyPatch) -> None:
    sound = Scribe.flush

    async def unless_a_call(self: Scribe) -> None:
        held = self._held
        if not (held and isinstance(held[-1], ToolCalled)):
            await sound(self)

    patch.setattr(Scribe, "flush", unless_a_call)


def _drops_failed_results(patch: pytest.MonkeyPatch) -> None:
    sound = Scribe.hold

    def hold(self: Scribe, line: DriveLine, blobs: Any = None) -> int:
        if isinstance(line, ToolResult) and line.status is AnswerStatus.ERROR:
            return 0
        return sound(self, line, blobs)

    patch.setattr(Scribe, "hold", hold)


def _records_as_they_end(patch: pytest.MonkeyPatch) -> None:
    async def unordered(items: Any, work: Any, *, workers_max: int) -> list[Any]:
        if workers_max <= 1:
            return [await work(item) for item in items]
        done: list[Any] = []

        async def one(item: Any) -> None:
            done.append(await work(item))

        await asyncio.gather(*(one(item) for item in items))
        return done

    patch.setattr(wave_room, "gather_bounded", unordered)


def _closes_without_results(patch: pytest.MonkeyPatch) -> None:
    sound = charter_room.closing

    def closing(*given: Any, **named: Any) -> Iterator[DriveLine]:
        for line in sound(*given, **named):
            if not isinstance(line, ToolResult):
                yield line

    import perdure.agent.drive.recovery as recovery_room  # noqa: PLC0415

    patch.setattr(recovery_room, "closing", closing)


def _rewrites_what_was_sent(patch: pytest.MonkeyPatch) -> None:
    sound = Conversation._say

    def say(self: Conversation, text: str) -> None:
        self._sent = 0
        sound(self, text)

    patch.setattr(Conversation, "_say", say)


def _says_what_no_line_tells(patch: pytest.MonkeyPatch) -> None:
    sound = turn_room.Active._next

    def on(self: Any, *given: Any) -> Any:
        self.conversation._notes.append("Keep going.")
        return sound(self, *given)

    patch.setattr(turn_room.Active, "_next", on)


def _is_always_done(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(turn_room, "_conclusion", lambda _: EndCause.CONCLUDED)


def _goes_on_after_a_stop(patch: pytest.MonkeyPatch) -> None:
    sound = drive_room._turns

    async def deaf(active: Any, *given: Any) -> Ending:
        ending = await sound(active, *given)
        if ending.completion is Completion.CANCELLED:
            with suppress(Exception):
                await active.turn()
        return ending

    patch.setattr(drive_room, "_turns", deaf)


BROKEN: dict[Callable[[Script], None], Break] = {
    closes_once: _closes_twice,
    announces_effects: _forgets_to_flush,
    pairs_calls: _drops_failed_results,
    overlaps_without_trace: _records_as_they_end,
    recovers_once: _closes_without_results,
    only_grows: _rewrites_what_was_sent,
    can_be_rebuilt: _says_what_no_line_tells,
    is_done_by_words: _is_always_done,
    stops_at_a_stop: _goes_on_after_a_stop,
}


@pytest.mark.parametrize("property_", PROPERTIES, ids=lambda one: one.__name__)
def test_a_driver_that_is_broken_for_it_turns_it_red(
    property_: Callable[[Script], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each property notices the driver that was broken for it."""
    BROKEN[property_](monkeypatch)
    for seed in range(300):
        try:
            property_(generated(seed))
        except Exception:  # noqa: BLE001 - however it shows, it was noticed
            return
    pytest.fail(f"{property_.__name__} does not notice what is broken")
