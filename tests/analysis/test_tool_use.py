"""Tool use by hand: every count, what it is of, and the events that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from perdure.analysis.addressed import figures
from perdure.analysis.evidence import Evidence
from perdure.analysis.html_page import page
from perdure.analysis.markdown import markdown
from perdure.analysis.report import build_report
from perdure.analysis.tool_use import Outcomes, ToolCount, ToolPass
from perdure.base.canonical import encode
from perdure.cli.report_json import with_addresses
from perdure.cli.report_view import report_parts
from perdure.records.drive import (
    COMPLETION_OF,
    Dispatcher,
    EndCause,
    Opening,
    RunFrozen,
    RunStarted,
    ToolCalled,
    ToolResult,
    drive_id,
)
from perdure.records.events import Event, Turn
from perdure.records.presentation import Impression, Presentation
from perdure.records.scenario import AgentSettings
from perdure.records.study import Study
from perdure.records.tools import AnswerStatus, Effect, ToolCall

OK, ERROR, REFUSED, UNKNOWN = AnswerStatus
READ, WRITE, EGRESS, _ = Effect
TOOLS = ("read", "act", "send", "look")  # the last two are outside
Call = tuple[str, Effect | None, AnswerStatus]


def office(record_of: Any, **fields: Any) -> Any:
    """Make a record of a study that gives its personas two tools outside the world."""
    record = record_of(**fields)
    study = msgspec.json.decode(record.entry.study, type=Study)
    agent = AgentSettings(agent="perdure.agent:ToolAgent", outside_tools=("m:send", "m:look"))
    told = encode(msgspec.structs.replace(study, agent=agent)).decode()
    record.entry = msgspec.structs.replace(record.entry, study=told)
    return record


def turn(
    record: Any,
    world: str,
    tick: int,
    job: int,
    *calls: Call,
    tools: Sequence[str] = TOOLS,
    cause: EndCause = EndCause.CONCLUDED,
) -> None:
    """Record a turn of the persona of this job, with its calls, up to its own event."""
    persona, run = f"p{job + 1}", drive_id(tick, job)
    started = RunStarted(
        run=run,
        t=0,
        task="…",
        goal="",
        job="vote",
        model="m-1",
        dispatched_by=Dispatcher.STUDY,
        opening=Opening.WITH_PERSON,
        tools=tuple(tools),
    )
    lines: list[Any] = [started]
    for place, (name, effect, status) in enumerate(calls):
        call = ToolCall(id=f"c{place}", name=name, arguments="{}")
        lines.append(ToolCalled(run=run, t=1, turn=place, call=call, effect=effect))
        lines.append(
            ToolResult(
                run=run, t=2, turn=place, call_id=call.id, name=name, status=status, text="…"
            )
        )
    completion = COMPLETION_OF[cause]
    lines.append(RunFrozen(run=run, t=3, completion=completion, cause=cause, turns=len(calls)))
    shown = Presentation(persona=persona, impression=Impression(channel="survey"), question="felt")
    lines.append(Turn(job=job, presentation=shown, prompt=(), answer="Hm."))
    for line in lines:
        record.put(world, tick, line, persona)


def planted(record_of: Any) -> Any:
    """Two worlds: one at its end with five turns with tools, one with a single tick."""
    record = office(record_of)
    read, wrong = ("read", READ, OK), ("read", READ, ERROR)
    turn(record, "plain-1", 0, 0, read, wrong, ("send", EGRESS, OK))
    turn(record, "plain-1", 0, 1, ("send", EGRESS, UNKNOWN), read, cause=EndCause.TURNS)
    turn(record, "plain-1", 0, 2, tools=TOOLS[:1] + TOOLS[2:])
    record.close("plain-1", 0, 3)
    made_up = ("nothing-1", None, ERROR), ("act", None, ERROR)
    turn(record, "plain-1", 1, 0, *made_up, tools=("read", "send", "look"))
    turn(record, "plain-1", 1, 1, ("look", READ, OK), ("send", EGRESS, REFUSED), read)
    record.close("plain-1", 1, 2)
    record.close("plain-1", 2, 0)
    turn(record, "plain-2", 0, 0, read, ("send", EGRESS, ERROR), cause=EndCause.STUCK)
    record.close("plain-2", 0, 1)
    return record


COUNTS = {
    "read": ToolCount(
        asked=5,
        outcomes=Outcomes(ok=4, error=1, refused=0, unknown=0),
        used=4,
        turns=6,
        people=2,
        personas=3,
    ),
    # Nobody who had it asked for it, and one who had not did.
    "act": ToolCount(
        asked=0,
        outcomes=Outcomes(ok=0, error=0, refused=0, unknown=0),
        used=0,
        turns=4,
        people=0,
        personas=2,
    ),
    "send": ToolCount(
        asked=4,
        outcomes=Outcomes(ok=1, error=1, refused=1, unknown=1),
        used=4,
        turns=6,
        people=2,
        personas=3,
    ),
    "look": ToolCount(
        asked=1,
        outcomes=Outcomes(ok=1, error=0, refused=0, unknown=0),
        used=1,
        turns=6,
        people=1,
        personas=3,
    ),
}


def test_calls_turns_and_people_are_counted_by_tool(record_of):
    """What was asked for, what it came to, and of how many turns and people, each tool apart."""
    (use,) = build_report(planted(record_of)).tools
    assert {one.tool: one.count for one in use.tools} == COUNTS
    assert [one.tool for one in use.tools if one.outside] == ["send", "look"]
    assert (use.asked, use.nameless) == (12, 2)
    # What only reads has no effect, though it is outside.
    assert use.effects == Outcomes(ok=1, error=1, refused=1, unknown=1)
    assert use.endings.turns == 6
    assert use.endings.causes == {"concluded": 4, "turns": 1, "stuck": 1}


def test_seeds_are_compared_over_worlds_at_their_end(record_of):
    """A world on its way is counted by itself and in the sums; over seeds it is missing."""
    record = planted(record_of)
    (use,) = build_report(record).tools
    read = use.tools[0]
    assert [(one.world_id, one.count.asked, one.count.turns) for one in read.by_seed] == [
        ("plain-1", 4, 5),
        ("plain-2", 1, 1),
    ]
    assert read.between.spreads["used"].mean == pytest.approx(3 / 5)
    assert read.between.spreads["calls"].mean == pytest.approx(4 / 5)
    (missing,) = read.between.missing
    assert (missing.seed, missing.why) == (2, "partial with 1 of 3 ticks closed")
    record.close("plain-2", 1, 0)
    record.close("plain-2", 2, 0)
    (use,) = build_report(record).tools
    spreads = use.tools[0].between.spreads
    assert (spreads["used"].least, spreads["used"].most) == (3 / 5, 1.0)
    assert spreads["calls"].mean == pytest.approx((4 / 5 + 1) / 2)


def test_a_study_without_tools_has_no_such_section(record_of):
    """Not measured is not zero: no row, no word of it, and an address says that there is none."""
    record = record_of()
    record.wave("plain-1", 0, {"p1": "a"})
    report = build_report(record)
    assert report.tools == ()
    assert "Tools" not in markdown(list(report_parts(report)))
    kinds = {one.address.partition("/")[0] for one in figures(report)}
    assert not kinds & {"tools", "effects", "endings"}


def test_turns_without_a_tool_are_told_apart_where_others_have_some(record_of):
    """Beside a scenario with tools, one without any has its turns, and no tool and no effect."""
    record = office(record_of, scenarios=("plain", "bare"), seeds=(1,))
    turn(record, "plain-1", 0, 0, ("read", READ, OK))
    turn(record, "bare-1", 0, 0, ("read", None, ERROR), tools=())
    plain, bare = build_report(record).tools
    assert len(plain.tools) == 4
    assert (bare.tools, bare.effects, bare.asked, bare.nameless) == ((), None, 1, 1)
    assert bare.endings.causes == {"concluded": 1}


def test_every_figure_names_the_lines_that_it_counts(record_of):
    """By the ids of a hand-made record: of a tool, an outcome, an effect, an end."""
    record = planted(record_of)
    evidence = Evidence(record)
    found = {
        one.address: {
            part.name: [f"{world}:{event.seq}" for world, event in evidence.events(part)]
            for part in one.parts
        }
        for one in figures(build_report(record))
    }
    results = [
        f"{world.world_id}:{event.seq}"
        for world in record.worlds
        for event in record.events(world.world_id, ("tool_result",))
    ]
    # The calls in their order: 5 of the first tick, 2 of no tool, 3 more, and 2 of the other world.
    assert found["tools/plain/read/error"]["counted"] == [results[1]]
    assert found["tools/plain/send/unknown"] == {
        "counted": [results[3]],
        "of": [results[2], results[3], results[8], results[11]],
    }
    assert found["effects/plain/unknown"] == found["tools/plain/send/unknown"]
    assert found["tools/plain/act"] == {
        "asked": [],
        "answered": [],
        "used": [],
        "turns": [f"plain-1:{seq}" for seq in _starts(record, "act", "plain-1")]
        + [f"plain-2:{seq}" for seq in _starts(record, "act", "plain-2")],
    }
    assert len(found["tools/plain"]["nameless"]) == 2
    assert len(found["endings/plain/turns"]["counted"]) == 1
    assert len(found["endings/plain/turns"]["of"]) == 6
    assert len(found["tools/plain/read/used"]["counted"]) == 3


def _starts(record: Any, tool: str, world: str) -> list[int]:
    events: list[Event] = list(record.events(world, ("run_started",)))
    return [
        one.seq
        for one in events
        if isinstance(one.payload, RunStarted) and tool in one.payload.tools
    ]


def test_the_report_says_it_in_every_form(record_of):
    """A tool never called shows 0 of its denominator; an unknown outcome is named."""
    report = build_report(planted(record_of))
    written = markdown(list(report_parts(report)))
    assert "| read | 5 | 4 | 1 | 0 | 0 | 4 of 6 | 2 of 3 |" in written
    assert "| act | 0 | 0 | 0 | 0 | 0 | 0 of 4 | 0 of 2 |" in written
    assert r"| send (outside) | 4 | 1 | 1 | 1 | 1 | 4 of 6 | 2 of 3 |" in written
    assert "| plain | 1 | 1 | 1 | 1 |" in written
    assert "Outcome unknown: 1 call. Nobody knows whether it was done" in written
    assert "4 of 6" in written
    tree = with_addresses(report)["tools"][0]
    assert tree["address"] == "tools/plain"
    assert tree["tools"][1]["address"] == "tools/plain/act"
    assert tree["effects"]["address"] == "effects/plain"
    assert tree["endings"]["address"] == "endings/plain"


def test_what_a_model_made_up_is_counted_and_not_repeated(record_of):
    """Names of a model's own are in no report, and take no memory; those of a world are escaped."""
    hostile = "<img src=x onerror=alert(1)>\x1b[2J"
    record = office(record_of, seeds=(1,))
    turn(record, "plain-1", 0, 0, ("conjured", None, ERROR), tools=(hostile, "send", "look"))
    record.close("plain-1", 0, 1)
    report = build_report(record)
    blocks = list(report_parts(report))
    for written, tag in ((page(blocks), "&lt;img"), (markdown(blocks), r"\<img")):
        assert tag in written
        assert "<img" not in written.replace(tag, "")
        assert "\x1b" not in written
        assert "conjured" not in written
    assert "conjured" not in repr(with_addresses(report))
    assert report.tools[0].nameless == 1


def test_memory_does_not_grow_with_the_calls(record_of):
    """What is kept of a world is by tool and outcome, however many calls there are."""
    sizes = []
    for number in (10, 1000):
        record = office(record_of, seeds=(1,))
        calls: Sequence[Call] = [(f"made-up-{n}", None, ERROR) for n in range(number)]
        turn(record, "plain-1", 0, 0, *calls, *[("send", WRITE, OK)] * number)
        follows = ToolPass({"p1": 0}, outside=2)
        for event in record.events("plain-1"):
            follows.see(event)
        seen = follows.seen
        sizes.append([len(one) for one in (seen.tools, seen.counts, seen.people, seen.marks)])
    assert sizes[0] == sizes[1]


def test_a_report_that_is_made_again_is_the_same(record_of):
    """Byte for byte, in every form; the order of tools is that in which turns had them."""
    first, second = (build_report(planted(record_of)) for _ in range(2))
    assert encode(with_addresses(first)) == encode(with_addresses(second))
    for write in (page, markdown):
        assert write(list(report_parts(first))) == write(list(report_parts(second)))
    assert [one.tool for one in first.tools[0].tools] == list(TOOLS)
