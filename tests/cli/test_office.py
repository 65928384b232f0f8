"""The office example with a model that calls tools: what one does today, others see tomorrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perdure.records.drive import ToolResult
from perdure.records.events import ScoreGiven, Turn
from perdure.records.tools import ToolCall
from perdure.testing import MisbehavingServer
from perdure.trace.reader import RunReader

EXAMPLE = Path(__file__).parents[2] / "examples" / "office"


def worker(body: dict[str, Any]) -> str | tuple[ToolCall, ...]:
    """Read the notes and the list of documents, write to Ben, and answer by what is there."""
    said = [one["content"] for one in body["messages"] if one["role"] == "tool"]
    steps: tuple[tuple[str, dict[str, str]], ...] = (
        ("read_notes", {}),
        ("list_documents", {}),
        ("send_note", {"to": "ben", "text": "Mind the safe."}),
    )
    if len(said) < len(steps):
        name, arguments = steps[len(said)]
        return (ToolCall(id=f"c{len(said)}", name=name, arguments=json.dumps(arguments)),)
    return "We can go ahead." if "lift.md" in said[1] else "We should wait."


def test_what_is_done_today_is_seen_tomorrow(perdure, tmp_path: Path):
    """Notes arrive the next morning, in the order of the people; each scenario has its answer."""
    out = tmp_path / "run"
    with MisbehavingServer(responder=worker) as server:
        model = ("--base-url", server.base_url, "--model-name", "test-model", "--price", "0.1,0.2")
        ran = perdure("run", EXAMPLE / "study.yaml", "--out", out, "--quiet", *model)
        assert ran.status == 0, ran.err
        assert server.calls == 2 * 5 * 3 * 4
    assert perdure("verify", out).status == 0
    assert perdure("replay", out).status == 0
    report = perdure("report", out, "--json").document
    for use in report["tools"]:
        asked = {one["tool"]: one["count"]["asked"] for one in use["tools"]}
        assert asked == {
            "list_documents": 15,
            "read_document": 0,
            "read_notes": 15,
            "write_document": 0,
            "send_note": 15,
        }
        assert {(one["count"]["turns"], one["count"]["personas"]) for one in use["tools"]} == {
            (15, 5)
        }
        assert use["endings"]["causes"] == {"concluded": 15}
        assert use["effects"] is None
    assert [use["scenario"] for use in report["tools"]] == ["lift-works", "lift-unknown"]
    with RunReader.open(out) as reader:
        for world in reader.worlds:
            events = list(reader.events(world.world_id))
            notes = {
                (event.tick, event.persona): event.payload.text
                for event in events
                if isinstance(event.payload, ToolResult) and event.payload.name == "read_notes"
            }
            assert set(notes.values()) == {
                "There are no notes.",
                notes[1, "ben"],
                notes[2, "ben"],
            }
            day = [f"{name}: Mind the safe." for name in ("ana", "ben", "chi", "dov", "eve")]
            assert notes[1, "ben"].splitlines() == day
            assert notes[2, "ben"].splitlines() == 2 * day
            turns = [event.payload for event in events if isinstance(event.payload, Turn)]
            assert [[call.name for call in turn.did] for turn in turns] == [["send_note"]] * 15
            scores = {e.payload.choice for e in events if isinstance(e.payload, ScoreGiven)}
            assert scores == {"go" if world.scenario == "lift-works" else "wait"}
