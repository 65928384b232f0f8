"""A study of an office whose people have tools outside it, and a model that uses them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.support.town import town

from perdure.base.canonical import hash_hex
from perdure.records.request import ChatRequest, FinishReason, Reply
from perdure.records.scenario import AgentSettings
from perdure.records.tools import ToolCall
from perdure.records.usage import Usage
from perdure.runner.config import RunConfig

_HERE = Path(__file__).parent
_OFFICE = _HERE.parents[1] / "examples" / "office" / "office.py"


def furnish(folder: Path) -> Path:
    """Make the study's folder, with the world's code and the tools' beside it."""
    folder.mkdir(exist_ok=True)
    for file in (_OFFICE, _HERE / "desk.py"):
        shutil.copy(file, folder)
    return folder / "study.yaml"


def office(
    study: Path,
    *tools: str,
    personas: int = 5,
    horizon: int = 3,
    seeds: tuple[int, ...] = (1,),
    out: str = "",
    **agent: Any,
) -> RunConfig:
    """Make the study; `tools` are functions of the desk."""
    settings: dict[str, Any] = {"turn_calls_max": 8, **agent}
    return town(
        personas,
        scenarios=(
            {
                "world": "office:Office",
                "horizon": horizon,
                "waves": tuple(range(horizon)),
                "exposures": {},
                "settings": {"documents": {"plan.md": "Day one: nothing yet."}},
            },
        ),
        seeds=seeds,
        agent=AgentSettings(
            agent="perdure.agent:ToolAgent",
            reflect_every=0,
            outside_tools=tuple(f"desk:{name}" for name in tools),
            **settings,
        ),
        study_path=str(study),
        out=out,
    )


def asks(tool: str, ordinal: int, **arguments: str) -> ToolCall:
    """Make a call of a tool."""
    return ToolCall(id=f"call-{ordinal}", name=tool, arguments=json.dumps(arguments))


def step(messages: list[tuple[str, str]], names: set[str], salt: str) -> ToolCall | str:
    """Work as a clerk does, given the messages by role and text, and the tools that there are.

    The plan is read and added to, a word looked up, a line of its own written into the book. What
    is written tells of what was read.
    """
    done = sum(role == "tool" for role, _ in messages)
    mark = hash_hex([messages[1][1], salt])[:12]
    works = [
        asks("read_document", done, name="plan.md"),
        asks("write_document", done, name="plan.md", text=f"{messages[-1][1][-80:]} {mark}"),
        *([asks("look_up", done, word=mark)] if "look_up" in names else []),
        *([asks("append_line", done, text=mark)] if "append_line" in names else []),
        asks("send_note", done, to="p1", text=f"I wrote to the plan: {mark}"),
    ]
    return works[done] if done < len(works) else "The plan is a line longer. I agree."


def clerk(request: ChatRequest) -> Reply | str:
    """Do one step as a scripted model."""
    if not request.tools:
        return "I agree."
    messages = [(message.role, message.content) for message in request.messages]
    found = step(messages, {one.name for one in request.tools}, f"{_day(messages)} {request.seed}")
    if isinstance(found, str):
        return found
    return Reply(
        text="",
        served="scripted",
        finish=FinishReason.TOOL_CALLS,
        usage=Usage(input_fresh=100, output=10),
        calls=(found,),
    )


def respond(body: dict[str, Any]) -> str | tuple[ToolCall, ...]:
    """Do one step as an endpoint's model, given the parsed request."""
    if not body.get("tools"):
        return "I agree."
    messages = [(one["role"], str(one.get("content") or "")) for one in body["messages"]]
    names = {one["function"]["name"] for one in body["tools"]}
    found = step(messages, names, f"{_day(messages)} {body.get('seed')}")
    return found if isinstance(found, str) else (found,)


def _day(messages: list[tuple[str, str]]) -> str:
    """Tell days apart: by the plan as it was read, once it was."""
    return next((text for role, text in messages if role == "tool"), "")
