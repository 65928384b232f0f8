"""Personas with tools live in a world like any other: recorded, replayed, resumed, limited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.town import Ran, run_in_memory, town

from perdure.records.drive import (
    DRIVE_KIND_OF,
    EndCause,
    ModelReturned,
    RunFrozen,
    ToolResult,
)
from perdure.records.events import KIND_OF, Cost, Turn, TurnNotTaken
from perdure.records.outcome import TurnFailureCause
from perdure.records.request import ChatRequest, Failure, FailureCause, FinishReason, Reply
from perdure.records.scenario import AgentSettings
from perdure.records.tools import ToolCall
from perdure.records.usage import Price, Usage
from perdure.runner.config import RunConfig
from perdure.testing import ScriptedProvider

OFFICE = Path(__file__).parents[2] / "examples" / "office"
PRICE = Price(input_fresh=1_000_000_000, output=1_000_000_000)


def office(personas: int = 5, horizon: int = 3, **agent: Any) -> RunConfig:
    """Make a study of an office."""
    settings: dict[str, Any] = {"turn_calls_max": 5, **agent}
    return town(
        personas,
        scenarios=(
            {
                "world": "office:Office",
                "horizon": horizon,
                "waves": (),
                "exposures": {},
                "settings": {"documents": {"plan.md": "Day one: nothing yet."}},
            },
        ),
        seeds=(1,),
        agent=AgentSettings(agent="perdure.agent:ToolAgent", reflect_every=0, **settings),
        study_path=str(OFFICE / "study.yaml"),
    )


def asks(tool: str, ordinal: int, **arguments: str) -> Reply:
    """Make a reply that asks for one tool."""
    call = ToolCall(id=f"call-{ordinal}", name=tool, arguments=json.dumps(arguments))
    return Reply(
        text="",
        served="scripted",
        finish=FinishReason.TOOL_CALLS,
        usage=Usage(input_fresh=100, output=10),
        calls=(call,),
    )


def clerk(request: ChatRequest) -> Reply | str:
    """Look into the plan, add a line to it, tell the next colleague, and answer."""
    if not request.tools:
        return "I agree."
    done = sum(message.role == "tool" for message in request.messages)
    last = request.messages[-1].content
    match done:
        case 0:
            return asks("read_document", done, name="plan.md")
        case 1:
            return asks("write_document", done, name="plan.md", text=f"{last} More.")
        case 2:
            return asks("send_note", done, to="p1", text="I wrote to the plan.")
        case _:
            return "The plan is a line longer. I agree."


def provider() -> ScriptedProvider:
    """Make a model that works as the clerk does."""
    return ScriptedProvider(clerk)


def events(ran: Ran, kind: type[Any]) -> list[Any]:
    """Pick the payloads of one kind."""
    return [event.payload for event in ran.events() if isinstance(event.payload, kind)]


def test_what_personas_do_with_tools_takes_effect_the_next_day() -> None:
    """Everybody reads the plan of the morning; the last one to write it wins the day."""
    ran = run_in_memory(office(), provider())
    assert ran.result.exit_status == 0
    results = [one.text for one in events(ran, ToolResult) if one.name == "read_document"]
    assert results[:5] == ["Day one: nothing yet."] * 5
    assert results[5:10] == ["Day one: nothing yet. More."] * 5
    assert results[10:] == ["Day one: nothing yet. More. More."] * 5
    turns = events(ran, Turn)
    assert [[call.name for call in turn.did] for turn in turns] == [
        ["write_document", "send_note"]
    ] * 15
    assert all(turn.answer.endswith("I agree.") for turn in turns)


def test_a_drive_in_a_tick_leaves_its_lines_before_its_turn_and_no_clock() -> None:
    """The lines of a drive stand together, with a counter for moments, and name their job."""
    ran = run_in_memory(office(personas=2, horizon=1), provider())
    kinds = [KIND_OF[type(event.payload)] for event in ran.events()]
    first = kinds.index("job_pinned")
    own = kinds[first : kinds.index("turn")]
    assert own[:2] == ["job_pinned", "run_started"]
    assert own[-2:] == ["handoff_written", "run_frozen"]
    assert set(own) <= set(DRIVE_KIND_OF.values())
    lines = [event.payload for event in ran.events()[first : first + len(own)]]
    assert [line.t for line in lines] == sorted(line.t for line in lines)  # type: ignore[union-attr]
    assert lines[0].t == 0  # type: ignore[union-attr]
    assert {line.run for line in lines} == {"t0-j0"}  # type: ignore[union-attr]
    returned = events(ran, ModelReturned)
    assert all(line.usage is None and line.billed is None for line in returned)
    assert len(events(ran, Cost)) == len(returned) == 8


def test_a_turn_ends_at_its_limit_of_calls_and_what_it_did_by_then_is_done() -> None:
    """A turn that may make two calls has written nothing yet; one of three has."""
    for calls, did in ((2, ["write_document"]), (3, ["write_document", "send_note"])):
        ran = run_in_memory(office(personas=2, horizon=1, turn_calls_max=calls), provider())
        turn, _ = events(ran, Turn)
        assert [call.name for call in turn.did] == did
        assert turn.answer == ""
        assert events(ran, RunFrozen)[0].cause is EndCause.TURNS


def test_a_turn_ends_at_its_limit_of_cost() -> None:
    """After the call that reaches what a turn may cost there is no other one."""
    # A call of 110 tokens costs 110,000 nano-units here.
    config = office(personas=1, horizon=1, turn_money_max=200_000)
    ran = run_in_memory(config, provider(), price=PRICE)
    assert events(ran, RunFrozen)[0].cause is EndCause.MONEY
    assert len(events(ran, Cost)) == 2


def test_a_turn_that_is_cut_by_a_failed_call_is_no_turn_and_what_it_did_is_not_done() -> None:
    """Its lines are kept with its failure; where too many are cut, the tick does not close."""

    def broken(request: ChatRequest) -> Reply | str | Failure:
        done = sum(message.role == "tool" for message in request.messages)
        is_first = ": 20" in request.messages[1].content
        cut = done == 2 and is_first
        return Failure(cause=FailureCause.BAD_REPLY) if cut else clerk(request)

    ran = run_in_memory(office(personas=12, horizon=2), ScriptedProvider(broken))
    assert ran.result.exit_status == 0
    failed = events(ran, TurnNotTaken)
    assert len(failed) == 2
    assert all(one.cause is TurnFailureCause.CALL_FAILED for one in failed)
    cut = [one.run for one in events(ran, RunFrozen) if one.cause is EndCause.PROVIDER]
    assert cut == ["t0-j0", "t1-j0"]
    notes = [turn for turn in events(ran, Turn) if turn.did]
    assert len(notes) == 22
    # Two of three is more than may be missing.
    few = run_in_memory(office(personas=1, horizon=2), ScriptedProvider(broken))
    assert few.result.worlds[0].exit_status == 69
    assert few.result.worlds[0].tick == -1


def test_wrong_calls_are_answered_and_do_nothing() -> None:
    """A tool that is not there, arguments that cannot be read, and a world that says no."""
    script: list[Reply | str] = [
        asks("read_documents", 0, name="plan.md"),
        Reply(
            text="",
            served="s",
            calls=(ToolCall(id="x", name="send_note", arguments="{oops"),),
        ),
        asks("send_note", 2, to="nobody", text="hello"),
        "I agree.",
    ]
    ran = run_in_memory(office(personas=1, horizon=1), ScriptedProvider(script))
    results = events(ran, ToolResult)
    assert [one.status for one in results] == ["error"] * 3
    assert "read_document" in results[0].text
    assert events(ran, Turn)[0].did == ()


def test_the_same_office_twice_has_the_same_digest() -> None:
    """Nothing but the study and the replies decides what is recorded."""
    one, other = (run_in_memory(office(), provider()) for _ in range(2))
    assert one.digests == other.digests


def test_an_office_goes_on_from_its_record() -> None:
    """A run that stops in the middle ends as one that does not."""
    whole = run_in_memory(office(horizon=4), provider())
    calls = 0

    def dying(request: ChatRequest) -> Reply | str | FailureCause:
        nonlocal calls
        calls += 1
        return FailureCause.CONNECT if calls > 30 else clerk(request)

    part = run_in_memory(office(horizon=4), ScriptedProvider(dying))
    assert part.result.exit_status == 69
    again = run_in_memory(office(horizon=4), provider(), after=part)
    assert again.digests == whole.digests
