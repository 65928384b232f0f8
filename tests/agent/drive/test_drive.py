"""A drive leaves exactly the lines that it has to, however it ends."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec
import pytest
from tests.support.drives import (
    CountingClock,
    KeptLedger,
    ScriptedInterrupts,
    Simulation,
    plan,
    rebuilt,
)

from perdure.agent.drive.checkpointing import Workspace, after, is_due
from perdure.agent.drive.conversation import Conversation
from perdure.agent.drive.ports import (
    Child,
    ChildEnd,
    ModelFailedError,
    NewPolicy,
    SafePoint,
    Steer,
    Stop,
)
from perdure.agent.drive.prefix import SLOTS, Document, Prefix, freeze
from perdure.agent.drive.recovery import closing_lines
from perdure.agent.drive.watchdog import BASE_MS, CAP_MS, back_off_ms
from perdure.base.errors import InternalError, StorageError
from perdure.records.drive import (
    COMPLETION_OF,
    CancelReceived,
    ChildEnded,
    ChildStarted,
    Completion,
    ContextReminded,
    DriveLine,
    EndCause,
    HandoffWritten,
    ModelCalled,
    ModelReturned,
    PromptShapeCompared,
    RunFrozen,
    RunPolicy,
    SteerReceived,
    ToolCalled,
    ToolResult,
    WatchdogFired,
)
from perdure.records.request import FailureCause, FinishReason, Message, Reply
from perdure.records.tools import AnswerStatus, Effect, Writes
from perdure.records.usage import Usage
from perdure.testing.scripted_model import BreaksOff, ScriptedModel, Step, Thinks, calls
from perdure.testing.scripted_tools import Block, Breaks, ScriptedTool, ScriptedTools, Slow

GOLDEN = Path(__file__).parents[2] / "golden" / "drives"
LOOK = ScriptedTool("look")
WRITE = ScriptedTool("write", writes=Writes(paths=("a.txt",)))
HAND = ScriptedTool("hand", effect=Effect.SPAWN)
OPENING = ["job_pinned", "run_started"]
TURN = ["prompt_shape_compared", "model_called", "model_returned"]
FIRST = ["prompt_assembled", *TURN]
PAIR = ["tool_called", "tool_result"]
CLOSING = ["handoff_written", "run_frozen"]
CANCEL = Stop(cause=EndCause.CANCEL, by="a person")
P = SafePoint


def wave(*names: str, tag: str = "c") -> Reply:
    """Make a reply that asks for the tools of these names."""
    return calls(*names, tag=tag)


def pinned(name: str, simulation: Simulation) -> None:
    """Compare a ledger byte for byte with the golden one; PERDURE_GOLDEN=write writes it anew."""
    path = GOLDEN / f"{name}.ledger"
    if os.environ.get("PERDURE_GOLDEN") == "write":
        path.write_bytes(simulation.ledger.bytes)
    assert simulation.ledger.bytes == path.read_bytes()


def only(simulation: Simulation, kind: type) -> list:  # type: ignore[type-arg]
    """Pick the lines of one kind."""
    return [line for line in simulation.ledger.lines if isinstance(line, kind)]


def stamps(simulation: Simulation) -> list[int]:
    """List the moments of all lines."""
    return [line.t for line in simulation.ledger.lines]


def test_an_answer_at_once_is_done_by_the_reply_that_it_cites() -> None:
    """An answer at once is done by the reply that it cites."""
    simulation = Simulation(steps=["There are three."])
    frozen = simulation.run()
    assert simulation.kinds == [*OPENING, *FIRST, *CLOSING]
    assert stamps(simulation) == [0, 1, 2, 2, 3, 4, 5, 6]
    assert (frozen.completion, frozen.cause, frozen.turns) == ("done", "concluded", 1)
    assert isinstance(simulation.ledger.lines[frozen.evidence[0]], ModelReturned)
    pinned("at-once", simulation)


def test_a_wave_leaves_a_pair_for_each_of_its_calls() -> None:
    """A wave leaves a pair for each of its calls."""
    simulation = Simulation(
        steps=[wave("look", "look", "write"), wave("look", tag="d"), "Done."], tools=[LOOK, WRITE]
    )
    simulation.run()
    assert simulation.kinds == [
        *[*OPENING, *FIRST, "checkpoint_committed", *PAIR, *PAIR, *PAIR],
        *[*TURN, "checkpoint_committed", *PAIR],
        *[*TURN, *CLOSING],
    ]
    pinned("waves", simulation)


def test_a_whole_run_with_everything_that_can_arrive() -> None:
    """A whole run with everything that can arrive."""
    simulation = Simulation(
        steps=[
            wave("look"),
            ModelFailedError(FailureCause.RATE_LIMITED, again=True, retry_after_s=2.0),
            wave("write", "gone", tag="d"),
            "Done.",
        ],
        tools=[LOOK, WRITE],
        interrupts={
            (P.BEFORE_ASSEMBLE, 0, 0): [Steer(text="Be quick.")],
            (P.BEFORE_CALL, 1, 0): [Steer(text="<b>hello</b>", source="clerk-2")],
            (P.BEFORE_WAVE, 1, 0): [NewPolicy(policy=RunPolicy(writes=False), by="user")],
        },
    )
    simulation.run()
    pinned("everything", simulation)
    [first, _, third, *_] = simulation.model.requests
    assert "user: Be quick." in first.messages[1].content
    assert (
        '<letter from="clerk-2">\n&lt;b&gt;hello&lt;/b&gt;\n</letter>' in third.messages[-1].content
    )
    results = only(simulation, ToolResult)
    assert [result.status for result in results] == ["ok", "refused", "error"]
    last = simulation.model.requests[-1].messages[-1]
    assert last.content.startswith("house: What you may do has changed. You may not write")


@pytest.mark.parametrize(
    ("place", "turn", "kinds"),
    [
        (P.BEFORE_ASSEMBLE, 0, OPENING),
        (P.BEFORE_CALL, 0, [*OPENING, *FIRST[:2]]),
        (P.BEFORE_WAVE, 0, [*OPENING, *FIRST]),
        (P.BEFORE_TOOL_CALL, 0, [*OPENING, *FIRST]),
        (P.BEFORE_SPAWN, 0, [*OPENING, *FIRST, *PAIR]),
        (P.BEFORE_SPAWN, 1, [*OPENING, *FIRST, *PAIR, *TURN]),
    ],
)
def test_a_cancel_at_a_safe_point_leaves_what_was_before_it(
    place: SafePoint, turn: int, kinds: list[str]
) -> None:
    """A cancel at a safe point leaves what was before it."""
    simulation = Simulation(
        steps=[wave("look"), "Done."],
        tools=[LOOK],
        interrupts={(place, turn, 0): [Steer(text="ignored"), CANCEL]},
    )
    frozen = simulation.run()
    assert simulation.kinds == [*kinds, "cancel_received", *CLOSING]
    assert (frozen.completion, frozen.cause, frozen.turns) == ("cancelled", "cancel", turn)
    [cancel] = only(simulation, CancelReceived)
    assert (cancel.by, cancel.point) == ("a person", place)
    # Every ending reads the clock: the end is not before what came before it.
    assert simulation.ledger.lines[-1].t == max(stamps(simulation))
    assert "Done." not in str(frozen.messages)


@pytest.mark.parametrize("before", range(8))
def test_a_cancel_before_the_kth_of_eight_calls_leaves_k_pairs(before: int) -> None:
    """A cancel before the kth of eight calls leaves k pairs."""
    names = ["look", "look", "look", "write", "look", "write", "look", "look"]
    simulation = Simulation(
        steps=[wave(*names)],
        tools=[LOOK, WRITE],
        interrupts={(P.BEFORE_TOOL_CALL, 0, before): [CANCEL]},
    )
    simulation.run()
    assert simulation.kinds == [
        *[*OPENING, *FIRST, "checkpoint_committed", *(PAIR * before)],
        *["cancel_received", *CLOSING],
    ]
    assert len(simulation.scripted_tools.started) == before


def test_a_halt_in_the_third_of_eight_calls_stops_it_and_the_fourth() -> None:
    """A halt in the third of eight calls stops it and the fourth."""

    async def go() -> Simulation:
        entered = asyncio.Event()
        block = Block(until=asyncio.Event(), entered=entered)
        simulation = Simulation(
            steps=[wave(*["write"] * 8)],
            tools=[WRITE],
            answers={"write": ["one", "two", block]},
        )
        task = asyncio.ensure_future(simulation.go())
        await entered.wait()
        simulation.heard.halt()
        frozen = await task
        assert frozen.cause is EndCause.HALT
        return simulation

    simulation = asyncio.run(go())
    assert simulation.kinds.count("tool_called") == 3
    [*_, cut] = only(simulation, ToolResult)
    assert cut.status is AnswerStatus.UNKNOWN
    assert simulation.kinds[-3:] == ["cancel_received", *CLOSING]
    assert len(simulation.scripted_tools.cut) == 1
    assert "nobody knows: write" in only(simulation, HandoffWritten)[0].next_step


def test_a_halt_cuts_a_model_call_and_a_wait_at_once() -> None:
    """A halt cuts a model call and a wait at once."""

    async def go(*, in_wait: bool) -> Simulation:
        entered = asyncio.Event()
        failed = ModelFailedError(FailureCause.TIMEOUT, again=True)

        def wait(_: int) -> asyncio.Event:
            entered.set()
            return asyncio.Event()

        step = failed if in_wait else Thinks(asyncio.Event(), "never", entered=entered)
        simulation = Simulation(steps=[step], wait=wait)
        task = asyncio.ensure_future(simulation.go())
        await entered.wait()
        simulation.heard.halt("the city")
        assert (await task).cause is EndCause.HALT
        return simulation

    called = asyncio.run(go(in_wait=False))
    assert called.kinds == [*OPENING, *FIRST[:3], "cancel_received", *CLOSING]
    assert called.model.cut == 1
    waited = asyncio.run(go(in_wait=True))
    assert waited.kinds[-4:] == ["watchdog_fired", "cancel_received", *CLOSING]
    [cancel] = only(waited, CancelReceived)
    assert (cancel.by, cancel.point) == ("the city", "in_wait")
    # The moment is in the ledger before the wait begins.
    assert waited.waits == [line.until for line in only(waited, WatchdogFired)]


@pytest.mark.parametrize("method", ["specs", "effect", "writes", "admit", "account", "close"])
def test_a_tool_face_that_raises_is_closed_first_and_raised_then(method: str) -> None:
    """A tool face that raises is closed first and raised then."""
    error = RuntimeError(f"{method} broke")
    face = ScriptedTools([LOOK, WRITE], fails={method: error})
    simulation = Simulation(steps=[wave("look", "write"), "Done."], face=face)
    with pytest.raises(RuntimeError, match=method):
        simulation.run()
    assert "driver_failed" in simulation.kinds
    assert simulation.kinds[-2:] == CLOSING
    assert simulation.ledger.lines[-1].cause is EndCause.FAULT  # type: ignore[union-attr]


def test_a_tool_that_breaks_its_face_leaves_no_call_without_a_result() -> None:
    """A tool that breaks its face leaves no call without a result."""
    for name in ("look", "write"):
        simulation = Simulation(
            steps=[wave(name)], tools=[LOOK, WRITE], answers={name: Breaks(RuntimeError("torn"))}
        )
        with pytest.raises(RuntimeError, match="torn"):
            simulation.run()
        called = [line.call.id for line in only(simulation, ToolCalled)]
        assert called == [line.call_id for line in only(simulation, ToolResult)]
        assert simulation.kinds[-2:] == CLOSING


def test_every_other_raising_part_ends_in_the_closing_pair() -> None:
    """Every other raising part ends in the closing pair."""

    async def fails(*_: object) -> None:
        raise OSError("git is gone")

    for simulation in (
        Simulation(steps=[wave("write")], tools=[WRITE]),
        Simulation(steps=[lambda _: 1 / 0]),  # type: ignore[list-item,return-value]
    ):
        object.__setattr__(simulation.hooks, "checkpoint", fails)
        with pytest.raises((OSError, ZeroDivisionError)):
            simulation.run()
        assert "driver_failed" in simulation.kinds
        assert simulation.kinds[-2:] == CLOSING
    for moment in range(1, 9):
        simulation = Simulation(
            steps=[wave("look"), "Done."], tools=[LOOK], clock=CountingClock(fails_at=moment)
        )
        with pytest.raises(OSError, match="the clock stopped"):
            simulation.run()
        assert "driver_failed" in simulation.kinds
        assert simulation.kinds[-2:] == CLOSING


@pytest.mark.parametrize("dies_at", range(8))
def test_a_ledger_that_fails_is_raised_and_the_next_start_up_closes_what_is_there(
    dies_at: int,
) -> None:
    """A ledger that fails is raised and the next start up closes what is there."""
    ledger = KeptLedger(dies_at=dies_at)
    simulation = Simulation(
        steps=[wave("look", "write"), "Done."], tools=[LOOK, WRITE], ledger=ledger
    )
    if dies_at == 7:  # there are seven flushes
        simulation.run()
        assert closing_lines(ledger.lines, CountingClock()) == ()
        return
    with pytest.raises(StorageError, match="The disk is gone"):
        simulation.run()
    assert "run_frozen" not in ledger.kinds
    closed = closing_lines(ledger.lines, CountingClock())
    again = [*ledger.lines, *closed]
    assert closing_lines(again, CountingClock()) == ()
    if ledger.lines:
        assert isinstance(again[-2], HandoffWritten)
        assert isinstance(again[-1], RunFrozen)
        assert again[-1].cause is EndCause.CRASH


def test_after_a_crash_in_any_flush_every_effect_has_its_intent_and_is_closed_as_unknown() -> None:
    """After a crash in any flush every effect has its intent and is closed as unknown."""
    whole = Simulation(steps=[wave("write", "look", "write"), "Done."], tools=[LOOK, WRITE])
    whole.run()
    for count in whole.ledger.flushes:
        lines = whole.ledger.lines[:count]
        closed = closing_lines(lines, CountingClock())
        open_calls = [line.call.id for line in lines if isinstance(line, ToolCalled)][
            len([line for line in lines if isinstance(line, ToolResult)]) :
        ]
        unknown = [line for line in closed if isinstance(line, ToolResult)]
        assert [line.call_id for line in unknown] == open_calls
        assert all(line.status is AnswerStatus.UNKNOWN for line in unknown)


def test_what_a_wave_did_is_known_before_the_next_request_is_written() -> None:
    """Killed between a wave that acted and the next request, no outcome is unknown."""
    whole = Simulation(steps=[wave("write", "look"), "Done."], tools=[LOOK, WRITE])
    whole.run()
    assembled = [at for at, kind in enumerate(whole.kinds) if kind == "prompt_shape_compared"][-1]
    durable = max(count for count in whole.ledger.flushes if count <= assembled)
    closed = closing_lines(whole.ledger.lines[:durable], CountingClock())
    assert [line for line in closed if isinstance(line, ToolResult)] == []


def test_no_tool_that_acts_runs_before_its_intent_is_durable() -> None:
    """No tool that acts runs before its intent is durable."""
    ledger = KeptLedger()
    seen: list[bool] = []

    def answer(call: object) -> str:
        seen.append(any(getattr(line, "call", None) == call for line in ledger.lines))
        return "written"

    Simulation(
        steps=[wave("write", "write"), "Done."], tools=[WRITE], answers=answer, ledger=ledger
    ).run()
    assert seen == [True, True]


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Reply(text=" \n", served="m"), EndCause.EMPTY_REPLY),
        (Reply(text="cut he", served="m", finish=FinishReason.LENGTH), EndCause.OUTPUT_CEILING),
        (Reply(text="said", served="m"), EndCause.CONCLUDED),
    ],
)
def test_only_words_that_were_not_cut_are_done(reply: Reply, cause: EndCause) -> None:
    """Only words that were not cut are done."""
    frozen = Simulation(steps=[reply]).run()
    assert frozen.cause is cause
    assert frozen.completion is COMPLETION_OF[cause]
    assert bool(frozen.evidence) == (frozen.completion is Completion.DONE)


def test_a_provider_that_refuses_ends_the_drive_and_raises_nothing() -> None:
    """A provider that refuses ends the drive and raises nothing."""
    refused = ModelFailedError(FailureCause.KEY_REFUSED, again=False, status=401)
    simulation = Simulation(steps=[refused])
    frozen = simulation.run()
    assert frozen.cause is EndCause.PROVIDER
    assert simulation.kinds[-3:] == ["provider_failed", *CLOSING]


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_a_ceiling_of_n_retries_is_n_and_one_attempts(retries: int) -> None:
    """A ceiling of n retries is n and one attempts."""
    failed = ModelFailedError(FailureCause.SERVER_ERROR, again=True)
    simulation = Simulation(steps=[failed] * 9, plan=plan(retries=retries))
    assert simulation.run().cause is EndCause.PROVIDER
    assert [line.attempt for line in only(simulation, ModelCalled)] == list(range(retries + 1))
    assert len(simulation.waits) == retries


def test_an_answer_forgets_the_failures_before_it() -> None:
    """An answer forgets the failures before it."""
    failed = ModelFailedError(FailureCause.SERVER_ERROR, again=True)
    simulation = Simulation(
        steps=[failed, wave("look"), failed, "Done."], tools=[LOOK], plan=plan(retries=1)
    )
    assert simulation.run().cause is EndCause.CONCLUDED
    assert [line.failures for line in only(simulation, WatchdogFired)] == [1, 1]


def test_waits_double_from_a_half_second_to_a_minute_and_spread_over_runs() -> None:
    """Waits double from a half second to a minute and spread over runs."""
    for failures in range(1, 12):
        base = min(BASE_MS * 2 ** (failures - 1), CAP_MS)
        waits = [back_off_ms(f"run-{number}", failures) for number in range(50)]
        assert all(base <= wait <= base * 3 // 2 for wait in waits)
        assert len(set(waits)) > 40
        assert waits[7] == back_off_ms("run-7", failures)
    slow = ModelFailedError(FailureCause.RATE_LIMITED, again=True, retry_after_s=90.0)
    simulation = Simulation(steps=[slow, "Done."])
    simulation.run()
    [fired] = only(simulation, WatchdogFired)
    assert fired.until == fired.t + 90_000


def test_reads_overlap_and_leave_the_ledger_of_one_after_the_other() -> None:
    """Reads overlap and leave the ledger of one after the other."""

    def simulate(*, concurrent: bool, rounds: list[int]) -> Simulation:
        simulation = Simulation(
            steps=[wave("look", "look", "look", "write", "look"), "Done."],
            tools=[LOOK, WRITE],
            answers={"look": [Slow(count, f"after {count}") for count in [*rounds, 0]]},
            plan=plan(concurrent=concurrent),
        )
        simulation.run()
        return simulation

    together = simulate(concurrent=True, rounds=[9, 5, 1])
    alone = simulate(concurrent=False, rounds=[9, 5, 1])
    assert together.ledger.bytes == alone.ledger.bytes
    assert [call.id for call in together.scripted_tools.finished] == ["c2", "c1", "c0", "c3", "c4"]
    assert [call.id for call in alone.scripted_tools.finished] == ["c0", "c1", "c2", "c3", "c4"]


def test_reads_start_while_the_reply_is_said_and_a_cut_stream_leaves_no_line_of_them() -> None:
    """Reads start while the reply is said and a cut stream leaves no line of them."""
    reply = wave("look", "look", "write", "look")
    shown: list[object] = []

    def simulate(steps: list[object], *, streamed: bool) -> Simulation:
        simulation = Simulation(
            steps=steps,  # type: ignore[arg-type]
            tools=[LOOK, WRITE],
            sink=shown.append if streamed else None,
        )
        simulation.run()
        return simulation

    early: list[int] = []
    looking: list[asyncio.Future[None]] = []

    def slowly(_: object) -> Thinks:
        async def look() -> None:
            await asyncio.sleep(0.01)
            early.append(len(simulation.scripted_tools.started))
            gate.set()

        gate = asyncio.Event()
        looking.append(asyncio.ensure_future(look()))
        return Thinks(gate, reply, after=4)

    simulation = Simulation(steps=[slowly, "Done."], tools=[LOOK, WRITE], sink=shown.append)
    simulation.run()
    assert early == [2]
    assert simulation.ledger.bytes == simulate([reply, "Done."], streamed=False).ledger.bytes
    cut = simulate([BreaksOff(reply, after=3), "Done."], streamed=True)
    assert "tool_called" not in cut.kinds
    assert simulation.model.streamed == [True, True]


def test_without_a_display_no_stream_is_asked_for_and_the_request_is_the_same() -> None:
    """Without a display no stream is asked for and the request is the same."""
    with_one, without = (
        Simulation(steps=[wave("look"), "Done."], tools=[LOOK], sink=sink)
        for sink in (lambda _: None, None)
    )
    with_one.run()
    without.run()
    assert with_one.model.requests == without.model.requests
    assert without.model.streamed == [False, False]


def test_a_display_that_fails_is_let_go_and_counted_and_changes_no_line() -> None:
    """A display that fails is let go and counted and changes no line."""

    def broken(_: object) -> None:
        raise ValueError("no terminal")

    simulation = Simulation(steps=[wave("look"), "Done."], tools=[LOOK], sink=broken)
    frozen = simulation.run()
    assert frozen.display_failures == 1
    plain = Simulation(steps=[wave("look"), "Done."], tools=[LOOK])
    plain.run()
    assert simulation.ledger.bytes == plain.ledger.bytes


def test_a_stream_that_cannot_be_read_is_asked_for_once_in_one_piece() -> None:
    """A stream that cannot be read is asked for once in one piece."""
    unreadable = ModelFailedError(FailureCause.BAD_REPLY, again=True)
    simulation = Simulation(steps=[unreadable, "Done."], sink=lambda _: None)
    simulation.run()
    assert simulation.model.streamed == [True, False]
    assert [line.attempt for line in only(simulation, ModelCalled)] == [0, 1]
    assert "watchdog_fired" not in simulation.kinds


W, NOTHING = Writes(paths=("a",)), Writes()


def test_the_checkpoint_rule_is_its_table() -> None:
    """The checkpoint rule is its table."""
    due = {
        (state, bool(wave and not wave[0].is_nothing)): is_due(state, wave)
        for state in Workspace
        for wave in ([], [NOTHING], [W])
    }
    assert due == {
        (Workspace.NOT_YET, False): False,
        (Workspace.NOT_YET, True): True,
        (Workspace.CHECKPOINTED, False): False,
        (Workspace.CHECKPOINTED, True): False,
        (Workspace.CHANGED, False): True,
        (Workspace.CHANGED, True): True,
    }
    assert after(Workspace.NOT_YET, [], committed=False) is Workspace.NOT_YET
    assert after(Workspace.CHANGED, [NOTHING], committed=True) is Workspace.CHECKPOINTED
    assert after(Workspace.CHECKPOINTED, [W], committed=False) is Workspace.CHANGED


def test_writes_are_in_the_history_when_the_drive_is_over_and_reads_leave_none() -> None:
    """Writes are in the history when the drive is over and reads leave none."""
    wrote = Simulation(steps=[wave("write"), "Done."], tools=[WRITE])
    wrote.run()
    assert wrote.checkpoints == [Writes(paths=("a.txt",)), Writes()]
    read = Simulation(steps=[wave("look"), "Done."], tools=[LOOK])
    read.run()
    assert read.checkpoints == []


def test_without_a_checkpoint_hook_what_may_delete_is_refused() -> None:
    """Without a checkpoint hook what may delete is refused."""
    delete = ScriptedTool("delete", writes=Writes(anywhere=True), deletes=True)
    simulation = Simulation(steps=[wave("delete"), "Done."], tools=[delete], net=False)
    simulation.run()
    assert only(simulation, ToolResult)[0].status is AnswerStatus.REFUSED
    assert simulation.scripted_tools.started == []


def test_words_that_arrive_late_leave_the_sent_request_a_prefix_of_the_next() -> None:
    """Words that arrive late leave the sent request a prefix of the next."""
    for place in (P.BEFORE_CALL, P.BEFORE_WAVE, P.BEFORE_TOOL_CALL, P.BEFORE_SPAWN):
        simulation = Simulation(
            steps=[wave("look"), "Done."],
            tools=[LOOK],
            interrupts={(place, 0, 0): [Steer(text="And the windows.")]},
        )
        simulation.run()
        first, second = simulation.model.requests
        assert second.messages[: len(first.messages)] == first.messages
        assert second.messages[-1].content == "user: And the windows."
        assert all(line.moved == () for line in only(simulation, PromptShapeCompared))


def test_words_that_arrive_while_the_last_reply_is_said_are_still_answered() -> None:
    """Words that arrive while the last reply is said are still answered."""
    simulation = Simulation(
        steps=["Three.", "And four windows."],
        interrupts={(P.BEFORE_SPAWN, 0, 0): [Steer(text="And the windows?")]},
    )
    frozen = simulation.run()
    assert frozen.text == "And four windows."
    assert simulation.model.requests[1].messages[-1].content == "user: And the windows?"


def test_what_a_policy_changes_holds_from_the_wave_before_which_it_was_taken() -> None:
    """What a policy changes holds from the wave before which it was taken."""
    for place in (P.BEFORE_ASSEMBLE, P.BEFORE_WAVE, P.BEFORE_TOOL_CALL):
        simulation = Simulation(
            steps=[wave("write"), wave("write", tag="d"), "Done."],
            tools=[WRITE],
            interrupts={(place, 0, 0): [NewPolicy(policy=RunPolicy(writes=False), by="user")]},
        )
        simulation.run()
        first = "ok" if place is P.BEFORE_TOOL_CALL else "refused"
        assert [one.status for one in only(simulation, ToolResult)] == [first, "refused"]


def test_a_prefix_that_was_altered_is_refused_before_any_request() -> None:
    """A prefix that was altered is refused before any request."""
    first, *others = freeze({"house": [Document(name="rules.md", data=b"Be brief.")]}).segments
    altered = msgspec.structs.replace(first, text="Be brief!")
    simulation = Simulation(steps=["Done."], plan=plan(prefix=Prefix(segments=(altered, *others))))
    with pytest.raises(InternalError, match="'house' was altered"):
        simulation.run()
    assert simulation.kinds == [*OPENING, "driver_failed", *CLOSING]
    assert simulation.model.requests == []


def test_a_prefix_says_of_every_document_what_became_of_it() -> None:
    """A prefix says of every document what became of it."""
    prefix = freeze(
        {
            "house": [Document(name="a", data=b"A" * 30), Document(name="b", data=b"B" * 90)],
            "place": [Document(name="a", data=b"again"), Document(name="c", data=None)],
            "agent": [Document(name="d", data=b"\xff"), Document(name="e", data="é".encode() * 99)],
            "run": [Document(name="f", data=b"F" * 60), Document(name="g", data=b"late")],
        },
        bytes_max=4 * 64,
    )
    told = {segment.record.slot: segment.record for segment in prefix.segments}
    assert tuple(told) == SLOTS
    assert [(one.name, one.dropped > 0) for one in told["house"].sources] == [
        ("a", False),
        ("b", True),
    ]
    reasons = {one.name: one.reason for record in told.values() for one in record.skipped}
    assert reasons == {"a": "duplicate", "c": "unreadable", "d": "not_utf8", "g": "no_budget"}
    for segment in prefix.segments:
        kept = sum(source.kept for source in segment.record.sources)
        assert kept <= 64
    assert "[… cut]" in prefix.text


@pytest.mark.parametrize(
    ("counts", "rungs"),
    [([10, 30, 40, 70, 90], [25, 65]), ([80, 90], [65]), ([24, 64], [25]), ([None, 99], [65])],
)
def test_each_rung_of_the_window_is_told_once_and_a_jump_tells_the_upper(
    counts: list[int | None], rungs: list[int]
) -> None:
    """Each rung of the window is told once and a jump tells the upper."""
    replies = [
        Reply(
            text="",
            served="m",
            calls=wave("look", tag=f"t{turn}").calls,
            usage=None if count is None else Usage(input_fresh=count - 1, cache_read=1),
        )
        for turn, count in enumerate(counts)
    ]
    simulation = Simulation(
        steps=[*replies, "Done."],
        tools=[LOOK],
        plan=plan(window=100),
        answers=lambda call: f"seen in {call.id}",
    )
    # Other arguments each time, so that nobody takes it for a circle.
    simulation.model = ScriptedModel(
        [
            Reply(
                text="",
                served="m",
                calls=calls(("look", f'{{"n":{turn}}}'), tag=f"t{turn}").calls,
                usage=reply.usage,
            )
            for turn, reply in enumerate(replies)
        ]
        + ["Done."]
    )
    simulation.run()
    assert [line.rung for line in only(simulation, ContextReminded)] == rungs
    assert simulation.hooks.reading.window == 100


@pytest.mark.parametrize(
    "names",
    [["look"] * 6, ["look", "write"] * 6, ["broken"] * 6],
    ids=["action", "alternation", "error"],
)
def test_a_model_that_goes_round_in_circles_is_told_so_and_then_ended(names: list[str]) -> None:
    """A model that goes round in circles is told so and then ended."""
    steps = [wave(name, tag=f"t{turn}") for turn, name in enumerate(names)]
    simulation = Simulation(steps=steps, tools=[LOOK, WRITE])
    frozen = simulation.run()
    assert (frozen.completion, frozen.cause) == (Completion.LIMIT, EndCause.STUCK)
    assert [line.action for line in only(simulation, WatchdogFired)] == ["nudge", "stuck"]
    assert any("house: " in str(request) for request in simulation.model.requests)


def test_other_arguments_are_no_circle() -> None:
    """Other arguments are no circle."""
    steps = [calls(("look", f'{{"n":{turn}}}'), tag=f"t{turn}") for turn in range(9)]
    assert Simulation(steps=[*steps, "Done."], tools=[LOOK]).run().cause is EndCause.CONCLUDED


def test_work_is_handed_down_after_the_last_safe_point_and_its_report_comes_back() -> None:
    """Work is handed down after the last safe point and its report comes back."""
    started: list[Child] = []

    def spawn(child: Child) -> ChildEnd:
        started.append(child)
        return ChildEnd(completion=Completion.DONE, cause=EndCause.CONCLUDED, text="Counted: 2.")

    steps: list[Step] = [calls("look", ("hand", "count the cellar")), "Done."]
    simulation = Simulation(steps=steps, tools=[LOOK, HAND], spawn=spawn)
    simulation.run()
    assert [(child.parent, child.task) for child in started] == [("r1", "count the cellar")]
    letter = simulation.model.requests[1].messages[-1].content
    assert f'<letter from="{started[0].run}">' in letter
    assert "Counted: 2." in letter
    pinned("handed-down", simulation)
    stopped = Simulation(
        steps=steps,
        tools=[LOOK, HAND],
        spawn=spawn,
        interrupts={(P.BEFORE_SPAWN, 0, 0): [CANCEL]},
    )
    stopped.run()
    assert len(started) == 1
    [ended] = only(stopped, ChildEnded)
    assert ended.cause is EndCause.CANCEL
    alone = Simulation(steps=steps, tools=[LOOK, HAND])
    alone.run()
    assert only(alone, ToolResult)[1].status is AnswerStatus.REFUSED


def test_a_refusal_is_not_done() -> None:
    """Words that say no are no end of the work; without any it said nothing."""
    for text, cause in (("I cannot help.", EndCause.REFUSED), (" ", EndCause.EMPTY_REPLY)):
        refusal = Reply(text=text, served="scripted", finish=FinishReason.REFUSAL)
        end = Simulation(steps=[refusal]).run()
        assert (end.cause, end.completion, end.evidence) == (cause, Completion.LIMIT, ())


def test_a_handoff_says_what_became_of_work_that_was_handed_down() -> None:
    """Wherever a drive is cut, each child is named with its state, and has one end."""

    def spawn(child: Child) -> ChildEnd:
        cellar = "cellar" in child.task
        cause = EndCause.CONCLUDED if cellar else EndCause.HALT
        return ChildEnd(completion=COMPLETION_OF[cause], cause=cause, text="Two.")

    steps: list[Step] = [calls(("hand", "count the cellar"), ("hand", "count the loft")), "Done."]
    whole = Simulation(steps=steps, tools=[HAND], spawn=spawn)
    whole.run()
    lines = whole.ledger.lines
    first, second = "r1.0.0", "r1.0.1"
    child_over = RunFrozen(
        run=first, t=1, completion=Completion.DONE, cause=EndCause.CONCLUDED, turns=1
    )

    def closed(cut: type[DriveLine], count: int, *more: DriveLine) -> tuple[list[DriveLine], str]:
        """Close what a process left that died after so many lines of a kind."""
        there, seen = [], 0
        for line in lines:
            there.append(line)
            seen += isinstance(line, cut)
            if seen == count:
                break
        closing = closing_lines([*there, *more], CountingClock())
        own = [line for line in (*there, *closing) if line.run == "r1"]
        ends = [line.child for line in own if isinstance(line, ChildEnded)]
        assert sorted(ends) == [first, second][: len(ends)]
        (handoff,) = [line for line in own if isinstance(line, HandoffWritten)]
        return own, f"{handoff.progress} {handoff.next_step}"

    own, told = closed(ChildStarted, 1)
    assert [line.cause for line in own if isinstance(line, ChildEnded)] == [EndCause.CRASH] * 2
    assert f"Handed down to {first}: count the cellar. It ended: cancelled (crash)." in told
    assert f"Handed down to {second}: count the loft. It was never begun." in told
    assert f"Look first how far {first} came, whose work broke off: count the cellar." in told
    assert f"What was handed down to {second} was never begun: count the loft." in told
    assert "hand: ok" not in told
    # Who got it had ended by itself, and the one that handed it down did not get to say so.
    own, told = closed(ChildStarted, 1, child_over)
    ends = [line.completion for line in own if isinstance(line, ChildEnded)]
    assert ends == [Completion.DONE, Completion.CANCELLED]
    assert "Look first" not in told
    # Cut before either began.
    _, told = closed(ToolResult, 2)
    assert told.count("was never begun") == 4
    # The reply after it was told of the one that broke off.
    _, told = closed(ModelReturned, 2)
    assert f"Handed down to {second}: count the loft. It ended: cancelled (halt)." in told
    assert "Look first" not in told


def test_a_secret_reaches_no_line_and_the_model_still_sees_it() -> None:
    """A secret reaches no line and the model still sees it."""
    secret = "sk-live-0123456789"
    simulation = Simulation(
        steps=[
            calls(("look", f'{{"key":"{secret}"}}'), text=f"using {secret}"),
            f"It is {secret}.",
        ],
        tools=[LOOK],
        answers={"look": f"the key {secret} works"},
        plan=plan(task=f"Use {secret}."),
        secrets=lambda text: text.replace(secret, "[secret]"),
        interrupts={(P.BEFORE_CALL, 0, 0): [Steer(text=f"or {secret}2")]},
    )
    frozen = simulation.run()
    assert secret.encode() not in simulation.ledger.bytes
    assert secret.encode() not in b"".join(simulation.ledger.blobs.values())
    assert str(simulation.model.requests[-1]).count(secret) >= 5
    assert secret in str(frozen.messages)


def test_a_reader_of_the_ledger_rebuilds_every_request() -> None:
    """A reader of the ledger rebuilds every request."""
    simulation = Simulation(
        steps=[
            wave("look"),
            ModelFailedError(FailureCause.TIMEOUT, again=True),
            wave("write", "gone", tag="d"),
            "Done.",
        ],
        tools=[LOOK, WRITE],
        interrupts={
            (P.BEFORE_ASSEMBLE, 0, 0): [Steer(text="Be quick.")],
            (P.BEFORE_CALL, 1, 0): [Steer(text="hello", source="clerk-2")],
            (P.BEFORE_SPAWN, 1, 0): [Steer(text="more")],
        },
    )
    frozen = simulation.run()
    conversation = Conversation()
    requests: list[tuple[Message, ...]] = []
    for line in simulation.ledger.lines:
        conversation.take(line)
        if isinstance(line, ModelCalled):
            requests.append(conversation.messages)
    sent = [request.messages[1:] for request in simulation.model.requests]
    assert requests == sent
    assert rebuilt(simulation.ledger.lines).messages == frozen.messages


def test_editing_a_source_under_way_changes_nothing(tmp_path: Path) -> None:
    """Editing a source under way changes nothing."""
    rules, task = tmp_path / "rules.md", tmp_path / "task.md"
    rules.write_text("Be brief.", encoding="utf-8")
    task.write_text("Count the doors.", encoding="utf-8")

    def edited(_: object) -> Reply:
        rules.write_text("Be long.", encoding="utf-8")
        task.write_text("Paint the doors.", encoding="utf-8")
        return wave("look")

    asked = plan(
        prefix=freeze({"house": [Document(name="rules.md", data=rules.read_bytes())]}),
        task=task.read_text(encoding="utf-8"),
    )
    simulation = Simulation(steps=[edited, "Done."], tools=[LOOK], plan=asked)
    simulation.run()
    plain = Simulation(steps=[wave("look"), "Done."], tools=[LOOK], plan=plan())
    plain.run()
    assert simulation.ledger.bytes == plain.ledger.bytes


def test_a_task_that_is_cancelled_from_outside_is_closed_too() -> None:
    """A task that is cancelled from outside is closed too."""

    async def go() -> Simulation:
        entered = asyncio.Event()
        simulation = Simulation(steps=[Thinks(asyncio.Event(), "never", entered=entered)])
        task = asyncio.ensure_future(simulation.go())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return simulation

    assert asyncio.run(go()).kinds[-3:] == ["driver_failed", *CLOSING]


def test_the_same_script_twice_gives_the_same_bytes() -> None:
    """The same script twice gives the same bytes."""

    def bytes_of() -> bytes:
        simulation = Simulation(steps=[wave("look", "write"), "Done."], tools=[LOOK, WRITE])
        simulation.run()
        return simulation.ledger.bytes

    assert bytes_of() == bytes_of()


def test_only_the_run_writes_the_reading_of_the_window() -> None:
    """Only the run writes the reading of the window."""
    seen: list[int | None] = []

    def look(_: object) -> str:
        seen.append(simulation.hooks.reading.used)
        return "a door"

    simulation = Simulation(
        steps=[
            Reply(
                text="", served="m", calls=wave("look").calls, usage=Usage(input_fresh=7, output=2)
            ),
            "Done.",
        ],
        tools=[LOOK],
        answers=look,
    )
    simulation.run()
    # A tool of the same wave sees the count of the very call that asked for it.
    assert seen == [7]


def test_calls_with_one_id_are_told_apart() -> None:
    """Calls with one id are told apart."""
    twice = Reply(text="", served="m", calls=(*wave("look").calls, *wave("look").calls))
    simulation = Simulation(steps=[twice, "Done."], tools=[LOOK])
    simulation.run()
    ids = [line.call.id for line in only(simulation, ToolCalled)]
    assert ids == ["c0", "c0-1"]
    assert [line.call_id for line in only(simulation, ToolResult)] == ids


def test_places_are_asked_in_their_order() -> None:
    """Places are asked in their order."""
    simulation = Simulation(steps=[wave("look", "write"), "Done."], tools=[LOOK, WRITE])
    simulation.run()
    assert [(one.point, one.turn, one.call) for one in simulation.heard.asked] == [
        (P.BEFORE_ASSEMBLE, 0, 0),
        (P.BEFORE_CALL, 0, 0),
        (P.BEFORE_WAVE, 0, 0),
        (P.BEFORE_TOOL_CALL, 0, 0),
        (P.BEFORE_TOOL_CALL, 0, 1),
        (P.BEFORE_SPAWN, 0, 0),
        (P.BEFORE_ASSEMBLE, 1, 0),
        (P.BEFORE_CALL, 1, 0),
        (P.BEFORE_WAVE, 1, 0),
        (P.BEFORE_SPAWN, 1, 0),
    ]
    assert isinstance(simulation.heard, ScriptedInterrupts)
    assert not only(simulation, SteerReceived)
